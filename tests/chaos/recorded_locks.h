// Locks and Hold as a program uses them, with every call and its answer recorded. Beneath it a
// RecordingBackend adds the renewals.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "lockset/locks.h"
#include "tests/chaos/fenced_resource.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

// An error that no trouble of the store explains.
class Unexpected : public std::runtime_error {
 public:
  Unexpected(const std::string& what, const Error& error);
};

// Whether trouble of the store explains it. `lost_state`: the store loses what it had.
bool is_trouble(const Error& error, bool lost_state) noexcept;

class RecordedLocks;

// One hold, in one thread.
class RecordedHold {
 public:
  // Released, and recorded, as if release() had been called.
  ~RecordedHold();
  RecordedHold(const RecordedHold&) = delete;
  RecordedHold& operator=(const RecordedHold&) = delete;

  [[nodiscard]] Stamp stamp() const noexcept { return hold_.stamp(); }
  [[nodiscard]] const Hold& hold() const noexcept { return hold_; }
  bool valid();
  void renew();
  // Uses the resource behind each name, without asking whether the hold is valid: that is the
  // resource's to find out. Where the store gives no floors, a stamp tells only exclusive
  // holders apart; `exclusive` says whether an item always has been such.
  void use(FencedResource& resource, const std::function<bool(const LockRequest&)>& exclusive);
  void release();
  // A second release, of which nobody may be told that it did something.
  void release_again();
  // The hold is left to the store from here on; its stamp. Nothing if it was lost.
  std::optional<Stamp> detach();

 private:
  friend class RecordedLocks;
  RecordedHold(RecordedLocks& locks, Hold hold);

  RecordedLocks& locks_;
  Hold hold_;
  const Stamp stamp_;
  bool over_ = false;
  std::optional<std::stop_callback<std::function<void()>>> lost_;
};

// Thread-safe. Every call may throw Unexpected.
class RecordedLocks {
 public:
  struct Options {
    std::string url;
    std::string app;
    Duration lease{};
    Duration io_timeout = std::chrono::seconds(1);
    // The store may lose what it had: clients may then see that it went back in time.
    bool lost_state = false;
    // For a while the store may not be fit: there is no space, while it is put back from a backup;
    // or it is read-only. Whoever is still told so long after that has not recovered.
    bool unfit = false;
    // A line on standard output for each acquire that trouble of the store made fail, for
    // migration/failures.h: "failed 81234567890123 unavailable: the store does not answer".
    bool tell_failures = false;
  };
  // Tries until the store can be opened; null if that is not before `stop`.
  static std::unique_ptr<RecordedLocks> open(const Options& options,
                                             std::shared_ptr<test::Recorder> recorder,
                                             const std::stop_token& stop);

  struct Wish {
    std::vector<LockRequest> set;
    Duration wait{};  // 0: a single try
    std::stop_token stop{};
  };
  // Null: not granted. `trouble` is set if the store had some.
  std::unique_ptr<RecordedHold> acquire(const Wish& wish, bool& trouble);

  // Of holds that were detached.
  void renew(Stamp stamp);
  void release(Stamp stamp);

  [[nodiscard]] Traits traits() const { return locks_.traits(); }
  [[nodiscard]] test::Recorder& recorder() noexcept { return *recorder_; }

 private:
  friend class RecordedHold;
  RecordedLocks(Locks locks, Options options, std::shared_ptr<test::Recorder> recorder);
  // Throws Unexpected unless it is trouble of the store.
  void bear(const std::string& what, const Error& error) const;
  void note_answer() { last_answer_ = BootClock::now(); }
  void note_refusal(std::uint64_t op, const LockSet& set, const Error* error);

  Locks locks_;
  // When the store last did what it was asked for.
  std::atomic<TimePoint> last_answer_{BootClock::now()};
  const Options options_;
  const std::shared_ptr<test::Recorder> recorder_;
};

}  // namespace lockset::chaos
