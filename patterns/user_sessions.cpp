#include "lockset/patterns/user_sessions.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

namespace lockset {

namespace {

// Its label fits into what a store keeps, with room to spare.
constexpr std::size_t max_session_bytes = 200;
// Between a try that met somebody and the look at who it was, the holder may have gone.
constexpr int tries = 3;

std::string utc(std::chrono::system_clock::time_point moment) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), size};
}

const LockRequest* find(std::span<const LockRequest> items, std::string_view name) {
  const auto at = std::ranges::find(items, name, &LockRequest::name);
  return at == items.end() ? nullptr : &*at;
}

bool has_all(const HoldInfo& hold, const LockSet& set) {
  return std::ranges::all_of(set.items(), [&](const LockRequest& item) {
    const LockRequest* const held = find(hold.items, item.name);
    return held != nullptr && (held->mode == Mode::write || item.mode == Mode::read);
  });
}

}  // namespace

std::string UserSession::label() const { return user + " (session " + id + ")"; }

std::string EditConflict::text() const {
  std::string text;
  for (const HoldInfo& hold : holds) {
    for (const LockRequest& item : hold.items) {
      text += (text.empty() ? "" : "\n") + in_quotes(item.name) + " is locked by " +
              hold.owner.label + " since " + utc(hold.since);
    }
  }
  return text.empty() ? "somebody had it until just now: try again" : text;
}

Status UserSessions::check(const UserSession& session) const {
  for (const std::string* part : {&session.user, &session.id}) {
    if (Status status = check_name(*part); !status) {
      return Error{Errc::invalid,
                   "a user or session of 1 to 255 bytes without control characters "
                   "is needed: " +
                       status.error().message};
    }
    if (part->size() > max_session_bytes) {
      return Error{Errc::invalid, "a user or session may have " +
                                      std::to_string(max_session_bytes) + " bytes at most"};
    }
  }
  return {};
}

bool UserSessions::is_of(const HoldInfo& hold, const UserSession& session) const {
  return hold.owner.app == locks_->app() && hold.owner.label == session.label();
}

Result<EditConflict> UserSessions::in_the_way(const LockSet& set) {
  EditConflict conflict;
  const auto known = [&](Stamp stamp) {
    return std::ranges::find(conflict.holds, stamp, &HoldInfo::stamp) != conflict.holds.end();
  };
  for (const LockRequest& item : set.items()) {
    Result<Inspection> seen =
        locks_->inspect({.match = InspectQuery::Match::name, .text = item.name});
    if (!seen) return std::move(seen).error();
    for (HoldInfo& hold : seen->holds) {
      if (!known(hold.stamp)) conflict.holds.push_back(std::move(hold));
    }
  }
  return conflict;
}

Result<EditOutcome> UserSessions::take(const UserSession& session,
                                       std::vector<LockRequest> wanted) {
  if (Status status = check(session); !status) return std::move(status).error();
  Result<LockSet> set = LockSet::make(std::move(wanted));
  if (!set) return std::move(set).error();
  for (const LockRequest& item : set->items()) {
    if (!item.name.starts_with(settings_.prefix)) {
      return Error{Errc::invalid, in_quotes(item.name) + " does not begin with " +
                                      in_quotes(settings_.prefix) + ", the prefix of all sessions"};
    }
  }
  EditConflict conflict;
  for (int i = 0; i < tries; ++i) {
    auto tried = locks_->try_acquire(
        *set, {.lease = settings_.timeout, .label = session.label(), .outlives_process = true});
    if (!tried.ok()) return std::move(tried).error();
    if (tried->has_value()) {
      // A detached hold is not renewed by this process, and not released with it.
      Result<Stamp> stamp = (*tried)->detach();
      if (!stamp) return std::move(stamp).error();
      return EditOutcome(*stamp);
    }
    Result<EditConflict> seen = in_the_way(*set);
    if (!seen) return std::move(seen).error();
    conflict = std::move(*seen);
    const auto own = std::ranges::find_if(conflict.holds, [&](const HoldInfo& hold) {
      return is_of(hold, session) && has_all(hold, *set);
    });
    if (own != conflict.holds.end()) {
      const Result<Duration> renewed = locks_->renew_locks(own->stamp, settings_.timeout);
      if (renewed) return EditOutcome(own->stamp);
      if (renewed.error().code != Errc::not_held) return renewed.error();
      continue;  // it ended meanwhile
    }
    if (!conflict.holds.empty()) break;
  }
  // Only what is in the way, not the rest of those sets.
  for (HoldInfo& hold : conflict.holds) {
    std::erase_if(hold.items, [&](const LockRequest& item) {
      return find(set->items(), item.name) == nullptr;
    });
  }
  return EditOutcome(std::move(conflict));
}

Result<std::vector<HoldInfo>> UserSessions::held_by(const UserSession& session) {
  if (Status status = check(session); !status) return std::move(status).error();
  InspectQuery query;
  if (!settings_.prefix.empty()) {
    query = {.match = InspectQuery::Match::prefix, .text = settings_.prefix};
  }
  Result<Inspection> seen = locks_->inspect(query);
  if (!seen) return std::move(seen).error();
  std::erase_if(seen->holds, [&](const HoldInfo& hold) { return !is_of(hold, session); });
  return std::move(seen->holds);
}

Result<std::size_t> UserSessions::touch(const UserSession& session) {
  Result<std::vector<HoldInfo>> held = held_by(session);
  if (!held) return std::move(held).error();
  std::size_t renewed = 0;
  for (const HoldInfo& hold : *held) {
    const Result<Duration> lease = locks_->renew_locks(hold.stamp, settings_.timeout);
    if (!lease && lease.error().code != Errc::not_held) return lease.error();
    if (lease) ++renewed;
  }
  return renewed;
}

Result<std::size_t> UserSessions::release_all(const UserSession& session) {
  Result<std::vector<HoldInfo>> held = held_by(session);
  if (!held) return std::move(held).error();
  std::size_t released = 0;
  std::optional<Error> trouble;
  for (const HoldInfo& hold : *held) {
    const Status status = locks_->release_locks(hold.stamp);
    if (status) {
      ++released;
    } else if (status.error().code != Errc::not_held) {
      trouble = status.error();
    }
  }
  if (trouble) return std::move(*trouble);
  return released;
}

}  // namespace lockset
