// What this process knows of the holds that it took or looked up: in which nodes their parts are.
// And what became of its attempts.
//
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/quorum/hold_tag.h"
#include "lockset/clock.h"

namespace lockset::quorum {

struct Part {
  Stamp stamp;                     // 0: the node has no part of the hold
  std::int64_t store_time_us = 0;  // of its grant, on the node's clock; 0: not known
  TimePoint until;                 // its lease has ended by then
  // What is known about its end. A retry must not count it again.
  enum class End : std::uint8_t { no, by_us, by_others } end = End::no;

  [[nodiscard]] bool live() const noexcept { return stamp && end == End::no; }
};

struct Held {
  HoldTag tag;
  std::string app;          // whose hold it is
  std::vector<Part> parts;  // one for each seat
  bool ending = false;      // somebody is ending it, or tried to: it gets no further part
};

class Book {
 public:
  void note(Stamp whole, Held held);
  [[nodiscard]] std::optional<Held> find(Stamp whole) const;
  // As find(); from now on the hold gets no further part.
  std::optional<Held> begin_end(Stamp whole);
  // It was not ended.
  void take_back_end(Stamp whole);
  // False: the hold has ended or is ending, or already has a part there; then nothing is changed.
  bool add_part(Stamp whole, std::size_t seat, const Part& part);
  // Applies `change` to the part, if the hold is known.
  template <class Change>
  void update(Stamp whole, std::size_t seat, Change&& change) {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(whole);
    if (at != held_.end()) change(at->second.parts[seat]);
  }
  void forget(Stamp whole);

  // What became of the attempt that the core knows by `token`.
  struct Attempt {
    Token token;      // as the nodes know it: of the last round
    Stamp granted;    // 0: it was given up, and never becomes a hold
    TimePoint until;  // it may be asked for until then
  };
  void note_attempt(const Token& token, const Attempt& attempt);
  [[nodiscard]] std::optional<Attempt> attempt(const Token& token) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Stamp, Held> held_;
  std::map<Token, Attempt> attempts_;
  std::size_t prune_held_at_ = 1024;
  std::size_t prune_attempts_at_ = 4096;
};

}  // namespace lockset::quorum
