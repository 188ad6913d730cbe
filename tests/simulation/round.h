// One round of a client's work: takes a set in one of the possible ways, holds it for a while, and
// ends the hold in one of the possible ways.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/random.h"
#include "lockset/locks.h"
#include "tests/simulation/client.h"

namespace lockset::simulation {

class Client::Round {
 public:
  Round(Client& client, Locks& locks, std::uint64_t chance);
  void run();

 private:
  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  void choose();
  void observe();
  void rely_on_it();
  void validate();
  void bear(const Error& error, const std::string& what, TimePoint asked, std::uint64_t troubles);
  void check_not_own(const std::vector<Told::Attempt>& attempts);
  void acquire();
  void granted();
  void not_granted(const Error& error);
  void note_attempts(Stamp except);
  void hold();
  void look() {
    look_at(stamp_, [this] { return valid(); });
  }
  void look_at(Stamp stamp, const std::function<bool()>& valid);
  void convert();
  void check_not_done(Stamp stamp);
  void watch(Stamp stamp, const std::stop_token& over);
  void not_converted(Stamp stamp, const Error& error);
  void use();
  void fork();
  void be_the_child(Process& child);
  void let_go();
  void release();
  void detach();
  void settle_release(Stamp stamp, const Status& status, bool was_valid, TimePoint valid_until);
  void break_somebody();
  void record(history::What what) { client_.world_.record(client_.process_, std::move(what)); }

  [[nodiscard]] bool valid() const { return plain_ ? locks_.valid(stamp_) : hold_.valid(); }
  [[nodiscard]] TimePoint promised() const { return told_.until(stamp_); }

  Client& client_;
  World& world_;
  Told& told_;
  Locks& locks_;
  Random random_;

  Random optimist_;  // decides about observations
  std::optional<Client::Seen> seen_;
  bool on_condition_ = false;

  Random converter_;  // decides about conversions
  Stamp replaced_;    // the hold that the acquire under way replaces

  std::vector<LockRequest> wanted_;
  Duration lease_{};
  Duration wait_{};
  bool plain_ = false;  // uses the stamp instead of Hold
  std::uint64_t op_ = 0;
  TimePoint asked_;
  std::uint64_t troubles_ = 0;
  Stamp highest_;  // the highest granted here before

  Stamp stamp_;
  Hold hold_;
  std::vector<Stamp> floors_;
  std::unique_ptr<std::stop_callback<std::function<void()>>> on_lost_;
};

}  // namespace lockset::simulation
