// Fenced resources: what a file server or a job queue would do with stamps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lockset/stamp.h"
#include "tests/support/recorder.h"

namespace lockset::mutants {

// One resource; used by one holder at a time.
class Resource {
 public:
  Resource() = default;
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  virtual ~Resource() = default;
  // Whether a holder with this stamp is accepted. `floor`: the floor of its grant, or its stamp.
  virtual bool admit(Stamp stamp, Stamp floor) = 0;
};
using MakeResource = std::function<std::unique_ptr<Resource>()>;

// Keeps the greatest floor, and refuses stamps below it.
std::unique_ptr<Resource> right_resource();
// Accepts everybody.
std::unique_ptr<Resource> resource_that_checks_nothing();
// Keeps the greatest stamp instead of the greatest floor, and so refuses holders that share.
std::unique_ptr<Resource> resource_that_ignores_floors();

// The resources of all names. Thread-safe.
class Resources {
 public:
  explicit Resources(MakeResource make) : make_(std::move(make)) {}
  void use(const std::string& name, Stamp stamp, Stamp floor, test::Recorder& recorder);

 private:
  const MakeResource make_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Resource>> all_;
};

}  // namespace lockset::mutants
