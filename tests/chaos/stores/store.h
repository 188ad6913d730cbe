// One backend under chaos: a space on a private server (or file), the ways for workers to reach it,
// and its faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "history/check.h"
#include "history/event.h"
#include "lockset/clock.h"

namespace lockset::chaos {

using Dice = std::mt19937_64;

enum class FaultKind : std::uint8_t {
  network,    // between the workers and the server
  server,     // killed, paused, restarted
  session,    // connections and sessions ended by the server
  load,       // additional work: VACUUM, sweeps, connections used up
  state,      // the store loses state, as far as it may
  clock,      // the server's clock steps
  partition,  // members of the store don't reach each other
  restore,    // wiped and made anew, or put back from a backup
  unfit,      // for a while it is not fit to grant anything: read-only
};
std::string_view to_string(FaultKind kind) noexcept;

// begin() and end() alternate; one thread calls them for all faults. Faults of different groups may
// be under way together. Both block until they are done, and throw std::runtime_error if they fail.
struct Fault {
  // "server-kill": letters, digits and -, unique in a store.
  std::string name;
  FaultKind kind = FaultKind::network;
  // How long it should last between begin and end; both 0 if it is over at once.
  Duration shortest{};
  Duration longest{};
  // `dice` decides the details; returns them for people: "replies cut after 17 bytes".
  std::function<std::string(Dice& dice)> begin;
  // Harmless without a begin().
  std::function<void()> end = [] {};
  // Never together with others of the same group: there is one server to kill.
  std::string group;
  // How long end() takes in addition; a short run leaves such a fault out.
  Duration takes{};
  // How often it has affected somebody since begin(); empty: it strikes once.
  std::function<std::size_t()> hits{};
  // Another, not unique, name for --faults: "server-kill" for "old-server-kill".
  std::string also{};
};

// How long a server may take on a busy machine to notice that a connection is over, or to end one.
constexpr Duration time_to_cut = std::chrono::seconds(2);

// The purpose of a run; decides which faults there are and what the checker checks.
enum class Scenario : std::uint8_t {
  // Every fault that Lockset promises to survive.
  safe,
  // The server's clock steps forward by more than the margin: exclusion may break (semantics 20),
  // and is not checked; the fenced resource stays correct, and the clients notice.
  clock_forward,
};

struct StoreOptions {
  Scenario scenario = Scenario::safe;
  // Worker i uses the i-th of these ways to the server, modulo their number.
  std::size_t proxies = 4;
};

// What the store itself still contains after everything ended, read without the code under test.
struct Left {
  std::uint64_t holds = 0;
  std::uint64_t waiters = 0;
  // From the workers to the server, including sessions.
  std::uint64_t connections = 0;
};

// For one thread.
class Store {
 public:
  // "sqlite", "postgresql:advisory", "mariadb:unique-index", ... in a fixed order.
  static std::vector<std::string> names();
  // The full name of a store; "postgresql" means its default strategy. Unset: there is no such
  // store.
  static std::optional<std::string> find(const std::string& name);
  // Why it can't run here, in one line that says what to do; unset if it can. Quick.
  static std::optional<std::string> unavailable(const std::string& name,
                                                const StoreOptions& options = {});
  // Starts the server and makes the space. Throws std::runtime_error. `name` as returned by find().
  static std::unique_ptr<Store> start(const std::string& name, const StoreOptions& options = {});

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  // Stops the server and removes everything.
  virtual ~Store() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // "PostgreSQL 15.8", for the report.
  [[nodiscard]] virtual std::string version() const = 0;
  // The space's address for this worker: through a proxy if there is a network.
  [[nodiscard]] virtual std::string worker_url(std::size_t worker) const = 0;
  // Addresses of additional processes, which are not killed or stopped: each keeps long leases on
  // separate names (names.h), to test what can only happen to those.
  [[nodiscard]] virtual std::vector<std::string> keeper_urls() const { return {}; }
  [[nodiscard]] virtual Duration long_lease() const { return 15 * lease(); }
  // Without the proxies, for the observer.
  [[nodiscard]] virtual std::string direct_url() const = 0;
  // One of the shortest leases that make sense here.
  [[nodiscard]] virtual Duration lease() const = 0;
  // Constant during the store's life.
  [[nodiscard]] virtual std::vector<Fault>& faults() = 0;
  // Faults that this machine can't do, each with the reason: "disk-full: ...".
  [[nodiscard]] virtual std::vector<std::string> missing() const { return {}; }
  // Whether, during a fault of the kinds restore and unfit, its clients may get the error that
  // there is no space, or no fit one.
  [[nodiscard]] virtual bool becomes_unfit() const { return true; }
  // Ends all faults, and waits until the server answers and no request is late any more.
  virtual void settle() = 0;
  // A fault that ends holds on purpose, like a person who breaks them, reports it by this: a
  // release before it, and the answer afterwards. Set before the first begin().
  using Record = std::function<void(TimePoint at, history::What what)>;
  void record_with(Record record) { record_ = std::move(record); }
  // Held while permits are changed: a restore changes all of them.
  [[nodiscard]] std::mutex& permits_turn() noexcept { return permits_turn_; }
  // What is there at the moment.
  [[nodiscard]] virtual Left count() = 0;
  // REQUIRES: settle() is done and the workers have ended. Sweeps the store until nothing is left
  // of dead clients, for at most some 20 s: whatever is left then is a leak.
  [[nodiscard]] virtual Left left() = 0;
  // The rules for this store's histories in this scenario.
  [[nodiscard]] virtual history::Rules rules() const { return {}; }
  // Invariants that may be broken here although Lockset is right: not checked. None in the safe
  // scenario.
  [[nodiscard]] virtual std::vector<history::Invariant> not_judged() const { return {}; }
  // Copies the server's logs; for a run that found something.
  virtual void save_logs(const std::filesystem::path& /*folder*/) {}

 protected:
  void record(history::What what) const { record_at(BootClock::now(), std::move(what)); }
  void record_at(TimePoint at, history::What what) const {
    if (record_) record_(at, std::move(what));
  }

 private:
  Record record_;
  std::mutex permits_turn_;
};

}  // namespace lockset::chaos
