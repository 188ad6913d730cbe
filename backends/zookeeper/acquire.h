// The step that grants a set: reads what may block it; then the server compares everything that was
// read and makes the hold, in one transaction. ADR 0023.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/zookeeper/holds.h"
#include "backends/zookeeper/reaper.h"
#include "backends/zookeeper/store.h"
#include "backends/zookeeper/waiting.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

// One attempt. Used once, by one thread.
class Acquire {
 public:
  Acquire(OpenSpace& space, HoldList& list, Reaper& reaper, Waiting& waiting,
          const AcquireRequest& request);

  Result<AcquireOutcome> run();

 private:
  // The result of one round; nothing: it has to be repeated from the present state of the store.
  using Round = Result<std::optional<AcquireOutcome>>;

  Round round();
  Status get_ready();
  [[nodiscard]] bool keeps_session() const;
  Status take_seat();
  Result<bool> find_replaced();
  Round gone();
  bool leave_out_replaced();
  Round replaced_has_ended();
  [[nodiscard]] ConnectionNumber made_from() const;
  bool take_from_cache();
  Result<bool> read_names();
  [[nodiscard]] bool one_share_suffices(std::size_t item) const;
  [[nodiscard]] bool takes_mark_away(std::size_t item) const;
  [[nodiscard]] bool reads_beside_others(std::size_t item) const;
  [[nodiscard]] bool splits(std::size_t item) const;
  bool knows_shares();
  Result<bool> judge_condition(std::span<const Reply> replies);
  Round changed();
  Status lift(const std::string& node, std::string_view data);
  Round busy(std::size_t item, const Holder& holder);
  // The bound on overtaking.
  [[nodiscard]] bool bounded() const noexcept;
  Result<Replies> read(std::vector<Request> requests);
  Status read_lines();
  Round look_at_lines(bool cached);
  struct Keeper;
  Status ask_waiters(const std::vector<std::string>& tokens, bool behind,
                     std::vector<Keeper>& keepers);
  Round who_keeps(const std::vector<std::vector<InLine>>& before, std::vector<Keeper>& keepers,
                  bool cached);
  void those_who_come(std::vector<Keeper> due, const std::vector<Reply>& calls,
                      std::vector<Keeper>& keepers) const;
  [[nodiscard]] bool is_woken(const std::string& token) const;
  [[nodiscard]] bool waited_for(const Keeper& keeper) const;
  Round kept(std::size_t item, Mode mode, Keeper keeper, std::size_t between);
  Status queue_up(Busy& busy, std::size_t item, const std::string& keeper);
  Round ask();
  Round granted(const Reply& reply, std::size_t first_set);
  Round refused(const Reply& reply);
  [[nodiscard]] Error unusable(const std::string& why) const;
  Request grant_request(std::size_t& first_set);
  [[nodiscard]] std::string record() const;
  [[nodiscard]] Duration effective_lease() const;
  [[nodiscard]] Error too_late() const;
  static Round again();

  OpenSpace& space_;
  HoldList& list_;
  Reaper& reaper_;
  Waiting& waiting_;
  const AcquireRequest& request_;
  const std::string token_;
  const std::span<const LockRequest> items_;
  std::size_t path_bytes_ = 0;
  std::shared_ptr<Ticket> ticket_;

  // The hold whose place this one takes.
  struct Replaced {
    std::string token;
    std::vector<LockRequest> items;
    std::shared_ptr<OwnHold> own;  // null: another client took it
  };
  std::optional<Replaced> replaced_;
  std::shared_ptr<Seat> seat_;
  std::shared_ptr<const KnownConfig> config_;
  std::vector<NameState> names_;
  // For each name: whether the versions of all its shares have to be read.
  std::vector<bool> all_shares_;
  // How the request under way grants each of them.
  enum class Step : std::uint8_t { alone, beside_others, splits };
  std::vector<Step> steps_;
  std::optional<Changed> changed_;  // the condition is broken
  // Those who came before this request, whom it overtakes if it is granted.
  struct Overtaken {
    std::string token;
    std::string label;
    std::int32_t times = 0;  // so far
  };
  std::vector<Overtaken> overtaken_;
  // The session's connection when everything that the request relies on was known to count in it.
  ConnectionNumber connection_ = 0;
  Duration wanted_lease_;
  Duration lease_{};
  bool may_use_cache_ = true;
  bool looks_again_ = false;  // the lines were judged by what may be out of date
  std::uint32_t collisions_ = 0;
  int left_ = 0;                    // how often somebody had just left a line
  std::size_t after_replaced_ = 0;  // the parts of the request that end that hold come before
  std::size_t first_remove_ = 0;    // of the parts of the request that end the wait
};

}  // namespace lockset::zookeeper
