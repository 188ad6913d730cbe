#include "backends/zookeeper/config.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace lockset::zookeeper {
namespace {

std::int64_t our_clock_us() {
  using std::chrono::microseconds;
  return std::chrono::duration_cast<microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// How far stamps may fall behind the server's clock before they are raised to it, and how far the
// stamp of a grant may: see ConfigNode::raise_base.
constexpr std::int64_t lag_us = 30'000'000;
constexpr std::int64_t most_lag_us = 120'000'000;

// If the stamps are no further behind the server's clock, they need not be raised.
constexpr std::int64_t fresh_us = 20'000'000;

// A base that leaves room for more zxids than any store will see.
constexpr std::int64_t most_base = std::numeric_limits<std::int64_t>::max() / 2;

}  // namespace

std::shared_ptr<const KnownConfig> ConfigNode::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ConfigNode::saw(std::int64_t zxid, std::int64_t ms) noexcept {
  std::int64_t last = last_zxid_;
  while (zxid > last && !last_zxid_.compare_exchange_weak(last, zxid)) {
  }
  if (ms != 0) clock_ahead_us_ = ms * 1000 - our_clock_us();
}

std::int64_t ConfigNode::server_now_us() const noexcept { return our_clock_us() + clock_ahead_us_; }

std::vector<Request> ConfigNode::reads() const {
  return {get(paths_.config()), get(paths_.settings())};
}

Result<std::shared_ptr<const KnownConfig>> ConfigNode::take(std::span<const Reply> replies,
                                                            ConnectionNumber read_at) {
  for (const Reply& reply : replies) {
    if (!reply.ok()) return error_from(reply.code, where_, Sent::reading);
  }
  std::optional<StoredConfig> stored = config_from(replies[0].text, replies[1].text);
  if (!stored) {
    return Error{Errc::misconfigured,
                 where_ +
                     ": the lock space is of another version of Lockset: use that one, or "
                     "run this version's lockset init"};
  }
  if (stored->layout != newest_layout) {
    return Error{Errc::misconfigured, where_ +
                                          ": the lock space is of an older version of Lockset: run "
                                          "lockset init, which shuts that version out"};
  }
  const NodeStat& stat = replies[0].stat;
  saw(stat.changed, 0);
  // Set before anything is made by this configuration: accounts with new rights find them there.
  sessions_.set_acl(acl_of_locks(stored->rights));
  return keep({*std::move(stored), stat.version, replies[1].stat.version, stat.changed,
               stat.changed_ms, read_at});
}

std::shared_ptr<const KnownConfig> ConfigNode::confirm(const KnownConfig& known,
                                                       ConnectionNumber read_at) {
  KnownConfig again = known;
  again.read_at = std::max(again.read_at, read_at);
  return keep(std::move(again));
}

std::shared_ptr<const KnownConfig> ConfigNode::keep(KnownConfig config) {
  auto kept = std::make_shared<const KnownConfig>(std::move(config));
  const std::lock_guard lock(mutex_);
  // An older answer that arrives late must not bring old settings back. In a store that was
  // restored, the zxid has gone back, too.
  const bool older = seen_ && (seen_->read_at != kept->read_at ? seen_->read_at > kept->read_at
                                                               : seen_->zxid > kept->zxid);
  if (!older) seen_ = kept;
  return kept;
}

Result<std::shared_ptr<const KnownConfig>> ConfigNode::load(TimePoint by) {
  const Result<std::shared_ptr<Session>> session = sessions_.general(by);
  if (!session) return session.error();
  const ConnectionNumber read_at = sessions_.connections();
  std::vector<Request> requests = reads();
  requests.insert(requests.begin(), sync(paths_.config()));
  const Result<Replies> replies = (*session)->run(std::move(requests), by);
  if (!replies) return replies.error();
  return take(std::span(*replies).subspan(1), read_at);
}

Result<std::shared_ptr<const KnownConfig>> ConfigNode::change(const Change& change, TimePoint by) {
  while (true) {
    const Result<std::shared_ptr<const KnownConfig>> now = load(by);
    if (!now) return now.error();
    StoredConfig wanted = (*now)->stored;
    if (!change(wanted, (*now)->zxid)) return *now;
    const std::string text = to_text(wanted);
    const std::string settings = settings_text(wanted);
    std::vector<Request> parts{set(paths_.config(), text, (*now)->version)};
    const bool sets = settings != settings_text((*now)->stored);
    if (sets) parts.push_back(set(paths_.settings(), settings, (*now)->settings_version));
    if (text.size() + settings.size() > most_weight) {
      return Error{Errc::invalid, where_ + ": the configuration would be too large for a node (" +
                                      std::to_string(text.size() + settings.size()) +
                                      " bytes): remove permits or applications"};
    }
    const Result<std::shared_ptr<Session>> session = sessions_.general(by);
    if (!session) return session.error();
    const ConnectionNumber read_at = sessions_.connections();
    Result<Replies> replies = (*session)->run({multi(std::move(parts))}, by);
    if (!replies) return replies.error();
    Reply& reply = replies->front();
    if (reply.code == ZBADVERSION) continue;
    if (reply.code == ZNOAUTH) return not_an_operator(sessions_.user(), where_);
    if (!reply.ok()) return error_from(reply.code, where_, Sent::change);
    const NodeStat& stat = reply.parts[0].stat;
    saw(stat.changed, stat.changed_ms);
    return keep({std::move(wanted), stat.version,
                 sets ? reply.parts[1].stat.version : (*now)->settings_version, stat.changed,
                 stat.changed_ms, read_at});
  }
}

Status ConfigNode::raise_base(std::int64_t least, TimePoint by) {
  // By the zxid of the node itself: the last zxid seen may be from before the store was restored.
  const auto high_enough = [&](const StoredConfig& stored, std::int64_t zxid) {
    const std::int64_t next = stored.base + zxid + 1;
    return next >= least && next >= server_now_us() - fresh_us;
  };
  // Another client may have done it.
  const Result<std::shared_ptr<const KnownConfig>> now = load(by);
  if (!now) return now.error();
  if (high_enough((*now)->stored, (*now)->zxid)) return {};
  // The change has no effect; the server's answer tells its clock and its zxid.
  const Result<std::shared_ptr<const KnownConfig>> asked =
      change([](StoredConfig&, std::int64_t) { return true; }, by);
  if (!asked) return asked.error();
  const std::int64_t zxid = (*asked)->zxid;
  last_zxid_ = zxid;
  if (least > most_base) {
    return Error{Errc::invalid, where_ + ": stamps can't be raised to " + std::to_string(least)};
  }
  const std::int64_t base = std::max(server_now_us(), least) - zxid;
  const Result<std::shared_ptr<const KnownConfig>> raised = change(
      [&](StoredConfig& stored, std::int64_t) {
        if (stored.base >= base || high_enough(stored, zxid)) return false;
        stored.base = base;
        return true;
      },
      by);
  return raised ? Status() : raised.error();
}

Result<std::shared_ptr<const KnownConfig>> ConfigNode::for_stamp(
    std::shared_ptr<const KnownConfig> known, Stamp least, TimePoint by) {
  const std::int64_t next_stamp = known->stored.base + last_zxid() + 1;
  if (next_stamp >= least.value && next_stamp >= server_now_us() - lag_us) return known;
  if (Status raised = raise_base(least.value, by); !raised) {
    const bool in_doubt = raised.error().may_have_applied();
    return Error{in_doubt ? Errc::unavailable : raised.error().code, raised.error().message};
  }
  return seen();
}

bool ConfigNode::too_low(Stamp stamp, std::int64_t ms, Stamp least) noexcept {
  return stamp.value < ms * 1000 - most_lag_us || stamp < least;
}

}  // namespace lockset::zookeeper
