#include "backends/migrate/hold_tag.h"

#include <array>
#include <charconv>

namespace lockset::migrate {
namespace {

constexpr char tag_sign = '+';
constexpr char version_sign = '-';
constexpr char migration_sign = ':';
constexpr char stamp_sign = '.';

}  // namespace

std::string tagged(std::string_view instance, const HoldTag& tag) {
  std::string result(instance);
  result += tag_sign;
  result += std::to_string(static_cast<int>(tag.phase));
  if (tag.migration != 0) {
    std::array<char, 8> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), tag.migration, 16);
    result += migration_sign;
    result += std::string_view(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  }
  if (tag.in_old) result += stamp_sign + std::to_string(tag.in_old.value);
  return result;
}

std::optional<HoldTag> tag_of(std::string_view instance) {
  const std::size_t at = instance.rfind(tag_sign);
  if (at == std::string_view::npos) return {};
  std::string_view text = instance.substr(at + 1);
  if (text.empty() || text[0] < '0' || text[0] > '4') return {};
  HoldTag tag{.phase = static_cast<MigrationPhase>(text[0] - '0')};
  text.remove_prefix(1);
  // Reads a number after the sign, if the sign is next.
  const auto read = [&text](char sign, auto& number, int base) {
    if (text.empty() || text[0] != sign) return true;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data() + 1, last, number, base);
    if (failed != std::errc{} || number <= 0) return false;
    text = std::string_view(end, static_cast<std::size_t>(last - end));
    return true;
  };
  if (!read(migration_sign, tag.migration, 16) || !read(stamp_sign, tag.in_old.value, 10) ||
      !text.empty()) {
    return {};
  }
  return tag;
}

std::optional<HoldTag> tag_of(std::string_view instance, std::uint32_t migration) {
  std::optional<HoldTag> tag = tag_of(instance);
  if (tag && tag->phase != MigrationPhase::old_only && tag->migration != migration) tag.reset();
  return tag;
}

std::string_view without_tag(std::string_view instance) {
  return tag_of(instance) ? instance.substr(0, instance.rfind(tag_sign)) : instance;
}

std::string version_of(std::string_view instance) {
  const std::size_t at = instance.find(version_sign);
  if (at == std::string_view::npos) return {};
  instance.remove_prefix(at + 1);
  return std::string(instance.substr(0, instance.find(tag_sign)));
}

}  // namespace lockset::migrate
