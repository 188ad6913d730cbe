#include "lockset/observation.h"

#include <algorithm>
#include <charconv>

#include "core/percent.h"
#include "lockset/lock_set.h"

namespace lockset {
namespace {

constexpr std::string_view text_version = "seen-1";

Error bad_text(std::string_view text, const std::string& why) {
  constexpr std::size_t most = 60;
  const bool cut = text.size() > most;
  return {Errc::invalid, "bad observation " + in_quotes(text.substr(0, most)) +
                             (cut ? "...: " : ": ") + why + "; copy it whole, as it was printed"};
}

std::optional<Observation::Item> parse_item(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos) return {};
  std::optional<std::string> name = percent_decoded(text.substr(0, at));
  std::string_view digits = text.substr(at + 1);
  const bool being_written = digits.ends_with('w');
  if (being_written) digits.remove_suffix(1);
  std::int64_t stamp = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, stamp);
  if (!name || read.ec != std::errc{} || read.ptr != end) return {};
  return Observation::Item{std::move(*name), {stamp}, being_written};
}

}  // namespace

Result<Observation> Observation::make(std::vector<Item> items) {
  if (items.empty())
    return Error{Errc::invalid, "an observation of nothing: name at least one lock"};
  std::vector<LockRequest> names;
  for (const Item& item : items) names.push_back(write(item.name));
  const Result<LockSet> set = LockSet::make(std::move(names));
  if (!set) return set.error();
  if (set->size() != items.size()) return Error{Errc::invalid, "a name is observed twice"};
  std::sort(items.begin(), items.end(),
            [](const Item& one, const Item& other) { return one.name < other.name; });
  for (const Item& item : items) {
    if (item.last_write) continue;
    return Error{Errc::invalid, "the stamp of " + in_quotes(item.name) + " is not positive"};
  }
  return Observation(std::move(items));
}

std::string Observation::to_string() const {
  std::string text(text_version);
  for (const Item& item : items()) {
    text += "," + percent_encoded(item.name) + "=" + std::to_string(item.last_write.value);
    if (item.being_written) text += "w";
  }
  return text;
}

Result<Observation> Observation::parse(std::string_view text) {
  std::string_view rest = text;
  if (!rest.starts_with(text_version)) {
    return bad_text(text, "it does not begin with " + std::string(text_version));
  }
  rest.remove_prefix(text_version.size());
  std::vector<Item> items;
  while (!rest.empty()) {
    const std::size_t end = rest.find(',', 1);
    std::optional<Item> item =
        rest.front() == ',' ? parse_item(rest.substr(1, end - 1)) : std::optional<Item>();
    if (!item) return bad_text(text, in_quotes(rest.substr(0, 60)) + " is not ,NAME=STAMP");
    items.push_back(std::move(*item));
    rest.remove_prefix(std::min(end, rest.size()));
  }
  Result<Observation> made = make(std::move(items));
  if (!made) return bad_text(text, made.error().message);
  return made;
}

bool Observation::operator==(const Observation& other) const {
  return std::ranges::equal(items(), other.items());
}

}  // namespace lockset
