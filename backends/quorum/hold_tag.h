// Which parts form one hold, as recorded at the end of the instance in each part's record, so that
// no node needs to know about it: "3f09...-0.1.0+q00112233445566778899aabbccddeeff.1700000000000".
//
// Plain values; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lockset/stamp.h"

namespace lockset::quorum {

struct HoldTag {
  Token token;     // of the attempt
  Stamp proposal;  // the stamp that the nodes were asked for
  bool operator==(const HoldTag&) const = default;
};

std::string tagged(std::string_view instance, const HoldTag& tag);
// Unset for a hold that no quorum took.
std::optional<HoldTag> tag_of(std::string_view instance);
std::string_view without_tag(std::string_view instance);

// --- stamps ---
//
// The stamp of a hold of the quorum is made from one stamp of a node. In its lowest four bits
// stands which one, so that no two holds have the same (ADR 0073).

inline constexpr int stamp_bits = 4;
// The lowest bits where a majority drew exactly the proposal.
inline constexpr int agreed = 15;

inline Stamp whole_stamp(Stamp part, int by) noexcept {
  return Stamp{(part.value << stamp_bits) | by};
}
inline Stamp part_of_stamp(Stamp whole) noexcept { return Stamp{whole.value >> stamp_bits}; }
// The index of the node that drew it, or `agreed`.
inline int drawn_by(Stamp whole) noexcept {
  return static_cast<int>(whole.value & ((1 << stamp_bits) - 1));
}
// The least stamp of a node that makes whole stamps of at least this.
inline Stamp least_part(Stamp whole) noexcept {
  return Stamp{(whole.value + (1 << stamp_bits) - 1) >> stamp_bits};
}

}  // namespace lockset::quorum
