// Mistakes that must not compile, or must mean what the programmer meant.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <utility>

#include "lockset/lockset.h"

namespace lockset {
namespace {

using TriedHold = decltype(std::declval<Locks&>().try_acquire(LockSet::make({}).value()));
using TriedStamp = decltype(std::declval<Locks&>().try_locks({}));

template <class T>
concept Testable = requires(const T& value) {
  value ? 1 : 0;
};

// `if (auto hold = locks.try_acquire(...))` would be true when the set is taken.
static_assert(!Testable<TriedHold>);
static_assert(!Testable<TriedStamp>);
static_assert(!std::is_constructible_v<bool, TriedHold>);
// An explicit question is allowed.
static_assert(Testable<decltype(std::declval<TriedHold>().value())>);
static_assert(Testable<decltype(std::declval<TriedStamp>().value())>);
static_assert(Testable<Result<Hold>>);

TEST(Mistakes, ATryIsAskedByName) {
  Locks locks = lockset::open("memory:", {}).value();
  const auto first = locks.try_acquire({write("a")});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->has_value());
  const auto second = locks.try_acquire({write("a")});
  EXPECT_TRUE(second.ok());
  EXPECT_FALSE(second->has_value());
  if (auto hold = locks.try_acquire({write("a")}).value()) ADD_FAILURE() << "it is taken";
  EXPECT_EQ(locks.try_locks({write("a")}).value(), Stamp{});
  EXPECT_EQ(locks.try_acquire({}).error().code, Errc::invalid);
}

}  // namespace
}  // namespace lockset

namespace {
using namespace lockset;  // as a program may

// With <fcntl.h>, {} would otherwise be its flags, 0.
static_assert(std::same_as<decltype(open("memory:", {})), Result<Locks>>);
static_assert(std::same_as<decltype(open("memory:")), Result<Locks>>);
static_assert(std::same_as<decltype(open("memory:", Options{})), Result<Locks>>);
static_assert(std::same_as<decltype(open("memory:", {.app = "a"})), Result<Locks>>);
static_assert(std::same_as<decltype(open("/dev/null", O_RDONLY)), int>);

TEST(Mistakes, OpenWithBracesIsOurs) { EXPECT_TRUE(open("memory:", {})); }
}  // namespace
