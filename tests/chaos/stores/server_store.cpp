#include "tests/chaos/stores/server_store.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/quiet.h"
#include "tests/support/wait.h"
#include "tools/child.h"

namespace lockset::chaos {

using namespace std::chrono_literals;

namespace {

// How far the clock goes back at most in one step of the safe scenario. A hold of a dead holder
// lasts that much longer.
constexpr Duration longest_step_back = 1500ms;

std::vector<std::string> with_clock(std::vector<std::string> environment) {
  environment.push_back(ServerClock::environment());
  return environment;
}

}  // namespace

std::optional<std::string> ServerStore::server_unavailable(const std::string& kind,
                                                           const StoreOptions&) {
  return test::PrivateServer::unavailable(kind);
}

ServerStore::ServerStore(std::string name, const std::string& kind, const StoreOptions& options,
                         const std::vector<std::string>& lines,
                         std::vector<std::string> environment)
    : name_(std::move(name)),
      options_(options),
      server_(kind, lines, with_clock(std::move(environment))),
      clock_(server_.folder()) {}

void ServerStore::make_network(const std::vector<Target>& servers, std::size_t groups) {
  network_ = std::make_unique<Network>(servers, groups);
  network_->add_faults(faults_, lease());
}

void ServerStore::add(const std::string& name, FaultKind kind, Duration shortest, Duration longest,
                      std::function<std::string(Dice&)> begin, std::function<void()> end) {
  faults_.push_back({.name = name,
                     .kind = kind,
                     .shortest = shortest,
                     .longest = longest,
                     .begin = std::move(begin),
                     .end = std::move(end),
                     .group = "server"});
}

void ServerStore::add_repeated(const std::string& name, FaultKind kind, Duration pause,
                               std::string what, std::function<void()> work) {
  add(
      name, kind, lease() / 2, 2 * lease(),
      [this, pause, what = std::move(what), work = std::move(work)](Dice&) {
        repeater_.start(pause, work);
        return what;
      },
      [this] { repeater_.stop(); });
  faults_.back().hits = [this] { return repeater_.done(); };
}

void ServerStore::take_down() {
  down_ = true;
  server_.kill();
}

void ServerStore::start_again() {
  if (std::exchange(down_, false)) server_.start();
  if (std::exchange(paused_, false)) server_.resume();
}

void ServerStore::add_server_faults() {
  const auto back = [this] { start_again(); };
  const auto pause = [this](const std::string& how) {
    return [this, how](Dice&) {
      paused_ = true;
      server_.pause();
      return "paused " + how;
    };
  };
  add(
      "server-kill", FaultKind::server, 0s, lease(),
      [this](Dice&) {
        take_down();
        return std::string("kill -9");
      },
      back);
  add(
      "server-stop", FaultKind::server, 0s, lease(),
      [this](Dice&) {
        down_ = true;
        server_.stop();
        return std::string("an orderly shutdown");
      },
      back);
  add("server-pause", FaultKind::server, lease() / 20, lease() / 2, pause("for a moment"), back);
  add("server-pause-long", FaultKind::server, lease() * 3 / 2, lease() * 5 / 2,
      pause("for longer than leases"), back);
}

void ServerStore::add_sweep() {
  add_repeated("sweep", FaultKind::load, 20ms, "sweeps and inspections",
               [client = std::shared_ptr<Backend>(), this]() mutable {
                 if (!client) client = open_backend(direct_url(), test::soon()).value();
                 const auto swept = client->sweep(test::soon());
                 if (!swept || !client->inspect({}, test::soon())) client.reset();
               });
}

void ServerStore::add_clock_faults() {
  const auto step = [this](const std::string& way, int sign, Duration shortest, Duration longest) {
    return [this, way, sign, shortest, longest](Dice& dice) {
      const Duration by = time_between(dice, shortest, longest);
      clock_.step(sign * by);
      return "the clock steps " + way + " by " +
             std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(by).count()) +
             " ms";
    };
  };
  // After each of these there is time without another fault, for what is allowed within one lease.
  add("clock-back", FaultKind::clock, lease(), lease(), step("back", -1, 50ms, longest_step_back));
  if (options_.scenario == Scenario::clock_forward) {
    add("clock-forward", FaultKind::clock, lease(), lease(), step("forward", 1, lease() / 2, 1h));
  } else {
    // A quarter of the margin, a tenth of the lease.
    add("clock-nudge", FaultKind::clock, lease(), lease(),
        step("forward, within the margin,", 1, 1ms, lease() / 40));
  }
}

void ServerStore::add_restores(Vault vault, FaultKind kind) {
  vault.freeze = [this] { return network_->freeze(); };
  vault.thaw = [this] { network_->thaw(); };
  if (!vault.quarantine) {
    // A clock that is behind would draw old stamps again; and no lease counts now.
    vault.prepare = [this, more = vault.prepare] {
      clock_.catch_up();
      more();
    };
  }
  restores_ = std::make_unique<Restores>(
      direct_url(), std::move(vault), permits_turn(),
      [this](TimePoint at, history::What what) { record_at(at, std::move(what)); });
  restores_->add_faults(faults_, kind, "server", lease());
}

void ServerStore::add_demotion(std::string what, std::function<void()> demote,
                               std::function<void()> promote) {
  add(
      "demoted", FaultKind::unfit, lease() / 2, 2 * lease(),
      [this, what = std::move(what), demote = std::move(demote)](Dice&) {
        demoted_ = true;
        demote();
        record(history::DemotedBegin{});
        demotion_told_ = true;
        return what;
      },
      [this, promote = std::move(promote)] {
        if (!std::exchange(demoted_, false)) return;
        if (std::exchange(demotion_told_, false)) record(history::DemotedEnd{});
        promote();
      });
}

void ServerStore::report_cuts(const std::set<std::string>& faults) {
  std::set<std::string> all{"net-cut", "net-half-close", "net-refuse", "net-reset"};
  all.insert(faults.begin(), faults.end());
  for (Fault& fault : faults_) {
    if (all.contains(fault.name)) {
      fault.begin = [this, name = fault.name, begin = std::move(fault.begin)](Dice& dice) {
        record(history::CutBegin{name});
        cutting_.insert(name);
        return begin(dice);
      };
    }
    fault.end = [this, name = fault.name, end = std::move(fault.end)] {
      end();
      if (cutting_.erase(name) > 0) cut_.insert(name);
      end_cuts();
    };
  }
}

// A server that stands still notices nothing.
void ServerStore::end_cuts() {
  if (paused_) return;
  for (const std::string& name : std::exchange(cut_, {})) {
    record_at(BootClock::now() + time_to_cut, history::CutEnd{name});
  }
}

void ServerStore::run(const std::vector<std::string>& words) {
  if (const int code = tools::Child(words).wait(60s); code != 0) {
    throw std::runtime_error(words.front() + " ended with " + std::to_string(code));
  }
}

void ServerStore::settle() {
  for (const Fault& fault : faults_) fault.end();
  if (!test::eventually([this] { return network_->calm(); }, Network::latest(lease()) + 10s)) {
    throw std::runtime_error(name_ + ": the network does not become calm");
  }
  if (!test::eventually([this] { return answers(direct_url()); }, 60s)) {
    throw std::runtime_error(name_ + ": the server does not answer again");
  }
}

Left ServerStore::left() {
  return when_quiet(direct_url(), [this] { return count(); });
}

history::Rules ServerStore::rules() const {
  history::Rules rules;
  // A request may be delayed by the network, and then by a stopped server.
  rules.late = Network::latest(lease()) + 3 * lease() + 5s;
  // Several faults may keep a process from the server; but a process that gets only errors for a
  // minute has not recovered from one of them.
  rules.outage = 60s;
  // Several steps back may affect one hold.
  rules.slack += 4 * longest_step_back;
  // The server may believe that it is later than it is (semantics 20).
  rules.leases_last = options_.scenario != Scenario::clock_forward;
  return rules;
}

void ServerStore::save_logs(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::copy_file(server_.folder() / "server.log", folder / "server.log",
                             std::filesystem::copy_options::overwrite_existing, ignored);
}

}  // namespace lockset::chaos
