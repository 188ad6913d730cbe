// One backend under chaos: a space on a private server (or file) of its own, the ways for
// workers to reach it, and the faults that it can be given.
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
  load,       // work beside: VACUUM, sweeps, connections used up
  state,      // the store loses state that it may lose
  clock,      // the server's clock steps
  partition,  // members of the store don't reach each other
  restore,    // wiped and made anew, or put back from a backup
  unfit,      // for a while it is not fit to grant anything: read-only
};
std::string_view to_string(FaultKind kind) noexcept;

// begin() and end() in turn, by one thread for all faults; those of different groups may be under
// way together. Both block until it is so, and throw std::runtime_error when it can't be done.
struct Fault {
  // "server-kill": letters, digits and -, unique in a store.
  std::string name;
  FaultKind kind = FaultKind::network;
  // How long it is to last between begin and end; both 0 for what is over at once.
  Duration shortest{};
  Duration longest{};
  // The dice decide the particulars; returns them, for people: "replies cut after 17 bytes".
  std::function<std::string(Dice& dice)> begin;
  // To call it without a begin() does no harm.
  std::function<void()> end = [] {};
  // Not together with others of the same group: there is one server to kill.
  std::string group;
  // How long end() takes besides; a short run leaves such a fault out.
  Duration takes{};
  // How often it has struck since begin(); empty: it is one blow.
  std::function<std::size_t()> hits{};
  // Another name by which it may be asked for, not unique: "server-kill" for "old-server-kill".
  std::string also{};
};

// What a run is for; decides which faults there are and what the checker asks.
enum class Scenario : std::uint8_t {
  // Every fault that Lockset promises to bear.
  safe,
  // The server's clock steps forward by more than the margin: exclusion may break (semantics
  // 20), and is not judged; the fenced resource stays right, and the clients notice.
  clock_forward,
};

struct StoreOptions {
  Scenario scenario = Scenario::safe;
  // Worker i uses the i-th of these ways to the server, and around again.
  std::size_t proxies = 4;
};

// What the store itself still has when all is over, read past the code under test.
struct Left {
  std::uint64_t holds = 0;
  std::uint64_t waiters = 0;
  // Of the workers to the server, sessions included.
  std::uint64_t connections = 0;
};

// For one thread.
class Store {
 public:
  // "sqlite", "postgresql:advisory", "mariadb:unique-index", ... in a fixed order.
  static std::vector<std::string> names();
  // The full name of one; "postgresql" is its default strategy. Unset: there is no such store.
  static std::optional<std::string> find(const std::string& name);
  // Why it can't run here, in one line that says what to do; unset if it can. Quick.
  static std::optional<std::string> unavailable(const std::string& name,
                                                const StoreOptions& options = {});
  // Starts the server and makes the space. Throws std::runtime_error. `name` as from find().
  static std::unique_ptr<Store> start(const std::string& name, const StoreOptions& options = {});

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  // Stops the server and removes everything.
  virtual ~Store() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  // "PostgreSQL 15.8", for the report.
  [[nodiscard]] virtual std::string version() const = 0;
  // The space's address for this worker: through a proxy, if there is a network.
  [[nodiscard]] virtual std::string worker_url(std::size_t worker) const = 0;
  // Addresses of processes beside the workers, that are not killed or stopped: each keeps long
  // leases on names of their own (names.h), for what happens only to those.
  [[nodiscard]] virtual std::vector<std::string> keeper_urls() const { return {}; }
  [[nodiscard]] virtual Duration long_lease() const { return 15 * lease(); }
  // Past the proxies, for the observer.
  [[nodiscard]] virtual std::string direct_url() const = 0;
  // Of the shortest leases that make sense here.
  [[nodiscard]] virtual Duration lease() const = 0;
  // Constant during the store's life.
  [[nodiscard]] virtual std::vector<Fault>& faults() = 0;
  // Faults that this machine can't do, each with the reason: "disk-full: ...".
  [[nodiscard]] virtual std::vector<std::string> missing() const { return {}; }
  // Whether its clients may be told for a while that there is no space, or none that is fit, while
  // a fault of the kinds restore and unfit is under way.
  [[nodiscard]] virtual bool becomes_unfit() const { return true; }
  // Ends all faults, and waits until the server answers and nothing is late any more.
  virtual void settle() = 0;
  // A fault that ends holds on purpose, as a person who breaks them may, says so by this: release
  // before it, and the answer afterwards. Set before the first begin().
  using Record = std::function<void(TimePoint at, history::What what)>;
  void record_with(Record record) { record_ = std::move(record); }
  // Whoever changes permits holds it meanwhile: a restore changes them all.
  [[nodiscard]] std::mutex& permits_turn() noexcept { return permits_turn_; }
  // What is there now.
  [[nodiscard]] virtual Left count() = 0;
  // REQUIRES: settle() is done and the workers have ended. Sweeps the store until nothing is
  // left of dead clients, for some 20 s at most: then what is left is a leak.
  [[nodiscard]] virtual Left left() = 0;
  // How this store's histories are judged in this scenario.
  [[nodiscard]] virtual history::Rules rules() const { return {}; }
  // What may be broken here without being Lockset's fault: not judged. In the safe scenario
  // nothing.
  [[nodiscard]] virtual std::vector<history::Invariant> not_judged() const { return {}; }
  // Copies what the server has logged; for a run that found something.
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
