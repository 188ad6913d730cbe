// The backend over one space of a Redis server. docs/backends/redis.md describes how it works; the
// scripts (scripts.h) keep the rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/record.h"
#include "backends/redis/store.h"
#include "backends/redis/waiting.h"
#include "lockset/backend.h"

namespace lockset::redis {

class RedisBackend final : public Backend {
 public:
  explicit RedisBackend(std::unique_ptr<Store> store);

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<ReregisterOutcome> reregister(const Owner& owner, const ReregisterRequest& request,
                                       TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<std::vector<bool>> release_all(std::span<const HoldRef> holds, std::string_view app,
                                        TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  bool has_changed(WaitTicket& ticket, TimePoint since) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  class Ticket;
  struct Renewing;
  // An ended hold that still has to be tidied up.
  struct Ended {
    std::string stamp;
    std::string record;
  };

  // --- acquire.cpp ---
  Result<AcquireOutcome> attempt(const AcquireRequest& request,
                                 const std::shared_ptr<Ticket>& ticket);
  // `what` does not happen while it lasts.
  Error quarantine(const Reply& reply, std::string_view what) const;
  Error stamps_used_up() const;
  AcquireOutcome granted(const Reply& reply, const AcquireRequest& request);
  AcquireOutcome busy(const Reply& reply, const AcquireRequest& request,
                      std::shared_ptr<Ticket> ticket) const;

  // --- holds.cpp ---
  Result<bool> end_hold(const HoldRef& hold, std::optional<std::string_view> app, TimePoint by);
  Result<bool> ended(const Reply& reply, bool ours);
  // The store's record of each of these holds; unset if there is none.
  Result<std::vector<std::optional<Record>>> look_up(const std::vector<Stamp>& stamps,
                                                     TimePoint by);
  Result<std::size_t> remove(const std::vector<Ended>& ended, TimePoint by);
  // Removes, among these ids and records of waiters, those of dead clients.
  Status forget_waiters(const Reply& dead, TimePoint by);

  // --- renew.cpp ---
  Status renew_some(const Owner& owner, std::span<Renewing> some, RenewReply& reply, TimePoint by);

  // A reclaim under way.
  struct Reclaiming {
    std::string app;
    std::int64_t epoch = 0;
    std::string from;   // of the next page
    std::string least;  // the lowest stamp that matters
    std::size_t count = 0;
  };

  std::unique_ptr<Store> store_;
  server::Listener listener_;
  std::mutex reclaiming_mutex_;
  Reclaiming reclaiming_;
  // Where the next sweeps continue, among the waiters and among the fields of the space.
  std::atomic<std::uint64_t> next_waiters_ = 0;
  std::atomic<std::uint64_t> next_traces_ = 0;
};

// A script stalls all clients while it runs, so it gets at most this many.
inline constexpr std::size_t most_holds = 250;
inline constexpr std::size_t most_keys = 2000;

// Adds the keys of these names in the order that the scripts expect: all of one kind, then all of
// the next.
void add_keys(Call& call, const Keys& keys, std::span<const LockRequest> items, bool lines);

// The trace in the part of an answer that begins at this element.
Trace trace_from(const Reply& reply, std::size_t at);

inline std::int64_t micros(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

}  // namespace lockset::redis
