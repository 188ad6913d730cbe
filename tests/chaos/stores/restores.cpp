#include "tests/chaos/stores/restores.h"

#include <functional>
#include <stdexcept>
#include <utility>

#include "lockset/lockset.h"
#include "tests/chaos/names.h"
#include "tests/chaos/stores/dice.h"
#include "tests/support/wait.h"

namespace lockset::chaos {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t many = 1000;
// The age of a backup that is put back: MySQL's stamps may be a second behind its clock.
constexpr Duration shortest_age = 1500ms;

TimePoint in_time() { return BootClock::now() + 60s; }

template <class T>
T surely(Result<T> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + result.error().message);
  return *std::move(result);
}

// Repeats the step if it fails: when it drops tables that others use, the server may choose it to
// end a deadlock.
void until_done(const std::function<void()>& step) {
  const TimePoint limit = in_time();
  for (;;) {
    try {
      step();
      return;
    } catch (const std::exception&) {
      if (BootClock::now() >= limit) throw;
    }
  }
}

}  // namespace

// While it exists, workers can't reach the store.
class Restores::Frost {
 public:
  Frost(const Vault& vault, bool wanted) : vault_(vault), there_(wanted && vault.freeze()) {}
  Frost(const Frost&) = delete;
  Frost& operator=(const Frost&) = delete;
  ~Frost() {
    if (there_) vault_.thaw();
  }
  [[nodiscard]] bool there() const { return there_; }

 private:
  const Vault& vault_;
  const bool there_;
};

Restores::Restores(std::string url, Vault vault, std::mutex& turn, Record record)
    : url_(std::move(url)), vault_(std::move(vault)), turn_(turn), record_(std::move(record)) {}

void Restores::add_faults(std::vector<Fault>& faults, FaultKind kind, const std::string& group,
                          Duration lease) {
  const auto add = [&](const char* name, Duration shortest, Duration longest, auto begin,
                       auto end) {
    Fault fault;
    fault.name = name;
    fault.kind = kind;
    fault.shortest = shortest;
    fault.longest = longest;
    fault.begin = begin;
    fault.end = end;
    fault.group = group;
    fault.also = "restore";
    faults.push_back(std::move(fault));
  };
  add(
      "restored", shortest_age, shortest_age + lease,
      [this](Dice& dice) { return begin_restored(dice); }, [this] { end_restored(); });
  if (!vault_.wipe) return;
  // Twice, with a moment in between: a value that is counted from zero is small both times, and so
  // may come out the same.
  add(
      "wiped", {}, lease / 4,
      [this](Dice& dice) {
        again_ = dice;
        return wiped(dice) + ", and once more";
      },
      [this] {
        if (auto dice = std::exchange(again_, std::nullopt)) wiped(*dice);
      });
}

void Restores::open() { client_ = surely(open_backend(url_, in_time()), "can't open the space"); }

std::vector<std::string> Restores::changing_names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : config_.permits) {
    if (permits_change(name)) names.push_back(name);
  }
  if (names.empty()) names.emplace_back("changing");
  return names;
}

void Restores::set(const std::string& name, Mode mode, std::uint32_t permits) {
  Permits after = config_.permits_of(name);
  (mode == Mode::read ? after.read : after.write) = permits;
  record_(BootClock::now(), history::PermitsBegin{name, after.read, after.write});
  config_ = surely(client_->change_config(SetPermits{name, mode, permits}, in_time()),
                   "can't set the permits of " + name);
  record_(BootClock::now(), history::PermitsEnd{name, after.read, after.write});
}

void Restores::note_permits(TimePoint since, const SpaceConfig& config) {
  const TimePoint now = BootClock::now();
  for (const auto& [name, entry] : config_.permits) {
    if (name == default_permits_name) continue;
    const auto note = [&, &each = name](const Permits& permits) {
      record_(since, history::PermitsBegin{each, permits.read, permits.write});
      record_(now, history::PermitsEnd{each, permits.read, permits.write});
    };
    if (vault_.quarantine) note(config_.permits_of(name));
    note(config.permits_of(name));
  }
}

std::string Restores::begin_restored(Dice& dice) {
  // Held until the backup is put back, so that it is known which permits come back.
  my_turn_ = std::unique_lock(turn_);
  frosty_ = vault_.needs_frost || chance(dice, 0.7);
  open();
  kept_from_ = BootClock::now();
  kept_ = config_ = surely(client_->load_config(in_time()), "can't load the configuration");
  vault_.back_up();
  kept_until_ = BootClock::now();
  for (const std::string& name : changing_names()) set(name, Mode::read, many);
  return std::string("a backup is made, and put back") + (frosty_ ? " while nobody asks" : "");
}

void Restores::end_restored() {
  if (!my_turn_.owns_lock()) return;
  const std::unique_lock<std::mutex> turn = std::move(my_turn_);
  const Frost frost(vault_, frosty_);
  if (vault_.needs_frost && !frost.there()) return;
  const TimePoint began = BootClock::now();
  record_(began, history::RestoreBegin{kept_from_, kept_until_, !vault_.quarantine});
  client_.reset();
  until_done(vault_.put_back);
  until_done(vault_.prepare);
  note_permits(began, kept_);
  record_(BootClock::now(), history::RestoreEnd{});
  // As many changes as there were since the backup: a client that counts versions then meets the
  // same numbers again, and would trust what it knows about them.
  const std::vector<std::string> names = changing_names();
  open();
  config_ = surely(client_->load_config(in_time()), "can't load the configuration");
  for (const std::string& name : names) set(name, Mode::read, 1);
  client_.reset();
}

std::string Restores::wiped(Dice& dice) {
  const std::unique_lock<std::mutex> turn(turn_);
  const Frost frost(vault_, vault_.needs_frost || chance(dice, 0.5));
  if (vault_.needs_frost && !frost.there()) return "nothing: the network has trouble of its own";
  open();
  config_ = surely(client_->load_config(in_time()), "can't load the configuration");
  const SpaceConfig before = config_;
  const TimePoint began = BootClock::now();
  record_(began, history::RestoreBegin{});
  client_.reset();
  until_done(vault_.wipe);
  until_done(vault_.prepare);
  note_permits(began, SpaceConfig{});
  record_(BootClock::now(), history::RestoreEnd{});
  open();
  config_ = surely(client_->load_config(in_time()), "can't load the configuration");
  for (const auto& [name, entry] : before.permits) {
    if (entry.read) set(name, Mode::read, *entry.read);
    if (entry.write) set(name, Mode::write, *entry.write);
  }
  client_.reset();
  return std::string("dropped, and made anew") + (frost.there() ? " while nobody asks" : "");
}

}  // namespace lockset::chaos
