// A program that uses Lockset's public interface, and a store that is far away: opens, does rounds
// of work on a few names, dies and is started again. Records what it asks and hears.
#pragma once

#include <memory>
#include <vector>

#include "lockset/locks.h"
#include "tests/simulation/remote.h"

namespace lockset::simulation {

// The resource that the locks are for: takes stamps, and refuses those below the greatest floor.
class Resource {
 public:
  explicit Resource(World& world) : world_(world) {}
  void use(const std::string& name, Stamp stamp, Stamp floor);

 private:
  World& world_;
  std::map<std::string, Stamp> floors_;
};

// One life of a program.
class Client {
 public:
  Client(World& world, Store& store, Resource& resource, const Profile& profile, Process& process)
      : world_(world),
        store_(store),
        resource_(resource),
        profile_(profile),
        process_(process),
        line_(world, store, profile, process) {}

  // On a fiber of its own process. Returns when all is done or the process was killed.
  void run();
  // Changes permits now and then, instead.
  void administer();

  // At Profile::settled: is anything left in the store that nobody knows of any more?
  void check_settled();

 private:
  struct Wish;
  class Holding;
  class Round;
  friend class Round;

  std::optional<Locks> open();
  void work(Locks& locks, std::uint32_t thread);
  void sleep(Duration time);
  void complain(const std::string& rule, Stamp stamp, const std::string& why) const;

  World& world_;
  Store& store_;
  Resource& resource_;
  const Profile& profile_;
  Process& process_;
  Line line_;
  Told told_;
};

}  // namespace lockset::simulation
