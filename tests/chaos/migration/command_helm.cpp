#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "tests/chaos/migration/helm.h"
#include "tests/chaos/process.h"
#include "tests/chaos/stores/dice.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// A command that is killed lives at most this long: some reach the step, some are killed during it.
constexpr Duration longest_life = 2s;

class Helmsman {
 public:
  explicit Helmsman(Command command) : command_(std::move(command)), dice_(command_.seed) {}

  std::optional<Error> make(Act act, MigrationPhase to, TimePoint by) {
    if (act == Act::start) {
      if (auto why = run({"plan", "--copy-permits"}, by)) return why;
    }
    std::vector<std::string> words{std::string(to_string(act))};
    if (act == Act::advance || act == Act::roll_back) {
      words.insert(words.end(), {"--watch", "--to", std::string(to_string(to))});
    }
    if (act == Act::finish) words.emplace_back("--yes");
    return run(words, by);
  }

 private:
  std::optional<Error> run(const std::vector<std::string>& words, TimePoint by) {
    std::vector<std::string> argv{command_.program, "migrate"};
    argv.insert(argv.end(), words.begin(), words.end());
    // Not in the arguments, which everybody can see: the addresses contain passwords.
    Process process(argv,
                    {"LOCKSET_MIGRATE_FROM=" + command_.from, "LOCKSET_MIGRATE_TO=" + command_.to},
                    command_.output.string());
    const bool killed = command_.kills && chance(dice_, 0.5);
    const TimePoint until =
        killed ? BootClock::now() + time_between(dice_, Duration::zero(), longest_life) : by;
    const auto code = process.ended(until);
    if (!code) {
      process.kill();
      return Error{Errc::unavailable, killed ? "the command was killed"
                                             : "the command was killed, for it did not end"};
    }
    if (*code == 0) return {};
    return Error{Errc::unavailable,
                 "the command ended with " + std::to_string(*code) + ": " + last_line()};
  }

  std::string last_line() const {
    std::ifstream file(command_.output);
    std::string last;
    for (std::string line; std::getline(file, line);) last = std::move(line);
    return last;
  }

  const Command command_;
  Dice dice_;
};

}  // namespace

Helm by_command(Command command) {
  return
      [man = std::make_shared<Helmsman>(std::move(command))](
          Migration&, Act act, MigrationPhase to, TimePoint by) { return man->make(act, to, by); };
}

}  // namespace lockset::chaos
