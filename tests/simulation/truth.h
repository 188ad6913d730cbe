// What became of each grant in truth, which only the simulation knows.
#pragma once

#include <map>
#include <optional>

#include "backends/migrate/hold_tag.h"
#include "lockset/clock.h"
#include "lockset/stamp.h"

namespace lockset::simulation {

struct Process;

// What became of a grant.
struct Fate {
  // forgotten: it was live when the store lost its state, and is not in what the store goes on
  // from.
  enum class End : std::uint8_t { none, released, broken, reclaimed, forgotten };
  Token token;
  Process* process = nullptr;  // that asked for it
  TimePoint granted;
  bool of_application = false;  // "@app:..."
  bool reserved = false;        // for any other of Lockset's own names
  bool permanent = false;
  std::int64_t epoch = 0;  // of who asked for it
  // By a request that came once more after it had been answered: nobody will ask for it.
  bool stray = false;
  // Of a client that follows a migration: what its record says.
  std::optional<migrate::HoldTag> tag;
  End end = End::none;  // none: it is live, or its lease has ended
  // It had ended, and a restored backup brought it back.
  bool back = false;
  Process* ended_by = nullptr;
};

// Of the store, or the stores, that clients use; by the stamps that they know.
class Truth {
 public:
  Truth() = default;
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;
  virtual ~Truth() = default;

  // Whether all of the hold is live at this instant.
  [[nodiscard]] virtual bool live(Stamp stamp) = 0;
  // Whether it, or a part of it, was ended by a call.
  [[nodiscard]] virtual bool ended(Stamp stamp) const = 0;
  // Null: nobody was granted it.
  [[nodiscard]] virtual const Fate* fate(Stamp stamp) const = 0;
  [[nodiscard]] virtual const std::map<Stamp, Fate>& fates() const = 0;
  // A caller was granted it.
  virtual void handed_over(Stamp) {}
  // When the store's clock was stepped far ahead; TimePoint::max(): never.
  [[nodiscard]] virtual TimePoint stepped() const = 0;
  // When the store lost its state; TimePoint::max(): never so far.
  [[nodiscard]] virtual TimePoint lost_state() const { return TimePoint::max(); }
};

}  // namespace lockset::simulation
