// What really became of each grant; only the simulation knows.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "backends/migrate/hold_tag.h"
#include "lockset/clock.h"
#include "lockset/stamp.h"

namespace lockset::simulation {

struct Process;

// The end of a grant.
struct Fate {
  // forgotten: it was live when the store lost its state, and is missing in the state from which
  // the store continues. upgraded, downgraded: `successor` took its place.
  enum class End : std::uint8_t {
    none,
    released,
    broken,
    reclaimed,
    forgotten,
    upgraded,
    downgraded
  };
  Token token;
  Process* process = nullptr;  // the process that asked for it
  TimePoint granted;
  bool of_application = false;  // "@app:..."
  bool reserved = false;        // any other of Lockset's own names
  bool permanent = false;
  std::int64_t epoch = 0;  // the epoch of the asking instance
  // Made by a request that was repeated after its answer: nobody will ask for it.
  bool stray = false;
  // For a client that follows a migration: the tag of its record.
  std::optional<migrate::HoldTag> tag;
  End end = End::none;  // none: it is live, or its lease has ended
  // It had ended, and a restored backup brought it back.
  bool back = false;
  Process* ended_by = nullptr;
  Stamp successor;
};

// For the store or stores that clients use, by the stamps that clients know.
class Truth {
 public:
  Truth() = default;
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;
  virtual ~Truth() = default;

  // Whether the whole hold is live at this instant.
  [[nodiscard]] virtual bool live(Stamp stamp) = 0;
  // Whether the store still keeps all others away for whoever has this hold: it is live, or else
  // the upgrade that took its place is.
  [[nodiscard]] bool stands(Stamp stamp) {
    const Fate* end = fate(stamp);
    while (end != nullptr && end->end == Fate::End::upgraded) end = fate(stamp = end->successor);
    return live(stamp);
  }
  // Whether a call ended it, or a part of it, otherwise than by a conversion; or broke the upgrade
  // that took its place.
  [[nodiscard]] virtual bool ended(Stamp stamp) const = 0;
  // Null: it was granted to nobody.
  [[nodiscard]] virtual const Fate* fate(Stamp stamp) const = 0;
  [[nodiscard]] virtual const std::map<Stamp, Fate>& fates() const = 0;
  // The last write grant on this name, if it is known.
  struct Write {
    Token token;
    TimePoint at;
  };
  [[nodiscard]] virtual std::optional<Write> last_write(const std::string&) const { return {}; }
  // A caller got this grant.
  virtual void handed_over(Stamp) {}
  // When the store's clock was stepped far ahead; TimePoint::max(): never.
  [[nodiscard]] virtual TimePoint stepped() const = 0;
  // When the store lost its state; TimePoint::max(): never so far.
  [[nodiscard]] virtual TimePoint lost_state() const { return TimePoint::max(); }
};

}  // namespace lockset::simulation
