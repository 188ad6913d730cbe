#include "cli/guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

constexpr char hold_stamp = 'h';
constexpr char watch_group = 'w';
constexpr char deadline = 'v';
constexpr char finish = 'f';  // as deadline, and SIGKILL at once
constexpr char done = 'd';

// Each message is one packet; the socket keeps them apart.
struct Message {
  char what = 0;
  std::int64_t value = 0;
};

constexpr int acted = 1;  // the guard's exit status if it had to step in

// The guard runs everything below, up to the end of the class. It was forked before any thread
// existed, and still keeps to plain system calls.
class GuardProcess {
 public:
  GuardProcess(int channel, const GuardPlan& plan) : channel_(channel), plan_(plan) {}

  [[noreturn]] void run() {
    settle();
    for (;;) {
      pollfd fds[2] = {{channel_, POLLIN, 0}, {timer_, POLLIN, 0}};
      if (::poll(fds, 2, -1) < 0) continue;
      if (fds[0].revents != 0) read_channel();
      // A stale wake-up is harmless: the timer is read again, not trusted.
      std::uint64_t expired = 0;
      if (::read(timer_, &expired, sizeof expired) == sizeof expired) end_group();
    }
  }

 private:
  void settle() {
    ::setsid();  // out of reach of the terminal and of kill(0, ...)
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    // A reader of our output must not wait for the guard, and the guard keeps nobody's file open.
    if (channel_ != 0) ::dup2(channel_, 0);
    channel_ = 0;
    if (::syscall(SYS_close_range, 1U, ~0U, 0U) != 0) {
      const long most = ::sysconf(_SC_OPEN_MAX);
      for (int fd = 1; fd < most; ++fd) ::close(fd);
    }
    ::prctl(PR_SET_NAME, "lockset-guard");
    timer_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  }

  void read_channel() {
    Message message;
    const ssize_t count = ::recv(channel_, &message, sizeof message, 0);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count != static_cast<ssize_t>(sizeof message)) {  // lockset is gone
      orphaned_ = true;
      if (group_ != 0) end_group();
      finish_hold();
    }
    switch (message.what) {
      case hold_stamp:
        stamp_ = message.value;
        break;
      case watch_group: {
        group_ = static_cast<pid_t>(message.value);
        leader_ = static_cast<int>(::syscall(SYS_pidfd_open, group_, 0U));
        const char yes = 1;
        [[maybe_unused]] const ssize_t sent = ::send(channel_, &yes, 1, MSG_NOSIGNAL);
        break;
      }
      case finish:
        plan_.signal = SIGKILL;
        [[fallthrough]];
      case deadline:
        set_timer(message.value);
        break;
      default:
        ::_exit(0);
    }
  }

  void set_timer(std::int64_t nanoseconds) const {
    itimerspec at{};
    if (nanoseconds != INT64_MAX) {
      at.it_value.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
      at.it_value.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
  }

  // The process group is still the one that we were told about. Another group can get its number
  // only after the leader was waited for *and* the last member ended; then a process with that very
  // number leads the new group.
  [[nodiscard]] bool still_there() const {
    const bool leader_gone = leader_ >= 0 &&
                             ::syscall(SYS_pidfd_send_signal, leader_, 0, nullptr, 0U) != 0 &&
                             errno == ESRCH;
    if (leader_gone && (::kill(group_, 0) == 0 || errno == EPERM)) return false;
    return ::kill(-group_, 0) == 0 || errno == EPERM;
  }

  // A process of the group runs. What has ended and was not waited for yet counts as there for
  // kill(), and in some containers it stays for ever.
  [[nodiscard]] bool runs() const {
    DIR* const processes = ::opendir("/proc");
    if (processes == nullptr) return true;
    bool found = false;
    bool readable = false;
    while (const dirent* const entry = ::readdir(processes)) {
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      char path[64];
      ::snprintf(path, sizeof path, "/proc/%.20s/stat", entry->d_name);
      const int file = ::open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      char text[512];
      const ssize_t size = ::read(file, text, sizeof text - 1);
      ::close(file);
      if (size <= 0) continue;
      text[size] = 0;
      // PID (NAME) STATE PARENT GROUP; the name may contain anything.
      const char* const name_end = ::strrchr(text, ')');
      char state = 0;
      int parent = 0;
      int group = 0;
      if (name_end == nullptr ||
          ::sscanf(name_end + 1, " %c %d %d", &state, &parent, &group) != 3) {
        continue;
      }
      readable = true;
      if (group == group_ && state != 'Z' && state != 'X') found = true;
    }
    ::closedir(processes);
    return found || !readable;
  }

  [[noreturn]] void end_group() {
    if (!still_there()) {
      if (orphaned_) finish_hold();
      ::_exit(0);
    }
    ::kill(-group_, plan_.signal);
    ::kill(-group_, SIGCONT);  // a stopped process would keep SIGTERM pending for ever
    constexpr int look_again_ms = 20;
    const TimePoint kill_at = BootClock::now() + plan_.grace;
    while (plan_.signal != SIGKILL && still_there() && (!orphaned_ || runs())) {
      if (BootClock::now() >= kill_at) {
        ::kill(-group_, SIGKILL);
        break;
      }
      pollfd from_lockset{orphaned_ ? -1 : channel_, POLLIN, 0};
      if (::poll(&from_lockset, 1, look_again_ms) <= 0) continue;
      Message message;
      const ssize_t count = ::recv(channel_, &message, sizeof message, 0);
      if (count <= 0) orphaned_ = true;
      if (count > 0 && message.what == done) break;  // lockset runs again and did it
    }
    if (orphaned_) {
      // What was killed may need a moment, or longer if it waits for a device. The lease ends
      // anyway.
      while (still_there() && runs()) ::poll(nullptr, 0, look_again_ms);
      finish_hold();
    }
    ::_exit(acted);
  }

  // Nobody else can release it now, and nobody uses it any more.
  [[noreturn]] void finish_hold() const {
    if (stamp_ == 0 || plan_.environment.empty()) ::_exit(acted);
    std::string stamp = std::to_string(stamp_);
    std::string name = "lockset";
    std::string verb = "release";
    char* const arguments[] = {name.data(), verb.data(), stamp.data(), nullptr};
    std::vector<char*> environment;
    for (const std::string& each : plan_.environment) {
      environment.push_back(const_cast<char*>(each.c_str()));
    }
    environment.push_back(nullptr);
    ::close(channel_);
    ::close(timer_);
    for (int fd = 0; fd < 3; ++fd) [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve("/proc/self/exe", arguments, environment.data());
    ::_exit(acted);
  }

  int channel_;
  int timer_ = -1;
  GuardPlan plan_;
  pid_t group_ = 0;
  int leader_ = -1;
  bool orphaned_ = false;  // lockset is gone
  std::int64_t stamp_ = 0;
};

}  // namespace

Guard::Guard(const GuardPlan& plan) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_system("make a pair of sockets", errno);
  }
  channel_ = FileDescriptor(ends[0]);
  FileDescriptor guards(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) {
    fail_system("start another process", errno);
  }
  if (pid_ == 0) {
    ::close(ends[0]);  // otherwise it would never see us die
    GuardProcess(ends[1], plan).run();
  }
}

Guard::~Guard() { dismiss(); }

bool Guard::watch(pid_t group) {
  const Message message{watch_group, group};
  if (::send(channel_.get(), &message, sizeof message, MSG_NOSIGNAL) < 0) return false;
  char yes = 0;
  ssize_t count;
  do {
    count = ::recv(channel_.get(), &yes, 1, 0);
  } while (count < 0 && errno == EINTR);
  return count == 1;
}

void Guard::tell(char what, std::int64_t value) {
  const Message message{what, value};
  // Never wait for the guard: the lock matters more. If the guard is dead, PR_SET_PDEATHSIG
  // remains.
  [[maybe_unused]] const ssize_t sent =
      ::send(channel_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Guard::holds(Stamp stamp) { tell(hold_stamp, stamp.value); }

void Guard::valid_until(TimePoint when) { tell(deadline, when.time_since_epoch().count()); }

void Guard::leave_to_us(TimePoint until) { tell(finish, until.time_since_epoch().count()); }

bool Guard::ended(pid_t pid) {
  if (pid != pid_ || status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return true;
}

bool Guard::dismiss() {
  if (pid_ <= 0) return false;
  tell(done, 0);
  channel_.close();
  int status = 0;
  pid_t got = pid_;
  if (status_) {
    status = *status_;
  } else {
    do {
      got = ::waitpid(pid_, &status, 0);
    } while (got < 0 && errno == EINTR);
  }
  pid_ = -1;
  return got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == acted;
}

}  // namespace lockset::cli
