// What a caller asks for: names, each with a mode, as one set that is granted as a whole or not at
// all. Semantics 2 and 3 in docs/semantics.md.
//
// Thread-safety: plain values; distinct objects may be used from distinct threads.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

inline constexpr std::size_t max_name_bytes = 255;
inline constexpr std::size_t max_set_size = 256;

enum class Mode : std::uint8_t { read, write };

// "read" or "write".
std::string_view to_string(Mode mode) noexcept;

struct LockRequest {
  std::string name;
  Mode mode = Mode::write;

  auto operator<=>(const LockRequest&) const = default;
};

inline LockRequest read(std::string name) { return {std::move(name), Mode::read}; }
inline LockRequest write(std::string name) { return {std::move(name), Mode::write}; }

// Ok if `name` is 1 to 255 bytes of valid UTF-8 without control characters (U+0000-001F,
// U+007F-009F). Otherwise Errc::invalid, with the rule and the position. Reserved names pass: see
// is_reserved_name.
Status check_name(std::string_view name);

// True for `*` and for every name that begins with `@`: these belong to Lockset.
bool is_reserved_name(std::string_view name) noexcept;

// `name` as one line of text in quotes, for people: bytes that are not valid UTF-8 and control
// characters are shown as \xNN.
std::string in_quotes(std::string_view name);

// A lock set in canonical form: sorted by the bytes of the names, without duplicates, never empty,
// at most max_set_size items. Immutable: copies share their items and are cheap. A moved-from set
// has no items.
class LockSet {
 public:
  enum class Names : std::uint8_t { ordinary, reserved_too };

  // Sorts and merges `wanted`. Errc::invalid if it is empty or too large, if a name is bad or
  // reserved, or if a name is asked for in both modes. Names::reserved_too is for Lockset's own
  // holds (semantics 12).
  static Result<LockSet> make(std::vector<LockRequest> wanted, Names names = Names::ordinary);

  [[nodiscard]] std::span<const LockRequest> items() const noexcept {
    return items_ ? std::span<const LockRequest>(*items_) : std::span<const LockRequest>();
  }
  [[nodiscard]] std::size_t size() const noexcept { return items().size(); }

  bool operator==(const LockSet& other) const { return std::ranges::equal(items(), other.items()); }

 private:
  explicit LockSet(std::vector<LockRequest> items)
      : items_(std::make_shared<const std::vector<LockRequest>>(std::move(items))) {}
  std::shared_ptr<const std::vector<LockRequest>> items_;
};

}  // namespace LOCKSET_EXPORT
