#include "cli/job.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stop_token>

#include "cli/chat.h"
#include "cli/child_process.h"
#include "cli/process.h"
#include "cli/terminal.h"
#include "core/margin.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// The wrapper acts first. The guard steps in this much later, and still before the store can give
// the lock to anybody else: validity ends a margin before the lease does.
Duration guard_slack(Duration lease) { return margin_of(lease) / 4; }

std::string names_text(std::span<const LockRequest> items) {
  std::string text;
  for (const LockRequest& item : items) {
    if (!text.empty()) text += '\n';
    text += std::string(to_string(item.mode)) + " " + item.name;
  }
  return text;
}

// In the order of the names.
std::string floors_text(const Hold& hold) {
  std::string text;
  for (const LockRequest& item : hold.items()) {
    if (!text.empty()) text += '\n';
    text += std::to_string(hold.floor(item.name).value);
  }
  return text;
}

ChildPlan child_plan(const JobPlan& plan, const Hold& hold, const Signals& signals) {
  ChildPlan child;
  child.command = plan.command;
  child.environment = {{"LOCKSET_STAMP", std::to_string(hold.stamp().value)},
                       {"LOCKSET_NAMES", names_text(hold.items())},
                       {"LOCKSET_FLOORS", floors_text(hold)}};
  child.mask = signals.original_mask();
  if (plan.on_lost == OnLost::term) child.death_signal = SIGTERM;
  if (plan.on_lost == OnLost::kill) child.death_signal = SIGKILL;
  return child;
}

class Job {
 public:
  Job(const JobPlan& plan, Locked& locked, Signals& signals, Guard* guard)
      : plan_(plan),
        locked_(locked),
        hold_(locked.hold),
        signals_(signals),
        guard_(guard),
        child_(child_plan(plan, hold_, signals)),
        alarm_(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
        lost_event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!alarm_ || !lost_event_) fail_system("open a file descriptor", errno);
  }

  int run() {
    if (const int code = start(); code != 0) return code;
    const std::stop_callback on_lost(hold_.lost(), [this] { wake(); });
    while (!child_.ended()) {
      wait_for_something();
      while (const auto signal = signals_.next()) handle(*signal);
      while (const auto status = child_.poll()) child_changed(*status);
      reap_orphans();
      if (!child_.ended()) look_at_the_lock();
    }
    terminal_.take_back();
    if (lost_) clear_up_the_group();
    const bool guard_acted = guard_ != nullptr && guard_->dismiss();
    if (lost_) return exit_lost;
    if (!valid_at_end_) {
      say_error(std::string(guard_acted
                                ? "the guard process ended the command, for the lock was lost"
                                : "the lock was lost before the command ended") +
                why_lost());
      return exit_lost;
    }
    return finish();
  }

 private:
  // Returns 0, or the exit code if the command could not be started.
  int start() {
    if (guard_ != nullptr && !guard_->watch(child_.pid())) {
      throw Failure(exit_internal, "the guard process was killed; nothing was started");
    }
    tell_guard();
    // The machine may have been suspended since the grant.
    if (!hold_.valid()) {
      say_error("the lock was lost before the command was started" + why_lost());
      return exit_lost;
    }
    if (terminal_.all_ours()) terminal_.give(child_.pid());
    const int error = child_.start();
    if (error == 0) return 0;
    terminal_.take_back();
    say_error("can't execute " + in_quotes(plan_.command.front()) + ": " + ::strerror(error));
    if (const Status released = hold_.release(); !released) {
      warn(released.error().message);
    }
    return error == ENOENT || error == ENOTDIR ? exit_not_found : exit_cannot_execute;
  }

  void wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(lost_event_.get(), &one, sizeof one);
  }

  void wait_for_something() {
    set_alarm();
    pollfd fds[3] = {
        {signals_.fd(), POLLIN, 0}, {alarm_.get(), POLLIN, 0}, {lost_event_.get(), POLLIN, 0}};
    ::poll(fds, 3, -1);
    std::uint64_t count = 0;
    [[maybe_unused]] ssize_t drained = ::read(alarm_.get(), &count, sizeof count);
    drained = ::read(lost_event_.get(), &count, sizeof count);
  }

  // Rings at the end of validity, and often enough to learn that it was extended.
  void set_alarm() {
    itimerspec at{};
    std::optional<TimePoint> next;
    if (lost_) {
      if (!killed_ && plan_.on_lost != OnLost::ignore) next = kill_at_;
    } else if (hold_.valid_until() != TimePoint::max()) {
      constexpr int looks_per_lease = 6;
      next = std::min<TimePoint>(hold_.valid_until(),
                                 BootClock::now() + hold_.lease() / looks_per_lease);
    }
    if (next) {
      const std::int64_t ns = std::max<std::int64_t>(next->time_since_epoch().count(), 1);
      at.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
      at.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    }
    ::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void tell_guard() {
    if (guard_ == nullptr || lost_) return;
    const TimePoint until = hold_.valid_until();
    if (until == told_until_) return;
    told_until_ = until;
    guard_->valid_until(until == TimePoint::max() ? until : until + guard_slack(hold_.lease()));
  }

  void look_at_the_lock() {
    if (lost_) {
      if (!killed_ && plan_.on_lost != OnLost::ignore && BootClock::now() >= kill_at_) kill_group();
      return;
    }
    if (hold_.valid()) {
      tell_guard();
      return;
    }
    lost_ = true;
    switch (plan_.on_lost) {
      case OnLost::ignore:
        say_error("lost the lock" + why_lost() +
                  "; the command runs on without it (--on-lost=ignore)");
        return;
      case OnLost::kill:
        say_error("lost the lock" + why_lost() + "; killing the command");
        kill_group();
        return;
      case OnLost::term:
        say_error("lost the lock" + why_lost() + "; sending SIGTERM to the command");
        kill_at_ = BootClock::now() + plan_.grace;
        // If we are stopped meanwhile, the guard does the rest.
        if (guard_ != nullptr) guard_->leave_to_us(kill_at_ + std::chrono::seconds(1));
        child_.signal(SIGTERM);
        child_.signal(SIGCONT);
        return;
    }
  }

  void kill_group() {
    if (plan_.on_lost == OnLost::term) {
      say_error("the command did not end within " + format_duration(plan_.grace) + "; killing it");
    }
    if (!child_.signal(SIGKILL))
      say_error(std::string("can't kill the command: ") + ::strerror(errno));
    killed_ = true;
  }

  // The command has ended; the processes that it left in its group get the rest of the grace time.
  void clear_up_the_group() {
    if (plan_.on_lost == OnLost::ignore) return;
    constexpr int look_again_ms = 20;
    while (!killed_ && child_.group_alive() && BootClock::now() < kill_at_) {
      ::poll(nullptr, 0, look_again_ms);
    }
    if (child_.group_alive()) child_.signal(SIGKILL);
  }

  [[nodiscard]] std::string why_lost() const {
    const std::string stamp = " (stamp " + std::to_string(hold_.stamp().value);
    switch (hold_.lost_reason()) {
      case LostReason::not_lost:
      case LostReason::in_doubt:  // it is never downgraded
        break;
      case LostReason::expired:
        return stamp + "): its lease ran out before a renewal was confirmed";
      case LostReason::gone:
        return stamp + "): the store no longer has it; it expired there or was broken";
      case LostReason::app_lost:
      case LostReason::superseded:
        return stamp + "): another instance of the application took over";
    }
    return stamp + ")";
  }

  void handle(int signal) {
    if (signal == SIGCONT) {
      continued();
    } else if (is_forwarded(signal)) {
      child_.signal(signal);
      if (stopped_ && asks_to_end(signal)) child_.signal(SIGCONT);
    }
  }

  // Nobody else reaps the orphans that became our children.
  void reap_orphans() {
    if (!adopts_orphans_) return;
    while (const std::optional<pid_t> pid = ended_child()) {
      if (*pid == child_.pid()) return;  // poll() reports it later
      if (guard_ != nullptr && guard_->ended(*pid)) continue;
      ::waitpid(*pid, nullptr, WNOHANG);
    }
  }

  void child_changed(int status) {
    if (WIFSTOPPED(status)) {
      stopped_ = true;
      child_stopped(WSTOPSIG(status));
      return;
    }
    status_ = status;
    valid_at_end_ = hold_.valid();
  }

  void child_stopped(int signal) {
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && terminal_.ours()) {  // give it the terminal
      continue_child(true);
      return;
    }
    // Something stopped the command, but not through the terminal: the lock is kept.
    const bool job_control = terminal_ && (wants_terminal || signal == SIGTSTP);
    if (!job_control && !terminal_.given()) return;
    if (terminal_.given()) {
      terminal_.take_back();
      // Only the command got the ^Z; the rest of our job must stop too.
      ::kill(0, SIGTSTP);
      while (const auto drained = signals_.next()) {
        if (*drained != SIGTSTP) handle(*drained);
      }
      had_terminal_ = true;
    }
    // Only SIGCONT continues us here; the shell sends it.
    if (!signals_.stop_self() && !wants_terminal) continue_child(had_terminal_);
  }

  void continued() {
    if (!stopped_) return;
    // First of all: nobody renewed while we were stopped.
    look_at_the_lock();
    if (!lost_ || plan_.on_lost == OnLost::ignore) continue_child(had_terminal_);
  }

  void continue_child(bool with_terminal) {
    if (with_terminal && terminal_.ours()) terminal_.give(child_.pid());
    stopped_ = false;
    child_.signal(SIGCONT);
  }

  // The command has ended, and we held the lock all the time.
  int finish() {
    const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : exit_signal + WTERMSIG(status_);
    if (plan_.at_least > Duration::zero()) {
      // From here on the lock no longer protects the command, so ask once more: it may have been
      // broken since the last renewal.
      const Status renewed = hold_.renew();
      if (!renewed && renewed.error().code == Errc::not_held) return lost_before_the_end();
      stay();
    }
    const bool was_valid = hold_.valid();
    const Status released = hold_.release();
    if (released) return code;
    if (released.error().code != Errc::not_held) {
      warn(
          "the command ended, but the lock was not released and stays until its lease "
          "ends: " +
          released.error().message);
      return code;
    }
    if (plan_.at_least > Duration::zero() || !was_valid) {
      warn("the lock was lost after the command had ended" + why_lost());
      return code;
    }
    return lost_before_the_end();
  }

  // The release found no hold: it was broken, and we had not learned it yet.
  int lost_before_the_end() {
    say_error("the lock (stamp " + std::to_string(hold_.stamp().value) +
              ") was broken or taken away while the command ran");
    return exit_lost;
  }

  void stay() {
    const TimePoint until = locked_.granted_at + plan_.at_least;
    if (plan_.verbose && BootClock::now() < until) {
      say("the command has ended; keeping the lock for another " +
          format_duration(until - BootClock::now()) + " (--at-least)");
    }
    while (hold_.valid() && BootClock::now() < until) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - BootClock::now());
      constexpr std::chrono::milliseconds longest(1000);
      pollfd fds[2] = {{signals_.fd(), POLLIN, 0}, {lost_event_.get(), POLLIN, 0}};
      ::poll(fds, 2,
             static_cast<int>(std::clamp(left, std::chrono::milliseconds(0), longest).count()));
      while (const auto signal = signals_.next()) {
        if (asks_to_end(*signal)) return;
        if (*signal == SIGTSTP) signals_.stop_self();
      }
      reap_orphans();
    }
  }

  const JobPlan& plan_;
  Locked& locked_;
  Hold& hold_;
  Signals& signals_;
  Guard* const guard_;
  const bool adopts_orphans_ = adopts_orphans();
  Terminal terminal_;
  ChildProcess child_;
  FileDescriptor alarm_;
  FileDescriptor lost_event_;

  int status_ = 0;
  bool valid_at_end_ = false;
  bool stopped_ = false;       // the command is stopped
  bool had_terminal_ = false;  // and had the terminal before
  bool lost_ = false;          // we reacted to the loss
  bool killed_ = false;
  TimePoint kill_at_{};
  TimePoint told_until_{};
};

}  // namespace

int run_job(const JobPlan& plan, Locked& locked, Signals& signals, Guard* guard) {
  return Job(plan, locked, signals, guard).run();
}

}  // namespace lockset::cli
