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

// A file of its own, one write per line: a line of a killed process is there whole
// or, at the very end, cut off.
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

}  // namespace

int hammer(const HammerJob& job) {
  const std::filesystem::path stop = std::filesystem::path(job.log).parent_path() / stop_file;
  Log log(job.log);
  std::mt19937_64 dice(job.seed);
  Options options;
  options.app = "hammer" + std::to_string(job.seed);
  options.lease = std::chrono::seconds(1);
  Result<Locks> locks = lockset::open(job.url, options);
  if (!locks) {
    log.write("E open: " + locks.error().message);
    return 1;
  }
  const TimePoint end = BootClock::now() + std::chrono::seconds(job.seconds);
  while (BootClock::now() < end && !std::filesystem::exists(stop)) {
    const std::vector<LockRequest> wanted = random_set(dice, job.names);
    AcquireOptions how;
    how.wait = std::chrono::seconds(5);
    const TimePoint asked = BootClock::now();
    Result<Hold> hold = locks->acquire(wanted, how);
    const TimePoint granted = BootClock::now();
    if (!hold) {
      if (hold.error().code == Errc::timeout) {
        log.write("T " + now_text(granted));
        continue;
      }
      log.write("E acquire: " + hold.error().message);
      return 1;
    }
    // Starved for longer than its lease, a process may have lost it; that is honest.
    if (!hold->valid()) continue;
    std::string items;
    for (const LockRequest& item : wanted) {
      items += (items.empty() ? "" : ",") + std::string(item.mode == Mode::read ? "r:" : "w:");
      items += item.name;
    }
    const std::string stamp = std::to_string(hold->stamp().value);
    log.write("G " + stamp + " " + now_text(granted) + " " + items + " " +
              std::to_string((granted - asked).count()));
    const int looks = static_cast<int>(dice() % 4);
    for (int i = 0; i < looks; ++i) {
      test::linger(std::chrono::microseconds(dice() % 1000));
      const TimePoint looked = BootClock::now();
      if (!hold->valid()) break;
      log.write("V " + stamp + " " + now_text(looked));
    }
    const TimePoint releasing = BootClock::now();
    const bool valid = hold->valid();
    if (valid) log.write("R " + stamp + " " + now_text(releasing));
    const Status released = hold->release();
    if (!released && valid && released.error().code != Errc::not_held) {
      log.write("E release: " + released.error().message);
      return 1;
    }
  }
  return 0;
}

}  // namespace lockset::conformance
