// Renews holds, with one write for all that are in one session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/zookeeper/store.h"

namespace lockset::zookeeper {

// Thread-safe.
class Renewals {
 public:
  explicit Renewals(OpenSpace& space) : space_(space) {}

  // The rest of each lease, counted from the sending, by token; holds that have ended are left out.
  using Leases = std::vector<std::pair<std::string, Duration>>;
  // `tokens`, sorted, belong to this session.
  Result<Leases> renew(const std::shared_ptr<Session>& session,
                       const std::vector<std::string>& tokens, TimePoint by);

 private:
  // Answers that all came over one connection; unset: the session has ended.
  struct Answers {
    Replies replies;
    TimePoint sent;
    [[nodiscard]] ConnectionNumber connection() const { return replies.front().connection; }
  };
  Result<std::optional<Answers>> ask(Session& session, const std::vector<Request>& requests,
                                     TimePoint by);
  enum class Beaten { done, again, gone_back };
  Result<Beaten> judge_write(Beat& beat, bool made, std::int32_t before, const Reply& write,
                             const Reply& above) const;
  // Reads the answers about these tokens: adds those whose nodes are missing to `lost`.
  Status judge(const Session& session, const std::vector<std::string>& tokens,
               std::span<const Reply> replies, Breaks breaks, std::set<std::string>& lost);
  void give_up(const std::shared_ptr<Session>& session);

  OpenSpace& space_;
};

}  // namespace lockset::zookeeper
