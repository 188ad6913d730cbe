// Locks and Hold as a program uses them, with every call and its answer recorded. A
// RecordingBackend below adds the renewals.
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

// An error that no failure of the store explains.
class Unexpected : public std::runtime_error {
 public:
  Unexpected(const std::string& what, const Error& error);
};

// Whether a failure of the store explains it. `lost_state`: the store loses its state.
bool is_trouble(const Error& error, bool lost_state) noexcept;

class RecordedLocks;

// One hold, in one thread.
class RecordedHold {
 public:
  // Releases and records it, as release() does.
  ~RecordedHold();
  RecordedHold(const RecordedHold&) = delete;
  RecordedHold& operator=(const RecordedHold&) = delete;

  [[nodiscard]] Stamp stamp() const noexcept { return hold_.stamp(); }
  [[nodiscard]] const Hold& hold() const noexcept { return hold_; }
  bool valid();
  void renew();
  // Uses the resource behind each name without asking whether the hold is valid: the resource must
  // find that out. If the store gives no floors, stamps distinguish only exclusive holders;
  // `exclusive` says whether an item has always been exclusive.
  void use(FencedResource& resource, const std::function<bool(const LockRequest&)>& exclusive);
  // Takes all its names in this mode; not all of them may have it already. The new hold, and this
  // one is over; or null: it is as it was, or lost. Sets `trouble` if the store failed.
  std::unique_ptr<RecordedHold> convert(Mode mode, bool& trouble);
  void release();
  // A second release, which must never report success.
  void release_again();
  // From here on the hold is left to the store. Returns its stamp; nothing if it was lost.
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
    // The store may lose its state: clients may then notice that it went back in time.
    bool lost_state = false;
    // For a while the store may not be fit: there is no space while it is restored from a backup,
    // or it is read-only. A process that gets such errors long after that has not recovered.
    bool unfit = false;
    // Prints one line for each acquire that failed because of the store, for migration/failures.h:
    // "failed 81234567890123 unavailable: the store does not answer".
    bool tell_failures = false;
  };
  // Retries until the store can be opened; null if that does not happen before `stop`.
  static std::unique_ptr<RecordedLocks> open(const Options& options,
                                             std::shared_ptr<test::Recorder> recorder,
                                             const std::stop_token& stop);
  // Over Locks that are open already. `options` as they were opened with.
  RecordedLocks(Locks locks, Options options, std::shared_ptr<test::Recorder> recorder);

  // What was observed, and its number in the history.
  struct Seen {
    std::uint64_t op = 0;
    Observation observation;
  };
  struct Wish {
    std::vector<LockRequest> set;
    Duration wait{};  // 0: a single try
    std::stop_token stop{};
    // Only if this has not changed; the set contains its names.
    std::optional<Seen> unchanged_since{};
  };
  // Null: not granted. Sets `trouble` if the store failed.
  std::unique_ptr<RecordedHold> acquire(const Wish& wish, bool& trouble);

  // Nothing if the store failed; then sets `trouble`, and so does validate.
  std::optional<Seen> observe(std::vector<std::string> names, bool& trouble);
  void validate(const Seen& seen, bool& trouble);

  // For holds that were detached.
  void renew(Stamp stamp);
  void release(Stamp stamp);

  [[nodiscard]] Traits traits() const { return locks_.traits(); }
  [[nodiscard]] test::Recorder& recorder() noexcept { return *recorder_; }

 private:
  friend class RecordedHold;
  // Throws Unexpected unless the store explains the error.
  void bear(const std::string& what, const Error& error) const;
  void note_answer() { last_answer_ = BootClock::now(); }
  std::unique_ptr<RecordedHold> granted(std::uint64_t op, Hold hold);
  void note_refusal(std::uint64_t op, const LockSet& set, const Error* error);

  Locks locks_;
  // When the store last did what it was asked to do.
  std::atomic<TimePoint> last_answer_{BootClock::now()};
  const Options options_;
  const std::shared_ptr<test::Recorder> recorder_;
};

}  // namespace lockset::chaos
