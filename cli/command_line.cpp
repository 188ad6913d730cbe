#include "cli/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <string_view>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::cli {

using namespace tools;
namespace {

namespace po = boost::program_options;

constexpr const char* operand_key = "operand";

// "name,n": the form that Boost expects.
std::string boost_name(const Option& option) {
  std::string name(option.name);
  if (option.letter != 0) name += std::string(",") + option.letter;
  return name;
}

po::options_description description(std::span<const Opt> known) {
  po::options_description result;
  for (const Opt id : known) {
    const Option& each = option(id);
    if (each.type == Type::flag) {
      result.add_options()(boost_name(each).c_str(), "");
    } else {
      result.add_options()(boost_name(each).c_str(), po::value<std::string>(), "");
    }
  }
  result.add_options()(operand_key, po::value<std::vector<std::string>>(), "");
  return result;
}

const Option* find(std::span<const Opt> known, std::string_view key) {
  for (const Opt id : known) {
    if (option(id).name == key) return &option(id);
  }
  return nullptr;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words, std::span<const Opt> known,
                               std::string_view command) {
  const auto usage = [&](const std::string& what) {
    return Failure(exit_usage, what + "; see lockset help " + std::string(command));
  };
  CommandLine result;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  result.has_child = dashes != words.end();
  if (result.has_child) result.child.assign(dashes + 1, words.end());

  try {
    po::positional_options_description operands;
    operands.add(operand_key, -1);
    const po::options_description options = description(known);
    const po::parsed_options parsed =
        po::command_line_parser(std::vector<std::string>(words.begin(), dashes))
            .options(options)
            .positional(operands)
            // Abbreviations would change their meaning with a later version.
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .run();
    for (const po::option& each : parsed.options) {
      if (each.string_key == operand_key) {
        if (each.position_key < 0) throw usage("unknown option --operand");
        result.operands.insert(result.operands.end(), each.value.begin(), each.value.end());
        continue;
      }
      const Option* const known_option = find(known, each.string_key);
      if (known_option == nullptr) throw usage("unknown option --" + each.string_key);
      result.given[known_option->id].push_back(each.value.empty() ? "" : each.value.front());
    }
  } catch (const po::unknown_option& error) {
    std::vector<std::string_view> names;
    for (const Opt id : known) names.push_back(option(id).name);
    const std::string typed = error.get_option_name();
    const std::size_t start = typed.find_first_not_of('-');
    const std::string bare = start == std::string::npos ? typed : typed.substr(start);
    throw usage("unknown option " + in_quotes(typed) + did_you_mean(bare, names, "--"));
  } catch (const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    const std::size_t start = name.find_first_not_of('-');
    const Option* const about =
        start == std::string::npos ? nullptr : find(known, std::string_view(name).substr(start));
    if (about != nullptr && about->type == Type::flag) throw usage(name + " takes no value");
    throw usage(name + " needs a value (a value that begins with - is written " + name +
                "=-value)");
  } catch (const po::error& error) {
    throw usage(error.what());
  }
  return result;
}

}  // namespace lockset::cli
