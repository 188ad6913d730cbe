#include "tools/options.h"

#include <boost/program_options.hpp>
#include <charconv>

#include "lockset/lock_set.h"
#include "tools/nearest.h"

namespace lockset::tools {

namespace po = boost::program_options;
using Texts = std::vector<std::string>;

GivenOptions::GivenOptions(std::string help, std::initializer_list<std::string_view> known,
                           const std::vector<std::string>& words, bool may_have_operands)
    : help_(std::move(help)) {
  po::options_description options;
  auto add = options.add_options();
  Texts names;
  for (const std::string_view each : known) {
    const std::string name(each.substr(0, each.find('=')));
    const std::string_view takes = each.substr(name.size());
    if (takes.empty()) add(name.c_str(), "");
    if (takes == "=") add(name.c_str(), po::value<std::string>());
    if (takes == "=*") add(name.c_str(), po::value<Texts>());
    if (takes == "=...") add(name.c_str(), po::value<Texts>()->multitoken());
    names.push_back("--" + name.substr(0, name.find(',')));
  }
  try {
    const po::parsed_options parsed =
        po::command_line_parser(words)
            .options(options)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .run();
    for (const po::option& each : parsed.options) {
      if (!each.string_key.empty()) continue;
      if (!may_have_operands) throw po::too_many_positional_options_error();
      operands_.insert(operands_.end(), each.value.begin(), each.value.end());
    }
    po::variables_map values;
    po::store(parsed, values);
    for (const auto& [name, value] : values) {
      const auto* const one = boost::any_cast<std::string>(&value.value());
      given_[name] = one != nullptr ? Texts{*one} : value.as<Texts>();
    }
  } catch (const po::unknown_option& error) {
    const std::string& typed = error.get_option_name();
    throw wrong("there is no option " + in_quotes(typed) +
                did_you_mean(typed, std::vector<std::string_view>(names.begin(), names.end())));
  } catch (const po::error& error) {
    throw wrong(error.what());
  }
}

const std::string* GivenOptions::text(std::string_view name) const {
  const Texts& all = texts(name);
  return all.empty() ? nullptr : &all.front();
}

const std::vector<std::string>& GivenOptions::texts(std::string_view name) const {
  static const Texts none;
  const auto at = given_.find(name);
  return at == given_.end() ? none : at->second;
}

std::optional<std::uint64_t> GivenOptions::number(std::string_view name, std::uint64_t least,
                                                  std::uint64_t most) const {
  const std::string* const given = text(name);
  if (given == nullptr) return {};
  std::uint64_t value = 0;
  const char* const end = given->data() + given->size();
  const auto [at, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most) {
    throw wrong_value(name,
                      "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Failure GivenOptions::wrong(const std::string& what) const {
  return {exit_usage, what + "; see " + help_};
}

Failure GivenOptions::wrong_value(std::string_view name, const std::string& takes) const {
  return wrong("--" + std::string(name) + " takes " + takes + ", not " + in_quotes(*text(name)));
}

}  // namespace lockset::tools
