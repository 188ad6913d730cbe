// What locks are for: a thing that must not be written by two, and that guards itself with
// stamps (semantics 8). It lets a holder in unless one with a higher floor was there before.
// All processes of a run share it: a file for each name, under flock.
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

  // Whether it was let in, which is recorded; unset, and nothing happened, while somebody else
  // is inside: one that was stopped there must not stop the others. Thread-safe.
  std::optional<bool> use(std::string_view name, Stamp stamp, Stamp floor);

 private:
  const std::filesystem::path folder_;
  test::Recorder& recorder_;
};

}  // namespace lockset::chaos
