#include "cli/checkup.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <thread>

#include "core/margin.h"
#include "lockset/lock_set.h"

namespace lockset::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Level = Finding::Level;

std::string in_milliseconds(Duration duration) {
  std::array<char, 32> text{};
  const double value = std::chrono::duration<double, std::milli>(duration).count();
  std::snprintf(text.data(), text.size(), "%.*f ms", value < 1 ? 3 : value < 10 ? 1 : 0, value);
  return text.data();
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Finding round_trip(std::vector<Duration> took) {
  std::sort(took.begin(), took.end());
  const Duration median = took[took.size() / 2];
  const std::string text = "median " + in_milliseconds(median) + ", longest " +
                           in_milliseconds(took.back()) + " of " + counted(took.size(), "call");
  constexpr milliseconds slow(100);
  if (median < slow) return {Level::good, "round trip", text};
  return {Level::warning, "round trip",
          text +
              ": each acquire and each release takes at least that; move the store nearer, or "
              "find out what keeps it busy"};
}

// One reading of the store's clock, taken by renewing nothing.
struct Reading {
  TimePoint sent;
  TimePoint received;
  std::int64_t store_us = 0;
};

Result<Reading> read_clock(Backend& backend, Duration io_timeout) {
  const Owner owner{"lockset", "doctor", 0, "lockset doctor"};
  Reading reading;
  reading.sent = BootClock::now();
  const Result<RenewReply> reply = backend.renew(owner, {}, reading.sent + io_timeout);
  if (!reply) return reply.error();
  reading.received = BootClock::now();
  reading.store_us = reply->store_time_us;
  return reading;
}

// Only rates matter: a lease is a length of time, not a time of day.
Finding clock_rate(const Reading& first, const Reading& second) {
  const Duration ours = second.sent - first.sent;
  const Duration theirs = microseconds(second.store_us - first.store_us);
  const Duration blur = (first.received - first.sent) + (second.received - second.sent);
  const Duration apart = theirs > ours ? theirs - ours : ours - theirs;
  const std::string both =
      in_milliseconds(theirs) + " passed there and " + in_milliseconds(ours) + " here";
  if (apart <= ours / margin_part + blur) return {Level::good, "clock rate", both};
  return {Level::warning, "clock rate",
          both + ": leases end by that clock; find out what sets it or slows it down"};
}

Finding permits(const SpaceConfig& config) {
  const Permits fallback = config.permits_of(default_permits_name);
  std::string text = "read " + std::to_string(fallback.read) + ", write " +
                     std::to_string(fallback.write) + " by default";
  const std::size_t named = config.permits.size() - config.permits.count(default_permits_name);
  if (named > 0) text += "; " + counted(named, "name") + " of their own";
  if (fallback.read == 1) {
    text += "; a read excludes other reads until lockset permits set '*' --read N";
  }
  return {Level::good, "permits", text};
}

Finding leases(const SpaceConfig& config, const Traits& traits) {
  return {Level::good, "leases",
          "at most " + format_duration(config.max_lease) +
              (traits.permanent_leases ? ", or none" : "; holds without a lease are refused")};
}

Finding waking(const Traits& traits) {
  std::string text =
      traits.push_wakeup ? "waiters are woken when a hold ends" : "waiters ask again and again";
  if (traits.queued_wakeup) text += ", in the order of their coming";
  return {Level::good, "waiting", text};
}

Finding holds(const Inspection& inspection, const Traits& traits) {
  std::size_t endless = 0;
  for (const HoldInfo& hold : inspection.holds) endless += hold.remaining ? 0 : 1;
  std::string text = counted(inspection.holds.size(), "hold");
  if (endless > 0) text += ", " + std::to_string(endless) + " without a lease";
  if (traits.lists_waiters) text += ", " + counted(inspection.waiters.size(), "waiter");
  return {Level::good, "holds", text};
}

}  // namespace

Status check_up(Backend& backend, Duration io_timeout, std::vector<Finding>& findings) {
  constexpr std::size_t calls = 9;
  constexpr milliseconds window(250);
  // The first call of each kind may open a connection.
  if (const Result<Reading> warm = read_clock(backend, io_timeout); !warm) return warm.error();
  Result<SpaceConfig> config = backend.load_config(BootClock::now() + io_timeout);
  if (!config) return config.error();

  const Result<Reading> first = read_clock(backend, io_timeout);
  if (!first) return first.error();
  std::vector<Duration> took;
  while (took.size() < calls) {
    const TimePoint sent = BootClock::now();
    config = backend.load_config(sent + io_timeout);
    if (!config) return config.error();
    took.push_back(BootClock::now() - sent);
  }
  findings.push_back(round_trip(std::move(took)));

  std::this_thread::sleep_for(first->sent + window - BootClock::now());
  const Result<Reading> second = read_clock(backend, io_timeout);
  if (!second) return second.error();
  // If there is nothing to renew, the store may not even have been asked.
  if (second->store_us != 0) findings.push_back(clock_rate(*first, *second));

  const Traits traits = backend.traits();
  findings.push_back(permits(*config));
  findings.push_back(leases(*config, traits));
  // A store that wakes nobody itself has a finding of its own about waiting. With two stores, its
  // subject is for example "old store: waiting".
  if (std::none_of(findings.begin(), findings.end(),
                   [](const Finding& each) { return each.subject.ends_with("waiting"); })) {
    findings.push_back(waking(traits));
  }
  const Result<Inspection> inspection = backend.inspect({}, BootClock::now() + io_timeout);
  if (!inspection) return inspection.error();
  findings.push_back(holds(*inspection, traits));
  return {};
}

}  // namespace lockset::cli
