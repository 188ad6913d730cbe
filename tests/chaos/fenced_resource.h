// What locks protect: a resource that two holders must not write, and that guards itself with
// stamps (semantics 8). It accepts a holder unless one with a higher floor came before. All
// processes of a run share it: one file per name, under flock.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/stamp.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

class FencedResource {
 public:
  // The folder is made if it is missing. `recorder` must outlive this.
  FencedResource(std::filesystem::path folder, test::Recorder& recorder);

  // Whether it was accepted, which is recorded. Unset, and nothing happened, while somebody else is
  // inside: a process that was stopped there must not stop the others. Thread-safe.
  std::optional<bool> use(std::string_view name, Stamp stamp, Stamp floor);

 private:
  const std::filesystem::path folder_;
  test::Recorder& recorder_;
};

}  // namespace lockset::chaos
