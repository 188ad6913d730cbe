// How a store treats names that are nearly equal and a name of the greatest length, and what its
// clock says. Probed with holds on reserved names.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string_view>

#include "migration/store.h"

namespace lockset::migrate {

inline constexpr std::array<std::string_view, 3> name_variants{
    "upper and lower case alone", "a trailing blank alone", "the normalisation form alone"};

struct NameProbe {
  // For each of the variants: the two names excluded each other.
  std::array<bool, name_variants.size()> equal{};
  // Why a name of the greatest length was not taken; unset if it was.
  std::optional<Error> refused;
  Stamp stamp;                        // drawn by the probe
  std::chrono::microseconds ahead{};  // the store's calendar against this machine's
  std::chrono::microseconds blur{};   // `ahead` may be wrong by this much

  // Whether `other` shows the hold that the probe took in its own store: then the two are one
  // space. False if it can't be asked.
  [[nodiscard]] bool shown_in(SteeredStore& other, TimePoint by) const;

  std::shared_ptr<ReservedHold> hold;  // on `name`, for shown_in
  std::string name;
};

// Its holds are released on return, except NameProbe::hold.
Result<NameProbe> probe_names(SteeredStore& store, const Owner& owner, const Clock& clock,
                              TimePoint by);

}  // namespace lockset::migrate
