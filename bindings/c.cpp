// lockset/c.h over the C++ library.
#include "lockset/c.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockset/locks.h"
#include "lockset/registry.h"

struct lockset_locks {
  lockset::Locks locks;
};

struct lockset_hold {
  lockset::Hold hold;
  // The last member: their callbacks are over before the hold is released.
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> on_lost;
};

struct lockset_stop {
  std::stop_source source;
};

namespace lockset {
namespace {

using std::chrono::milliseconds;

static_assert(static_cast<int>(LostReason::in_doubt) == LOCKSET_LOST_IN_DOUBT);

lockset_code code_of(Errc code) noexcept {
  switch (code) {
    case Errc::timeout:
      return LOCKSET_TIMEOUT;
    case Errc::cancelled:
      return LOCKSET_CANCELLED;
    case Errc::not_held:
      return LOCKSET_NOT_HELD;
    case Errc::changed:
      return LOCKSET_CHANGED;
    case Errc::app_in_use:
      return LOCKSET_APP_IN_USE;
    case Errc::superseded:
      return LOCKSET_SUPERSEDED;
    case Errc::invalid:
      return LOCKSET_INVALID;
    case Errc::misconfigured:
      return LOCKSET_MISCONFIGURED;
    case Errc::unsupported:
      return LOCKSET_UNSUPPORTED;
    case Errc::unavailable:
      return LOCKSET_UNAVAILABLE;
    case Errc::indeterminate:
      return LOCKSET_INDETERMINATE;
    case Errc::rolled_back:
      return LOCKSET_ROLLED_BACK;
    case Errc::internal:
      return LOCKSET_INTERNAL;
  }
  return LOCKSET_INTERNAL;
}

void set_text(char** why, std::string_view text) noexcept {
  if (why == nullptr) return;
  *why = static_cast<char*>(std::malloc(text.size() + 1));
  if (*why == nullptr) return;
  std::memcpy(*why, text.data(), text.size());
  (*why)[text.size()] = '\0';
}

lockset_code fail(const Error& error, char** why) noexcept {
  set_text(why, error.message);
  return code_of(error.code);
}

// Runs a call that returns a lockset_code; no exception leaves it.
template <class Call>
lockset_code guarded(char** why, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    set_text(why, "out of memory");
    return LOCKSET_NO_MEMORY;
  } catch (const std::exception& thrown) {
    set_text(why, thrown.what());
    return LOCKSET_INTERNAL;
  } catch (...) {
    set_text(why, "an unknown exception");
    return LOCKSET_INTERNAL;
  }
}

Error null(std::string_view what) { return {Errc::invalid, std::string(what) + " is NULL"}; }

// A time that may be as long as a Duration can be: -1 means that.
Result<Duration> duration_of(std::int64_t time, std::string_view what) {
  if (time == -1) return Duration::max();
  if (time < 0) {
    return Error{Errc::invalid, std::string(what) + ": " + std::to_string(time) +
                                    " ms is negative; only -1 has a meaning"};
  }
  if (time > std::chrono::duration_cast<milliseconds>(Duration::max()).count()) {
    return Duration::max();
  }
  return Duration(milliseconds(time));
}

Result<std::vector<LockRequest>> wanted_of(const lockset_request* wanted, std::size_t count) {
  if (wanted == nullptr && count > 0) return null("the list of requests");
  std::vector<LockRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted[i].name == nullptr) return null("the name of request " + std::to_string(i));
    const std::int32_t mode = wanted[i].mode;
    if (mode != LOCKSET_READ && mode != LOCKSET_WRITE) {
      return Error{Errc::invalid, "the mode of request " + std::to_string(i) + " is " +
                                      std::to_string(mode) + ": use LOCKSET_READ or LOCKSET_WRITE"};
    }
    requests.push_back({wanted[i].name, mode == LOCKSET_READ ? Mode::read : Mode::write});
  }
  return requests;
}

// Later versions append members: then a shorter struct is an older one.
template <class T>
Status check_size(const T& options, std::string_view type) {
  if (options.size == sizeof(T)) return {};
  return Error{Errc::invalid, std::string(type) + "::size is " + std::to_string(options.size) +
                                  ": set it to sizeof(" + std::string(type) + "), here " +
                                  std::to_string(sizeof(T))};
}

Result<Options> options_of(const lockset_options* given) {
  Options options;
  if (given == nullptr) return options;
  if (Status status = check_size(*given, "lockset_options"); !status) return status.error();
  if (given->app != nullptr) options.app = given->app;
  if (given->label != nullptr) options.label = given->label;
  options.reclaim = given->reclaim != 0;
  const auto set = [](auto& member, std::int64_t time, std::string_view what) -> Status {
    if (time == 0) return {};
    Result<Duration> duration = duration_of(time, what);
    if (!duration) return std::move(duration).error();
    member = *duration;
    return {};
  };
  for (Status status : {set(options.lease, given->lease, "lease"),
                        set(options.io_timeout, given->io_timeout, "io_timeout"),
                        set(options.store_patience, given->store_patience, "store_patience"),
                        set(options.open_patience, given->open_patience, "open_patience")}) {
    if (!status) return std::move(status).error();
  }
  return options;
}

Result<AcquireOptions> options_of(const lockset_acquire_options* given, std::int64_t wait) {
  AcquireOptions options;
  Result<Duration> duration = duration_of(wait, "wait");
  if (!duration) return std::move(duration).error();
  options.wait = *duration;
  if (given == nullptr) return options;
  if (Status status = check_size(*given, "lockset_acquire_options"); !status) {
    return status.error();
  }
  if (given->label != nullptr) options.label = given->label;
  if (given->lease != 0) {
    duration = duration_of(given->lease, "lease");
    if (!duration) return std::move(duration).error();
    options.lease = *duration;
  }
  options.outlives_process = given->outlives_process != 0;
  if (given->stop != nullptr) options.stop = given->stop->source.get_token();
  return options;
}

std::unique_ptr<lockset_hold> wrapped(Hold hold) {
  auto made = std::make_unique<lockset_hold>();
  made->hold = std::move(hold);
  return made;
}

using Convert = Tried<std::optional<Hold>> (Hold::*)();

lockset_code convert(lockset_hold* hold, Convert how, std::int32_t* done, char** why) noexcept {
  return guarded(why, [&] {
    if (hold == nullptr) return fail(null("the hold"), why);
    if (done == nullptr) return fail(null("`done`"), why);
    Tried<std::optional<Hold>> tried = (hold->hold.*how)();
    if (!tried.ok()) return fail(tried.error(), why);
    *done = tried->has_value() ? 1 : 0;
    if (*done == 0) return LOCKSET_OK;
    hold->on_lost.clear();
    hold->hold = *std::move(*tried);
    return LOCKSET_OK;
  });
}

}  // namespace
}  // namespace lockset

// NOLINTBEGIN(readability-identifier-naming): names in C.
using namespace lockset;

const char* lockset_version() { return LOCKSET_VERSION; }

const char* lockset_code_name(std::int32_t code) {
  if (code == LOCKSET_OK) return "ok";
  if (code == LOCKSET_NO_MEMORY) return "no_memory";
  for (int each = 0; each <= static_cast<int>(Errc::internal); ++each) {
    const Errc errc = static_cast<Errc>(each);
    if (code_of(errc) == code) return to_string(errc).data();  // of literals
  }
  return "unknown";
}

const char* lockset_lost_reason_text(std::int32_t reason) {
  if (reason < LOCKSET_NOT_LOST || reason > LOCKSET_LOST_IN_DOUBT) return "unknown";
  return to_string(static_cast<LostReason>(reason)).data();  // of literals
}

void lockset_text_free(char* text) { std::free(text); }

lockset_code lockset_init(const char* url, char** why) {
  return guarded(why, [&] {
    if (url == nullptr) return fail(null("the address"), why);
    const Status status = init_space(url, BootClock::now() + std::chrono::minutes(1));
    return status ? LOCKSET_OK : fail(status.error(), why);
  });
}

lockset_code lockset_open(const char* url, const lockset_options* options, lockset_locks** locks,
                          char** why) {
  return guarded(why, [&] {
    if (url == nullptr) return fail(null("the address"), why);
    if (locks == nullptr) return fail(null("`locks`"), why);
    const Result<Options> with = options_of(options);
    if (!with) return fail(with.error(), why);
    Result<Locks> opened = open(url, *with);
    if (!opened) return fail(opened.error(), why);
    *locks = new lockset_locks{*std::move(opened)};
    return LOCKSET_OK;
  });
}

void lockset_locks_free(lockset_locks* locks) { delete locks; }

lockset_code lockset_acquire(lockset_locks* locks, const lockset_request* wanted, std::size_t count,
                             std::int64_t wait, const lockset_acquire_options* options,
                             lockset_hold** hold, char** why) {
  return guarded(why, [&] {
    if (locks == nullptr) return fail(null("`locks`"), why);
    if (hold == nullptr) return fail(null("`hold`"), why);
    Result<std::vector<LockRequest>> requests = wanted_of(wanted, count);
    if (!requests) return fail(requests.error(), why);
    const Result<AcquireOptions> with = options_of(options, wait);
    if (!with) return fail(with.error(), why);
    Result<Hold> granted = locks->locks.acquire(*std::move(requests), *with);
    if (!granted) return fail(granted.error(), why);
    *hold = wrapped(*std::move(granted)).release();
    return LOCKSET_OK;
  });
}

lockset_code lockset_try_acquire(lockset_locks* locks, const lockset_request* wanted,
                                 std::size_t count, const lockset_acquire_options* options,
                                 lockset_hold** hold, char** why) {
  return guarded(why, [&] {
    if (locks == nullptr) return fail(null("`locks`"), why);
    if (hold == nullptr) return fail(null("`hold`"), why);
    Result<std::vector<LockRequest>> requests = wanted_of(wanted, count);
    if (!requests) return fail(requests.error(), why);
    const Result<AcquireOptions> with = options_of(options, 0);
    if (!with) return fail(with.error(), why);
    TryOptions once;
    once.lease = with->lease;
    once.label = with->label;
    once.outlives_process = with->outlives_process;
    Tried<std::optional<Hold>> tried = locks->locks.try_acquire(*std::move(requests), once);
    if (!tried.ok()) return fail(tried.error(), why);
    *hold = tried->has_value() ? wrapped(**std::move(tried)).release() : nullptr;
    return LOCKSET_OK;
  });
}

void lockset_start_acquire(lockset_locks* locks, const lockset_request* wanted, std::size_t count,
                           std::int64_t wait, const lockset_acquire_options* options,
                           lockset_acquired done, void* data) {
  if (done == nullptr) return;
  char* why = nullptr;
  const lockset_code code = guarded(&why, [&] {
    if (locks == nullptr) return fail(null("`locks`"), &why);
    Result<std::vector<LockRequest>> requests = wanted_of(wanted, count);
    if (!requests) return fail(requests.error(), &why);
    const Result<AcquireOptions> with = options_of(options, wait);
    if (!with) return fail(with.error(), &why);
    std::function<void(Result<Hold>)> then = [done, data](Result<Hold> hold) {
      if (!hold)
        return done(data, code_of(hold.error().code), nullptr, hold.error().message.c_str());
      std::unique_ptr<lockset_hold> made;
      char* no = nullptr;
      const lockset_code wrapping = guarded(&no, [&] {
        made = wrapped(*std::move(hold));
        return LOCKSET_OK;
      });
      done(data, wrapping, made.release(), no);
      std::free(no);
    };
    locks->locks.start_acquire(*std::move(requests), *with, std::move(then));
    return LOCKSET_OK;
  });
  if (code != LOCKSET_OK) done(data, code, nullptr, why == nullptr ? "out of memory" : why);
  std::free(why);
}

lockset_code lockset_release_stamp(lockset_locks* locks, std::int64_t stamp, char** why) {
  return guarded(why, [&] {
    if (locks == nullptr) return fail(null("`locks`"), why);
    const Status status = locks->locks.release_locks(Stamp{stamp});
    return status ? LOCKSET_OK : fail(status.error(), why);
  });
}

lockset_code lockset_break_stamp(lockset_locks* locks, std::int64_t stamp, char** why) {
  return guarded(why, [&] {
    if (locks == nullptr) return fail(null("`locks`"), why);
    const Status status = locks->locks.break_hold(Stamp{stamp});
    return status ? LOCKSET_OK : fail(status.error(), why);
  });
}

std::int64_t lockset_hold_stamp(const lockset_hold* hold) {
  return hold == nullptr ? 0 : hold->hold.stamp().value;
}

std::int64_t lockset_hold_floor(const lockset_hold* hold, const char* name) {
  return hold == nullptr || name == nullptr ? 0 : hold->hold.floor(name).value;
}

std::int32_t lockset_hold_valid(const lockset_hold* hold) {
  return hold != nullptr && hold->hold.valid() ? 1 : 0;
}

std::int32_t lockset_hold_valid_for(const lockset_hold* hold, std::int64_t time) {
  if (hold == nullptr) return 0;
  const Result<Duration> duration = duration_of(time, "the time");
  return duration && hold->hold.valid_for(*duration) ? 1 : 0;
}

lockset_lost_reason lockset_hold_lost_reason(const lockset_hold* hold) {
  if (hold == nullptr) return LOCKSET_NOT_LOST;
  return static_cast<lockset_lost_reason>(hold->hold.lost_reason());
}

lockset_code lockset_hold_on_lost(lockset_hold* hold, void (*lost)(void* data), void* data,
                                  char** why) {
  return guarded(why, [&] {
    if (hold == nullptr) return fail(null("the hold"), why);
    if (lost == nullptr) return fail(null("the callback"), why);
    hold->on_lost.reserve(hold->on_lost.size() + 1);
    hold->on_lost.push_back(std::make_unique<std::stop_callback<std::function<void()>>>(
        hold->hold.lost(), [lost, data] { lost(data); }));
    return LOCKSET_OK;
  });
}

lockset_code lockset_hold_renew(lockset_hold* hold, char** why) {
  return guarded(why, [&] {
    if (hold == nullptr) return fail(null("the hold"), why);
    const Status status = hold->hold.renew();
    return status ? LOCKSET_OK : fail(status.error(), why);
  });
}

lockset_code lockset_hold_release(lockset_hold* hold, char** why) {
  return guarded(why, [&] {
    if (hold == nullptr) return fail(null("the hold"), why);
    const Status status = hold->hold.release();
    return status ? LOCKSET_OK : fail(status.error(), why);
  });
}

lockset_code lockset_hold_upgrade(lockset_hold* hold, std::int32_t* done, char** why) {
  return convert(hold, &Hold::try_upgrade, done, why);
}

lockset_code lockset_hold_downgrade(lockset_hold* hold, std::int32_t* done, char** why) {
  return convert(hold, &Hold::downgrade, done, why);
}

lockset_code lockset_hold_detach(lockset_hold* hold, std::int64_t* stamp, char** why) {
  return guarded(why, [&] {
    if (hold == nullptr) return fail(null("the hold"), why);
    if (stamp == nullptr) return fail(null("`stamp`"), why);
    const Result<Stamp> detached = hold->hold.detach();
    if (!detached) return fail(detached.error(), why);
    *stamp = detached->value;
    return LOCKSET_OK;
  });
}

void lockset_hold_free(lockset_hold* hold) { delete hold; }

lockset_stop* lockset_stop_new() {
  lockset_stop* made = nullptr;
  static_cast<void>(guarded(nullptr, [&] {
    made = new lockset_stop();
    return LOCKSET_OK;
  }));
  return made;
}

void lockset_stop_request(lockset_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}

void lockset_stop_free(lockset_stop* stop) { delete stop; }
// NOLINTEND(readability-identifier-naming)
