// The command line of lockset-bench, chaos and the simulations. The command's own is
// cli/command_line.h.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/failure.h"

namespace lockset::tools {

// What was given; a copy of it. Options are written as "--name VALUE" or "--name=VALUE", and not
// abbreviated: a later option would change what an abbreviation means. Each name asked for below
// is the name of a known option. Every Failure has exit_usage and says where to read more.
class GivenOptions {
 public:
  // `help` is the command line that shows the help. `known` names what each option takes: "quick"
  // takes nothing, "help,h" has a letter too, "seed=" takes a value, "file=*" may be repeated,
  // "move=..." takes all words up to the next option. Throws a Failure if `words`, which don't
  // include the program's name, contain anything else, except operands if there may be any.
  GivenOptions(std::string help, std::initializer_list<std::string_view> known,
               const std::vector<std::string>& words, bool may_have_operands = false);

  [[nodiscard]] bool has(std::string_view name) const { return given_.contains(name); }
  // The value, or the first; nullptr: not given.
  [[nodiscard]] const std::string* text(std::string_view name) const;
  // All values or words; not given: none.
  [[nodiscard]] const std::vector<std::string>& texts(std::string_view name) const;
  // Throws a Failure if the value is not a decimal number from `least` to `most`.
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name, std::uint64_t least = 0,
                                                    std::uint64_t most = UINT64_MAX) const;
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }

  // To throw: wrong usage; and a given value that is not what the option takes.
  [[nodiscard]] Failure wrong(const std::string& what) const;
  [[nodiscard]] Failure wrong_value(std::string_view name, const std::string& takes) const;

 private:
  std::string help_;
  std::map<std::string, std::vector<std::string>, std::less<>> given_;
  std::vector<std::string> operands_;
};

}  // namespace lockset::tools
