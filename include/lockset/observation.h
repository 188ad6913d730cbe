// Optimistic reading: look at names without locking them, and ask later whether a write was granted
// on any of them since. Semantics 27 and 28; docs/patterns.md shows the optimistic offline lock.
//
//   auto seen = locks.observe({"invoice/17"}).value();
//   ... read the invoice, without a lock ...
//   if (locks.validate(seen).value()) ...                   what was read belongs together
//   auto hold = locks.acquire({write("invoice/17")}, {.unchanged_since = seen});
//
// Thread-safety: plain values; distinct objects may be used from distinct threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

// What was seen of some names at one moment. Immutable: copies share their items and are cheap. A
// moved-from observation has no items, and is refused as invalid.
//
// It may be kept for as long as you like, also outside the process (to_string). The store remembers
// a name for a week after it was last observed, at least; after that the answer is "changed".
class Observation {
 public:
  struct Item {
    std::string name;
    // Of the last write grant before the observation, or a stamp drawn for the observation.
    Stamp last_write;
    // Somebody held the name as write, or its hold had just expired. What was read then may be half
    // written, so this item counts as changed.
    bool being_written = false;

    bool operator==(const Item&) const = default;
  };

  // Sorts the items by name. Errc::invalid if there are none or more than max_set_size, if a name
  // is bad, reserved or given twice, or if a stamp is not positive.
  static Result<Observation> make(std::vector<Item> items);

  // One line without blanks, in ASCII, for a form, a file or a command:
  // "seen-1,invoice%2F17=1722334455667788". Names are percent-encoded; a "w" behind the stamp says
  // that the name was being written. Whoever can change the text can also choose what it says.
  [[nodiscard]] std::string to_string() const;
  // Reads that. Errc::invalid, with the reason, for any other text.
  static Result<Observation> parse(std::string_view text);

  // Sorted by the bytes of the names.
  [[nodiscard]] std::span<const Item> items() const noexcept {
    return items_ ? std::span<const Item>(*items_) : std::span<const Item>();
  }
  [[nodiscard]] std::size_t size() const noexcept { return items().size(); }

  bool operator==(const Observation& other) const;

 private:
  explicit Observation(std::vector<Item> items)
      : items_(std::make_shared<const std::vector<Item>>(std::move(items))) {}
  std::shared_ptr<const std::vector<Item>> items_;
};

// Why an observed name does not count as unchanged.
struct Change {
  std::string name;
  // Of the last write grant on it now, or a stamp drawn since if there is no more to know: the
  // trace of the name had been swept, or its store had lost it.
  Stamp stamp;
  std::string label;  // of who was granted that write; empty if not known
  // When, on this machine's calendar; unset if not known. For people, never for decisions.
  std::optional<std::chrono::system_clock::time_point> when;
  // Nobody need have written since: the name was being written when it was observed.
  bool was_being_written = false;
};

}  // namespace LOCKSET_EXPORT
