// One life of a program that takes part in a migration, with its configuration during that life:
// over the old store alone, over both, over the new one alone.
#pragma once

#include "tests/simulation/client.h"
#include "tests/simulation/migration/stores.h"
#include "tests/simulation/remote.h"

namespace lockset::simulation {

enum class Configured : std::uint8_t { old_alone, migrate, new_alone };
const char* to_string(Configured how) noexcept;

// The ways from one process to both stores. Lives as long as the run.
struct Lines {
  Lines(World& world, Stores& stores, const Setting& setting, Process& process)
      : old_line(world, stores.old_store, setting.old_store, process),
        new_line(world, stores.new_store, setting.new_store, process) {}
  Line old_line;
  Line new_line;
};

// How a program with this configuration gets its backend. All references must outlive it.
Client::Connect connect(Configured how, Lines& lines, Stores& stores, const Setting& setting);

class Program final : public Client {
 public:
  Program(World& world, Stores& stores, Resource& resource, const Setting& setting,
          Process& process, Lines& lines, Configured how, TimePoint ends)
      : Client(world, stores, resource, setting.old_store, process,
               connect(how, lines, stores, setting)),
        stores_(stores),
        how_(how),
        ends_(ends) {}

  void run() override;

 protected:
  // A client of one store alone is refused when its holds would not count there, and every client
  // for a moment during a switch.
  [[nodiscard]] bool expects(const Error& error, TimePoint asked) const override;

 private:
  void work(Locks& locks, std::uint32_t thread);
  [[nodiscard]] std::optional<Errc> refusal(const Stores::Marks& marks) const;

  Stores& stores_;
  const Configured how_;
  const TimePoint ends_;
};

}  // namespace lockset::simulation
