#include "tests/chaos/workers.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

namespace lockset::chaos {
namespace {

// How long a process may take to release its holds and end, on a busy machine and with a store that
// does not answer.
constexpr Duration time_to_end = std::chrono::seconds(60);

// The end of a file: errors are printed last.
std::string tail_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  constexpr std::size_t most = 2000;
  return all.size() <= most ? all : "..." + all.substr(all.size() - most);
}

// The worker next to this program: copying both keeps them unchanged during a long run.
std::string worker_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lockset_chaos_worker";
}

}  // namespace

Workers::Workers(const Options& options, const Store& store, const Folders& folders,
                 test::Recorder& log, Losses losses)
    : options_(options),
      store_(store),
      folders_(folders),
      log_(log),
      losses_(losses),
      slots_(options.processes) {}

std::optional<std::string> Workers::open_and_fork(Duration limit) {
  Slot& first = others_.emplace_back();
  first.name = "first";
  first.process = start(first.name, store_.worker_url(0), Role::closes);
  const TimePoint until = BootClock::now() + limit;
  while (tail_of(output_of(first.name)).find("closed\n") == std::string::npos) {
    if (const auto code = first.process->ended()) return says(first, *code);
    if (BootClock::now() > until) return first.name + " does not open, fork and close";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {};
}

void Workers::start() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) fill(slot);
  if (options_.migrate) return;
  std::size_t keepers = 0;
  for (const std::string& url : store_.keeper_urls()) {
    Slot& keeper = others_.emplace_back();
    keeper.name = "keeper-" + std::to_string(++keepers);
    keeper.process = start(keeper.name, url, Role::keeps);
  }
}

std::filesystem::path Workers::log_of(const std::string& name) const {
  return folders_.logs() / (name + ".log");
}

std::filesystem::path Workers::output_of(const std::string& name) const {
  return folders_.output() / (name + ".txt");
}

void Workers::ask_to_end(const std::string& name) const {
  std::ofstream(folders_.stops() / name).put('\n');
}

void Workers::fill(std::size_t slot) {
  Slot& place = slots_[slot];
  place.name = "worker-" + std::to_string(started_ + 1);
  place.process = one_more(place.name, store_.worker_url(slot));
  place.stands_until.reset();
  place.leaves_by.reset();
}

std::unique_ptr<Process> Workers::start(const std::string& name, const std::string& url,
                                        Role role) {
  const auto lease = std::chrono::duration_cast<std::chrono::milliseconds>(
      role == Role::keeps ? store_.long_lease() : store_.lease());
  // With a slow store, some have leases that are hardly longer than an answer takes, and wait for
  // it.
  const std::size_t number = started_ + 1;
  const bool patient = !options_.migrate && role == Role::works && number % 2 == 1;
  const bool short_one = patient && number % 4 == 1;
  std::vector<std::string> argv{worker_program(),
                                "--log=" + log_of(name).string(),
                                "--process=" + name,
                                "--seed=" + std::to_string(options_.seed * 1000 + ++started_),
                                "--names=" + std::to_string(options_.names),
                                "--resource=" + folders_.resource().string(),
                                "--lease=" + std::to_string(lease.count() / (short_one ? 2 : 1)),
                                "--io-timeout=" + std::to_string(patient ? lease.count() : 1000),
                                "--threads=" + std::to_string(options_.threads),
                                "--stop=" + (folders_.stops() / name).string()};
  // A third of them: processes that fork also open the space again, which the others never do.
  if (role == Role::keeps) argv.emplace_back("--keeps");
  if (role == Role::closes) argv.emplace_back("--closes");
  if (!options_.migrate && role == Role::works && options_.wants("fork", "fork") &&
      number % 3 == 0) {
    argv.emplace_back("--forks");
  }
  if (losses_.lost_state) argv.emplace_back("--lost-state");
  if (losses_.unfit) argv.emplace_back("--unfit");
  if (options_.migrate) argv.emplace_back("--tell-failures");
  // Not in the arguments, which everybody can see: the address contains a password.
  return std::make_unique<Process>(argv, std::vector{"LOCKSET_URL=" + url},
                                   output_of(name).string());
}

void Workers::replace(std::size_t slot) {
  Slot& place = slots_.at(slot);
  place.leaves_by = BootClock::now() + time_to_end;
  ask_to_end(place.name);
}

void Workers::kill(std::size_t slot) {
  Slot& place = slots_.at(slot);
  if (place.stands_until || place.process->ended()) return;
  record_kill(place);
  place.process->kill();
  ++kills_;
  fill(slot);
}

// Its forked child dies with it: its last one.
void Workers::record_kill(const Slot& slot) {
  std::size_t forks = 0;
  while (std::filesystem::exists(log_of(slot.name + "." + std::to_string(forks + 1)))) ++forks;
  if (forks > 0) log_.record(history::Kill{slot.name + "." + std::to_string(forks)});
  log_.record(history::Kill{slot.name});
}

void Workers::stop(std::size_t slot, TimePoint until) {
  Slot& place = slots_.at(slot);
  if (place.stands_until || place.process->ended()) return;
  log_.record(history::Stop{place.name});
  place.process->stop();
  place.stands_until = until;
  ++stops_;
}

TimePoint Workers::continue_due(TimePoint now) {
  TimePoint next = TimePoint::max();
  for (Slot& place : slots_) {
    if (!place.stands_until) continue;
    if (*place.stands_until > now) {
      next = std::min(next, *place.stands_until);
      continue;
    }
    log_.record(history::Cont{place.name});
    place.process->go_on();
    place.stands_until.reset();
    if (place.leaves_by) place.leaves_by = BootClock::now() + time_to_end;
  }
  return next;
}

std::string Workers::says(const Slot& slot, int code) const {
  const std::string text = tail_of(output_of(slot.name));
  return slot.name + " ended by itself with " + std::to_string(code) +
         (text.empty() ? ", and said nothing" : ":\n" + text);
}

std::optional<std::string> Workers::trouble() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const Slot& place = slots_[slot];
    if (!place.process) continue;
    const auto code = place.process->ended();
    if (code && *code == 0 && place.leaves_by) {
      fill(slot);
    } else if (code) {
      return says(place, *code);
    } else if (place.leaves_by && !place.stands_until && BootClock::now() > *place.leaves_by) {
      return place.name + " was asked to end and does not";
    }
  }
  for (const Slot& other : others_) {
    if (const auto code = other.process->ended()) return says(other, *code);
  }
  return {};
}

std::optional<std::string> Workers::finish(Duration limit) {
  continue_all();
  std::vector<Slot*> all;
  for (Slot& place : slots_) all.push_back(&place);
  for (Slot& place : others_) all.push_back(&place);
  for (const Slot* const place : all) {
    if (place->process) ask_to_end(place->name);
  }
  const TimePoint until = BootClock::now() + limit;
  std::optional<std::string> wrong;
  for (Slot* const each : all) {
    Slot& place = *each;
    if (!place.process) continue;
    const auto code = place.process->ended(until);
    if (code && *code == 0) continue;
    if (!wrong) wrong = code ? says(place, *code) : place.name + " does not end";
    if (!code) {
      record_kill(place);
      place.process->kill();
    }
  }
  return wrong;
}

}  // namespace lockset::chaos
