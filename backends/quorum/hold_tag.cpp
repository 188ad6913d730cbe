#include "backends/quorum/hold_tag.h"

#include <charconv>
#include <cstddef>

namespace lockset::quorum {
namespace {

constexpr std::string_view tag_sign = "+q";
constexpr char proposal_sign = '.';
constexpr std::size_t token_digits = 32;

bool read_token(std::string_view digits, Token& token) {
  for (std::size_t i = 0; i < token.bytes.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    const auto [end, failed] = std::from_chars(at, at + 2, token.bytes[i], 16);
    if (failed != std::errc{} || end != at + 2) return false;
  }
  return true;
}

}  // namespace

std::string tagged(std::string_view instance, const HoldTag& tag) {
  std::string result(instance);
  result += tag_sign;
  result += tag.token.hex();
  result += proposal_sign;
  result += std::to_string(tag.proposal.value);
  return result;
}

std::optional<HoldTag> tag_of(std::string_view instance) {
  const std::size_t at = instance.rfind(tag_sign);
  if (at == std::string_view::npos) return {};
  const std::string_view text = instance.substr(at + tag_sign.size());
  if (text.size() < token_digits + 2 || text[token_digits] != proposal_sign) return {};
  HoldTag tag;
  if (!read_token(text.substr(0, token_digits), tag.token)) return {};
  const char* const last = text.data() + text.size();
  const auto [end, failed] =
      std::from_chars(text.data() + token_digits + 1, last, tag.proposal.value);
  if (failed != std::errc{} || end != last || tag.proposal.value < 0) return {};
  return tag;
}

std::string_view without_tag(std::string_view instance) {
  return tag_of(instance) ? instance.substr(0, instance.rfind(tag_sign)) : instance;
}

}  // namespace lockset::quorum
