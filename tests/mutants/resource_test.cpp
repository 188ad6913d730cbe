// Fenced resources with mistakes, next to a sound store.
#include <gtest/gtest.h>

#include "lockset/memory_backend.h"
#include "tests/mutants/load.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

Scene scene(Load load, MakeResource resource) {
  Scene scene;
  const std::shared_ptr<Backend> store = make_memory_backend(make_memory_store());
  scene.connect = [store] { return store; };
  scene.load = std::move(load);
  scene.load.resource = std::move(resource);
  scene.rules.least = {.grants = 12, .overlaps = 10, .busy = 5, .faults = 0};
  return scene;
}

// Holders that come back after their lease has ended and others have used the resource.
Load late() {
  return {.round = 400ms,
          .names = 1,
          .largest_set = 1,
          .reads = 0,
          .lease = 150ms,
          .keep = 4ms,
          .overstaying = 0.4};
}
// Readers that share a name.
Load shared() { return {.names = 1, .largest_set = 1, .reads = 0.9, .permits = {3, 1}}; }

TEST(Resources, OneThatChecksNothingIsFlagged) {
  expect_flagged(scene(late(), resource_that_checks_nothing), Invariant::resource);
}

TEST(Resources, OneThatIgnoresFloorsIsFlagged) {
  expect_flagged(scene(shared(), resource_that_ignores_floors), Invariant::resource);
}

TEST(Resources, TheRightOnePasses) {
  expect_sound(scene(late(), right_resource));
  expect_sound(scene(shared(), right_resource));
}

}  // namespace
}  // namespace lockset::mutants
