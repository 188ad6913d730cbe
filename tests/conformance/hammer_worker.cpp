#include "tests/conformance/hammer_worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>

#include "lockset/lockset.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

namespace {

// A separate file, with one write per line: a line of a killed process is complete or, at the very
// end, cut off.
class Log {
 public:
  explicit Log(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() { ::close(file_); }
  bool write(const std::string& line) {
    const std::string text = line + "\n";
    return ::write(file_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

 private:
  int file_;
};

std::string now_text(TimePoint now) { return std::to_string(now.time_since_epoch().count()); }

std::vector<LockRequest> random_set(std::mt19937_64& dice, std::size_t names) {
  std::map<std::string, Mode> chosen;
  const std::size_t size = 2 + dice() % 2;
  while (chosen.size() < size) {
    chosen["n" + std::to_string(dice() % names)] = dice() % 2 == 0 ? Mode::read : Mode::write;
  }
  std::vector<LockRequest> wanted;
  for (const auto& [name, mode] : chosen) wanted.push_back({name, mode});
  return wanted;
}

// Leaves the processor to other threads; the exact time does not matter.
void pause(Duration time) {
  if (time < std::chrono::milliseconds(2)) return test::linger(time);
  const TimePoint until = BootClock::now() + time;
  test::eventually([&] { return BootClock::now() >= until; });
}

// Keeps a hold and checks it, until it has done so often enough or lost the hold.
void keep(const Hold& hold, const std::string& stamp, Log& log, int looks, Duration apart) {
  for (int i = 0; i < looks; ++i) {
    pause(apart);
    const TimePoint looked = BootClock::now();
    if (!hold.valid()) break;
    log.write("V " + stamp + " " + now_text(looked));
  }
}

class Worker {
 public:
  explicit Worker(const HammerJob& job)
      : job_(job),
        stop_(std::filesystem::path(job.log).parent_path() / stop_file),
        end_(BootClock::now() + std::chrono::seconds(job.seconds)),
        log_(job.log),
        dice_(job.seed) {}

  int run() {
    Options options;
    options.app = "hammer" + std::to_string(job_.seed);
    options.lease = std::chrono::seconds(1);
    Result<Locks> locks = lockset::open(job_.url, options);
    while (!locks && !over()) {
      // A newcomer knows nothing about a lost space; somebody else restores it.
      if (!tolerated("open", locks.error(), true)) return 1;
      locks = lockset::open(job_.url, options);
    }
    if (!locks) return 0;
    while (!over()) {
      if (!take_one(*locks)) return 1;
    }
    return 0;
  }

 private:
  bool over() const { return BootClock::now() >= end_ || std::filesystem::exists(stop_); }

  // Writes the error to the log. False if this error is not allowed.
  bool tolerated(const std::string& what, const Error& error, bool any = false) {
    const std::string text = what + ": " + error.message;
    if (!job_.losses || (!any && !error.retryable() && !error.may_have_applied())) {
      log_.write("E " + text);
      return false;
    }
    log_.write("U " + now_text(BootClock::now()) + " " + text);
    pause(std::chrono::milliseconds(5 + dice_() % 20));
    return true;
  }

  bool take_one(Locks& locks) {
    const std::vector<LockRequest> wanted = random_set(dice_, job_.names);
    AcquireOptions how;
    how.wait = std::chrono::seconds(5);
    const TimePoint asked = BootClock::now();
    Result<Hold> hold = locks.acquire(wanted, how);
    const TimePoint granted = BootClock::now();
    if (!hold) {
      if (hold.error().code != Errc::timeout) return tolerated("acquire", hold.error());
      log_.write("T " + now_text(granted));
      return true;
    }
    // A process that got no processor for longer than its lease may have lost it; that is honest.
    if (!hold->valid()) return true;
    std::string items;
    for (const LockRequest& item : wanted) {
      items += (items.empty() ? "" : ",") + std::string(item.mode == Mode::read ? "r:" : "w:");
      items += item.name;
    }
    const std::string stamp = std::to_string(hold->stamp().value);
    log_.write("G " + stamp + " " + now_text(granted) + " " + items + " " +
               std::to_string((granted - asked).count()));
    const bool longer = job_.losses && dice_() % 12 == 0;
    if (longer) {
      keep(*hold, stamp, log_, static_cast<int>(dice_() % 200), std::chrono::milliseconds(10));
    } else {
      keep(*hold, stamp, log_, static_cast<int>(dice_() % 4),
           std::chrono::microseconds(dice_() % 1000));
    }
    const TimePoint releasing = BootClock::now();
    const bool valid = hold->valid();
    if (valid) log_.write("R " + stamp + " " + now_text(releasing));
    const Status released = hold->release();
    if (released || !valid || released.error().code == Errc::not_held) return true;
    return tolerated("release", released.error());
  }

  const HammerJob& job_;
  const std::filesystem::path stop_;
  const TimePoint end_;
  Log log_;
  std::mt19937_64 dice_;
};

}  // namespace

int hammer(const HammerJob& job) { return Worker(job).run(); }

}  // namespace lockset::conformance
