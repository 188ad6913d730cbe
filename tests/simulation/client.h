// A program that uses Lockset's public interface over a distant store: it opens, does rounds of
// work on a few names, dies and is started again. Records what it asks and what it is told.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "lockset/locks.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/told.h"

namespace lockset::simulation {

// The resource that the locks protect: accepts stamps, and refuses those below the greatest floor.
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
  // How it gets a backend.
  using Connect = std::function<Result<std::unique_ptr<Backend>>(TimePoint by)>;

  // All references must outlive it.
  Client(World& world, Truth& truth, Resource& resource, const Profile& profile, Process& process,
         Connect connect)
      : world_(world),
        truth_(truth),
        resource_(resource),
        profile_(profile),
        process_(process),
        connect_(std::move(connect)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  // Runs on a fiber of its own process. Returns when all is done or the process was killed.
  virtual void run();
  // Changes permits now and then instead of working.
  void administer();

  // When all is calm and settled: checks that the store contains nothing that nobody knows of.
  void check_settled();

 protected:
  // A program's connection to the store; retries until `until`.
  std::optional<Locks> open(TimePoint until);
  // One round of its work; `chance` decides what it does.
  void round(Locks& locks, std::uint64_t chance);
  void sleep(Duration time);
  [[nodiscard]] bool reclaims() const { return profile_.reclaim && process_.actor < 2; }
  void complain(const std::string& rule, Stamp stamp, const std::string& why) const;
  // Whether this error is a legal answer to a request of that time, although nothing went wrong.
  [[nodiscard]] virtual bool expects(const Error& error, TimePoint asked) const;

  World& world_;
  Truth& truth_;
  Resource& resource_;
  const Profile& profile_;
  Process& process_;
  Told told_;
  // What a thread observed last, and its number in the history.
  struct Seen {
    std::uint64_t op = 0;
    TimePoint asked;
    Observation observation;
  };
  std::optional<Seen> seen_;

 private:
  class Round;
  friend class Round;

  void work(Locks& locks, std::uint32_t thread);

  const Connect connect_;
};

}  // namespace lockset::simulation
