#include "migration/name_probe.h"

#include <algorithm>
#include <utility>

namespace lockset::migrate {
namespace {

constexpr Duration probing_lease = std::chrono::seconds(30);

Result<std::optional<ReservedHold>> take(SteeredStore& store, const std::string& name,
                                         const Owner& owner, TimePoint by) {
  std::optional<Busy> in_the_way;
  return ReservedHold::take(store, name, owner, probing_lease, by, in_the_way);
}

}  // namespace

bool NameProbe::shown_in(SteeredStore& other, TimePoint by) const {
  const Result<Inspection> seen = other.inspect(by, {InspectQuery::Match::name, name});
  return seen && !seen->holds.empty();
}

Result<NameProbe> probe_names(SteeredStore& store, const Owner& owner, const Clock& clock,
                              TimePoint by) {
  NameProbe probe;
  // "é", composed and decomposed, at the end of a name that nobody else uses.
  const std::string unique = std::string(steering_prefix) + ":" + Token::random().hex() + ":x";
  probe.name = unique + "\u00e9";
  const std::string variants[name_variants.size()] = {
      unique.substr(0, unique.size() - 1) + "X\u00e9", probe.name + " ", unique + "e\u0301"};

  const auto asked = clock.wall();
  Result<std::optional<ReservedHold>> held = take(store, probe.name, owner, by);
  const auto answered = clock.wall();
  if (!held) return std::move(held).error();
  if (!*held) return Error{Errc::internal, store.called() + ": a name that nobody has is held"};
  probe.hold = std::make_shared<ReservedHold>(std::move(**held));
  probe.stamp = probe.hold->stamp();
  const Result<Inspection> seen = store.inspect(by, {InspectQuery::Match::name, probe.name});
  if (!seen) return seen.error();
  for (const HoldInfo& hold : seen->holds) {
    if (hold.stamp == probe.stamp) {
      const auto half = (answered - asked) / 2;
      probe.ahead =
          std::chrono::duration_cast<std::chrono::microseconds>(hold.since - (asked + half));
      // Some stores keep only milliseconds.
      probe.blur =
          std::chrono::ceil<std::chrono::microseconds>(half + std::chrono::milliseconds(1));
    }
  }
  for (std::size_t i = 0; i < name_variants.size(); ++i) {
    const Result<std::optional<ReservedHold>> other = take(store, variants[i], owner, by);
    if (!other) return other.error();
    probe.equal[i] = !*other;
  }
  std::string longest = unique;
  // Four bytes each: a store with a narrow character set refuses them.
  constexpr std::string_view wide = "\U0001F512";
  while (longest.size() + wide.size() <= max_name_bytes) longest += wide;
  longest.resize(max_name_bytes, 'x');
  const Result<std::optional<ReservedHold>> other = take(store, longest, owner, by);
  if (!other) {
    if (other.error().retryable() || other.error().may_have_applied()) return other.error();
    probe.refused = other.error();
  }
  return probe;
}

}  // namespace lockset::migrate
