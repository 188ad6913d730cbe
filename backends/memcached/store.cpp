#include "backends/memcached/store.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "backends/memcached/keys.h"
#include "backends/server/address_parts.h"
#include "core/time_math.h"

namespace lockset::memcached {
namespace {

using std::chrono::microseconds;

// Key, flags and the server's own data are in the item as well.
constexpr std::size_t overhead = 512;

// Lost ones against other clients, before this one pauses.
constexpr int most_races = 10;

std::string setting(const std::map<std::string, std::string>& settings, const char* name) {
  const auto one = settings.find(name);
  return one == settings.end() ? std::string() : one->second;
}

// The error of a change that the caller did not ask for: its own request was not sent.
Error unapplied(Error error) {
  if (error.code == Errc::indeterminate) error.code = Errc::unavailable;
  return error;
}

}  // namespace

Status refuse_unsafe(const std::map<std::string, std::string>& settings, const Options& options) {
  const auto misconfigured = [&](const char* why) {
    return Error{Errc::misconfigured, options.shown() + ": " + why};
  };
  if (setting(settings, "cas_enabled").empty()) {
    return Error{Errc::unavailable, options.shown() + ": the server's settings are incomplete"};
  }
  if (setting(settings, "cas_enabled") != "yes") {
    return misconfigured("the server has no cas: start it without -C");
  }
  const std::string file = setting(settings, "memory_file");
  if (!file.empty() && file != "(null)") {
    return misconfigured(
        "the server keeps its memory in a file (-e), and may come back with an old one, which no "
        "client can tell: start it without -e");
  }
  return {};
}

Store::Store(Options options)
    : options_(std::move(options)),
      time_(ServerTime::of(addresses::show_host(options_.host, options_.port))),
      lanes_(
          options_.pool,
          [this] {
            const TimePoint by = later(BootClock::now(), options_.connect_timeout);
            return Connection::connect(options_, std::min(by, open_by_.load()));
          },
          options_.shown()) {}

std::optional<Seen> Store::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void Store::saw(const std::string& life, const Step& step, TimePoint at) {
  const State& state = step.state;
  const std::lock_guard lock(mutex_);
  if (!seen_) seen_.emplace();
  // Another thread may have read a newer state, and come before this one.
  if (state.config.version < seen_->config.version || state.last_stamp < seen_->last_stamp) return;
  *seen_ = {life, state.config, state.last_stamp, std::max(at, seen_->at),
            state.longest_us > step.now.lower_us};
}

Error Store::forgotten() const {
  return Error{Errc::misconfigured,
               options_.shown() +
                   ": there is no lock space of this name: run lockset init (if there was one, the "
                   "server has forgotten it; a program that has it open puts it back)"};
}

Result<Store::View> Store::look(Connection& connection, TimePoint by) {
  const std::string pointer = pointer_key(options_.space);
  std::optional<Seen> known = seen();
  View view;
  // The life that is known is the present one, nearly always.
  std::string life = known ? known->life : std::string();
  bool missing = false;
  for (int tries = 0; tries < 6; ++tries) {
    std::vector<std::string> keys = {pointer};
    if (!life.empty()) keys.push_back(state_key(options_.space, life));
    Result<std::map<std::string, Item>> items = connection.get(keys, by);
    if (!items) return items.error();
    const auto named = items->find(pointer);
    if (named == items->end()) {
      // A connection that was reset looks the same.
      if (missing) return View{};
      missing = true;
      if (const auto stats = connection.stats("", by); !stats) return stats.error();
      continue;
    }
    if (named->second.value != life) {
      life = named->second.value;
      if (life.empty()) break;
      continue;
    }
    view.life = life;
    const auto item = items->find(keys.back());
    if (item == items->end()) return view;
    view.cas = item->second.cas;
    std::string schema;
    view.state = decode(item->second.value, schema);
    if (view.state && view.cas != 0) return view;
    return Error{Errc::misconfigured, options_.shown() + ": the space is of version " +
                                          in_quotes(schema) +
                                          " of the schema, and this program serves version " +
                                          std::string(schema_version) + ": use another space"};
  }
  return Error{Errc::misconfigured, options_.shown() + ": the item " + pointer +
                                        " holds something foreign: use another space"};
}

Status Store::restore(Connection& connection, const View& view, TimePoint by) {
  if (view.life.empty()) {
    const Result<bool> added =
        connection.add(pointer_key(options_.space), Token::random().hex(), by);
    if (!added) return added.error();
    return {};  // whoever was faster: the next look finds its state missing
  }
  // After it was seen to be missing: what anybody was granted was asked for before this.
  const Result<Moment> now = time_->read_now(connection, by);
  if (!now) return now.error();
  State state;
  state.config.version = now->upper_us;
  state.last_stamp = Stamp{now->upper_us};
  state.process = now->process;
  state.born_us = now->upper_us;
  const std::optional<Seen> known = seen();
  if (known) {
    state.config = known->config;
    // What was lost may have had later stamps. The clock is past them by the end of the quarantine,
    // unless they are ahead of it: then each is one more than the one before.
    const bool ahead = known->last_stamp.value > now->upper_us;
    state.last_stamp = ahead ? Stamp{known->last_stamp.value + 1'000'000'000} : state.last_stamp;
    state.quarantine_us = now->upper_us + micros(known->longest(BootClock::now()));
  } else if (!options_.first) {
    state.quarantine_us = now->upper_us + micros(longest_lease);
  }
  const Result<bool> added =
      connection.add(state_key(options_.space, view.life), encode(state), by);
  if (!added) return added.error();
  return {};
}

void Store::recover(Step& step, const std::string& life, const std::optional<Seen>& known) const {
  State& state = step.state;
  const bool moved = state.process != step.now.process;
  const bool other = known && !known->life.empty() && known->life != life;
  const bool behind = known && (state.config.version < known->config.version ||
                                state.last_stamp < known->last_stamp);
  if (!moved && !other && !behind) return;
  // What this client knew of another life does not depend on what is allowed in this one.
  Duration longest = moved || behind ? state.config.max_lease : Duration::zero();
  if (known) {
    longest = std::max(longest, known->longest(BootClock::now()));
    if (state.config.version < known->config.version) {
      std::map<std::string, std::int64_t, std::less<>> epochs = std::move(state.config.epochs);
      state.config = known->config;
      for (const auto& [app, epoch] : epochs) {
        std::int64_t& mine = state.config.epochs[app];
        mine = std::max(mine, epoch);
      }
      step.changed = true;
    }
    if (state.last_stamp < known->last_stamp) {
      const bool ahead = known->last_stamp.value > step.now.upper_us;
      state.last_stamp = Stamp{known->last_stamp.value + (ahead ? 1'000'000'000 : 0)};
      step.changed = true;
    }
  }
  // What this client knew of another life was granted before this one began.
  const std::int64_t since = moved || !other ? step.now.upper_us : state.born_us;
  std::int64_t until = since + micros(longest);
  if (moved || behind) until = std::max(until, state.longest_us);
  if (until > std::max(state.quarantine_us, step.now.lower_us)) step.begin_quarantine(until);
  if (moved) {
    state.process = step.now.process;
    step.changed = true;
  }
}

Status Store::check_size(const std::string& text, bool grows) const {
  const std::size_t most = grows ? most_bytes_ / 4 * 3 : most_bytes_.load();
  if (text.size() <= most) return {};
  return Error{Errc::unavailable,
               options_.shown() + ": the space would take " + std::to_string(text.size()) +
                   " bytes, and it has room for " + std::to_string(most) +
                   " (of item_size_max, -I); nothing was applied: use a store without this limit"};
}

Status Store::run_once(Connection& connection, const Ask& ask,
                       const std::function<Status(Step&)>& make, server::Attempt& attempt) {
  const auto broken = [&](const Error& error) -> Status {
    if (!connection.hung_up()) return error;
    attempt = server::Attempt::broken;
    // The others were probably lost with it, and don't show it.
    lanes_.common.close_idle();
    lanes_.renewal.close_idle();
    return error;
  };
  int races = 0;
  for (int restorations = 0;;) {
    // Before the look: another thread may see a newer state while this one is on its way.
    const std::optional<Seen> known = seen();
    const TimePoint asked = BootClock::now();
    Result<View> view = look(connection, ask.by);
    if (!view) return broken(view.error());
    if (!view->state) {
      if (!known) return forgotten();
      if (++restorations > 10) {
        return Error{Errc::unavailable, options_.shown() +
                                            ": the server forgets the space as soon "
                                            "as it is put back: give it more memory"};
      }
      if (Status status = restore(connection, *view, ask.by); !status)
        return unapplied(status.error());
      continue;
    }
    Result<Moment> now =
        ask.exact_time ? time_->now(connection, ask.by) : time_->about_now(connection, ask.by);
    const bool strange =
        now && (now->process != view->state->process || (known && known->life != view->life) ||
                (known && view->state->config.version < known->config.version) ||
                (known && view->state->last_stamp < known->last_stamp));
    if (strange) now = time_->read_now(connection, ask.by);
    if (!now) return broken(now.error());
    Step step(*std::move(view->state), *std::move(now));
    const std::string item = state_key(options_.space, view->life);
    if (strange) recover(step, view->life, known);
    // Written by itself: the step may be an error in it.
    const bool recovered = step.changed;
    if (!recovered) {
      if (Status status = make(step); !status) return status;
    }
    if (step.changed) {
      const std::string text = encode(step.state);
      if (Status status = check_size(text, ask.grows && !recovered); !status) return status;
      const Result<bool> replaced = connection.replace(item, text, view->cas, ask.by);
      if (!replaced) return recovered ? unapplied(replaced.error()) : replaced.error();
      if (!*replaced) {
        // The other one has got on. With a pause each time, it would win against us for ever.
        if (++races < most_races && BootClock::now() < ask.by) continue;
        attempt = server::Attempt::collided;
        return Error{
            Errc::unavailable,
            options_.shown() + ": other clients were faster each time; nothing was applied"};
      }
    }
    saw(view->life, step, asked);
    if (!recovered) return {};
  }
}

Status Store::run_any(const Ask& ask, const std::function<Status(Step&)>& make) {
  return server::call_with_retries(
      Sent::reading, ask.by, [&] { return lanes_.take(ask.lane, ask.by); },
      [&](Lanes::Lease& lease, server::Attempt& attempt) {
        Status status = run_once(*lease, ask, make, attempt);
        // A change without an answer is not repeated.
        if (attempt == server::Attempt::last && lease->hung_up()) lease.broken();
        return status;
      });
}

Status Store::refresh_time(TimePoint by) {
  Result<Lanes::Lease> lease = lanes_.take(Lane::common, by);
  if (!lease) return lease.error();
  Status status = time_->refresh(**lease, by);
  if (!status && (*lease)->hung_up()) lease->broken();
  return status;
}

Status Store::check(TimePoint by) {
  open_by_ = by;
  {
    Result<Lanes::Lease> lease = lanes_.common.take(by);
    if (!lease) return lease.error();
    const auto settings = (*lease)->stats("settings", by);
    if (!settings) {
      if ((*lease)->hung_up()) lease->broken();
      return settings.error();
    }
    if (Status fit = refuse_unsafe(*settings, options_); !fit) return fit;
    const long most = std::strtol(setting(*settings, "item_size_max").c_str(), nullptr, 10);
    most_bytes_ = static_cast<std::size_t>(std::max(most, 1024L)) - overhead;
  }
  const Ask first{.by = by, .exact_time = true};
  if (Status status = run_any(first, [](Step&) { return Status(); }); !status) return status;
  // Renewals also have a connection from the start, so that neither lane is left without one if the
  // server accepts no more.
  if (const Result<Lanes::Lease> lease = lanes_.renewal.take(by); !lease) return lease.error();
  open_by_ = TimePoint::max();
  return {};
}

Status Store::init(TimePoint by) {
  open_by_ = by;
  Result<Lanes::Lease> lease = lanes_.common.take(by);
  if (!lease) return lease.error();
  Connection& connection = **lease;
  const auto settings = connection.stats("settings", by);
  if (!settings) return settings.error();
  if (Status fit = refuse_unsafe(*settings, options_); !fit) return fit;
  for (;;) {
    const Result<View> view = look(connection, by);
    if (!view) return view.error();
    if (view->state) return {};
    if (Status status = restore(connection, *view, by); !status) return status;
  }
}

}  // namespace lockset::memcached
