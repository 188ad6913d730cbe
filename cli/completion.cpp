#include "cli/completion.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cli/command.h"
#include "cli/open_space.h"
#include "lockset/lock_set.h"
#include "lockset/registry.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator = " ") {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// What can stand in a place: fixed words, or what only the shell or the store knows.
struct Choice {
  enum class Kind { nothing, words, names, stamps, files } kind = Kind::nothing;
  std::vector<std::string> words = {};
};

Choice choice_of(Operands operands) {
  switch (operands) {
    case Operands::names:
      return {Choice::Kind::names};
    case Operands::stamps:
      return {Choice::Kind::stamps};
    case Operands::files:
      return {Choice::Kind::files};
    case Operands::none:
      break;
  }
  return {};
}

Choice choice_of(Type type) {
  if (type == Type::path) return {Choice::Kind::files};
  if (type == Type::name) return {Choice::Kind::names};
  if (type == Type::url) {
    Choice choice{Choice::Kind::words};
    for (const Scheme& scheme : builtin_schemes()) {
      choice.words.push_back(std::string(scheme.name) + ":");
      if (!scheme.also.empty()) choice.words.push_back(std::string(scheme.also) + ":");
    }
    return choice;
  }
  std::vector<std::string> words = words_of(type);
  if (words.empty()) return {};
  return {Choice::Kind::words, std::move(words)};
}

// "permits": {"list", "get", ...}
std::map<std::string, std::vector<std::string>> groups() {
  std::map<std::string, std::vector<std::string>> found;
  for (const Command& each : all_commands()) {
    const std::size_t blank = each.name.find(' ');
    if (blank == std::string_view::npos) continue;
    found[std::string(each.name.substr(0, blank))].emplace_back(each.name.substr(blank + 1));
  }
  return found;
}

// The first words, each with what it is for.
std::vector<std::pair<std::string, std::string>> first_words() {
  std::vector<std::pair<std::string, std::string>> found{{"help", "show the help of a command"}};
  for (const Command& each : all_commands()) {
    const std::string first(each.name.substr(0, each.name.find(' ')));
    if (found.back().first == first) continue;
    found.emplace_back(first, first == each.name ? std::string(each.summary) : first + " ...");
  }
  return found;
}

std::string first_words_alone() {
  std::vector<std::string> words;
  for (const auto& [word, summary] : first_words()) words.push_back(word);
  return joined(words);
}

// In single quotes, as sh and zsh read it.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The settings of the environment and the file, in less time than a person notices.
std::optional<Locks> open_quietly() {
  const Settings settings = Settings::load({});
  constexpr std::chrono::milliseconds patience(1000);
  const std::string& url = settings.text(Opt::url);
  const auto findings = examine_space(url, BootClock::now() + patience);
  if (!findings) return {};
  for (const Finding& each : *findings) {
    if (each.no_space) return {};  // opening might make one
  }
  Options options = options_of(settings, "lockset");
  options.io_timeout = std::min<Duration>(options.io_timeout, patience);
  Result<Locks> locks = open(url, options);
  if (!locks) return {};
  return std::move(*locks);
}

// `text`, unless anything at all fails.
std::string quietly(const std::function<std::string()>& text) {
  try {
    return text();
  } catch (const std::exception&) {
    return {};
  }
}

// --- bash and zsh ---

// Sets `kind`, and `words` if it is "words".
std::string assignment(const Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::nothing:
      return "kind=";
    case Choice::Kind::words:
      return "kind=words words='" + joined(choice.words) + "'";
    case Choice::Kind::names:
      return "kind=names";
    case Choice::Kind::stamps:
      return "kind=stamps";
    case Choice::Kind::files:
      return "kind=files";
  }
  return "kind=";
}

// The branches of a case on the command.
std::string cases_of_commands() {
  std::string text = "    '') kind=words words='" + first_words_alone() + "' ;;\n";
  text += "    help) kind=words words='" + first_words_alone() + "' ;;\n";
  for (const Command& each : all_commands()) {
    std::vector<std::string> options;
    for (const Opt id : each.options) options.push_back("--" + std::string(option(id).name));
    text += "    '" + std::string(each.name) + "') " + assignment(choice_of(each.operands)) +
            " options='" + joined(options) + "' ;;\n";
  }
  for (const auto& [group, words] : groups()) {
    text += "    " + group + "*) kind=words words='" + joined(words) + "' ;;\n";
  }
  return text;
}

// The branches of a case on the command and the word before: an option with a value.
std::string cases_of_values() {
  std::string text;
  for (const Command& each : all_commands()) {
    for (const Opt id : each.options) {
      const Option& one = option(id);
      if (one.type == Type::flag) continue;
      const std::string command(each.name);
      std::string pattern = "'" + command + " --" + std::string(one.name) + "'";
      if (one.letter != 0) pattern += "|'" + command + " -" + one.letter + "'";
      text += "    " + pattern + ") options= " + assignment(choice_of(one.type)) + " ;;\n";
    }
  }
  return text;
}

std::string group_cases(std::string_view second_word) {
  std::string text;
  for (const auto& [group, words] : groups()) {
    text += "    " + group + ") " + std::string(second_word) + " ;;\n";
  }
  return text;
}

// --- fish ---

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// The arguments of `complete` for the choice.
std::string fish_arguments(const Choice& choice) {
  switch (choice.kind) {
    case Choice::Kind::nothing:
      return " -x";
    case Choice::Kind::words:
      return " -x -a " + fish_quoted(joined(choice.words));
    case Choice::Kind::names:
      return " -x -a '(lockset help --known names 2>/dev/null)'";
    case Choice::Kind::stamps:
      return " -x -a '(lockset help --known stamps 2>/dev/null)'";
    case Choice::Kind::files:
      return " -r";
  }
  return " -x";
}

}  // namespace

std::string bash_completion() {
  return R"sh(# Completion of lockset for bash, made by `lockset help --bash`.
_lockset() {
  local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} typed i line kind= words= options=
  for ((i = 2; i < COMP_CWORD; i++)); do
    # What follows -- is another command.
    if [ "${COMP_WORDS[i]}" = -- ]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); fi
      return
    fi
  done
  # bash takes --url=x apart.
  if [ "$word" = = ]; then word=; elif [ "$last" = = ]; then last=${COMP_WORDS[COMP_CWORD - 2]}; fi
  typed=${COMP_WORDS[1]}
  [ "$COMP_CWORD" -gt 1 ] || typed=
  case $typed in
)sh" + group_cases("[ \"$COMP_CWORD\" -le 2 ] || typed+=\" ${COMP_WORDS[2]}\"") +
         "  esac\n  case $typed in\n" + cases_of_commands() +
         "  esac\n  case \"$typed $last\" in\n" + cases_of_values() + R"sh(  esac
  case $word in -*) kind=words words=$options ;; esac
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word") ;;
    names | stamps)
      COMPREPLY=()
      while IFS= read -r line; do
        line=${line%%$'\t'*}
        case $line in "$word"*) COMPREPLY+=("$(printf %q "$line")") ;; esac
      done < <(lockset help --known "$kind" 2>/dev/null)
      ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$word"; fi
}
complete -F _lockset lockset
)sh";
}

std::string zsh_completion() {
  std::string described;
  for (const Command& each : all_commands()) {
    described += "    '" + std::string(each.name) + "') described=(";
    for (const Opt id : each.options) {
      std::string help(option(id).help);
      for (std::size_t at = 0; (at = help.find(':', at)) != std::string::npos; at += 2) {
        help.insert(at, "\\");
      }
      described += shell_quoted("--" + std::string(option(id).name) + ":" + help) + " ";
    }
    described.back() = ')';
    described += " ;;\n";
  }
  return R"sh(#compdef lockset
# Completion of lockset for zsh, made by `lockset help --zsh`.
_lockset() {
  local word=$words[CURRENT] last=$words[CURRENT-1] typed= kind= options= i
  local choices=
  local -a described
  for ((i = 3; i < CURRENT; i++)); do
    # What follows -- is another command.
    if [[ $words[i] == -- ]]; then
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    fi
  done
  ((CURRENT > 2)) && typed=$words[2]
  case $typed in
)sh" + group_cases("((CURRENT <= 3)) || typed+=\" $words[3]\"") +
         "  esac\n" +
         [] {
           // `words` is what was typed.
           std::string text = "  case $typed in\n" + cases_of_commands() +
                              "  esac\n  case \"$typed $last\" in\n" + cases_of_values() +
                              "  esac\n";
           for (std::size_t at = 0; (at = text.find(" words='", at)) != std::string::npos;) {
             text.replace(at, 7, " choices=");
             at += 9;
           }
           return text;
         }() +
         R"sh(  if [[ $word == -* ]]; then
    case $typed in
)sh" + described +
         R"sh(    esac
    [[ -z $options ]] || _describe -o option described
    return
  fi
  case $kind in
    words) compadd -S '' -- ${=choices} ;;
    names) compadd -- ${(f)"$(lockset help --known names 2>/dev/null)"} ;;
    stamps) compadd -- ${${(f)"$(lockset help --known stamps 2>/dev/null)"}%%$'\t'*} ;;
    files) _files ;;
  esac
}
if [[ $funcstack[1] == _lockset ]]; then _lockset "$@"; elif (($+functions[compdef])); then compdef _lockset lockset; fi
)sh";
}

std::string fish_completion() {
  std::string text = R"sh(# Completion of lockset for fish, made by `lockset help --fish`.
# The command that was typed, one word or two; fails behind --.
function __lockset_typed
    set -l words (commandline -opc)
    set -e words[1]
    contains -- -- $words; and return 1
    switch "$words[1]"
        case )sh";
  std::vector<std::string> names;
  for (const auto& [group, words] : groups()) names.push_back(group);
  text += joined(names) + R"sh(
            echo (string trim -- "$words[1] $words[2]")
        case '*'
            echo "$words[1]"
    end
end
function __lockset_is
    test (count (commandline -opc)) -gt 1; or test -z "$argv"; or return 1
    set -l typed (__lockset_typed); and test "$typed" = "$argv"
end
# What follows -- is another command.
function __lockset_behind
    contains -- -- (commandline -opc)
end
function __lockset_other_command
    set -l words (commandline -opc)
    while test "$words[1]" != --
        set -e words[1]
    end
    set -e words[1]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c lockset -f
complete -c lockset -n __lockset_behind -x -a '(__lockset_other_command)'
)sh";
  for (const auto& [word, summary] : first_words()) {
    text += "complete -c lockset -n '__lockset_is \"\"' -x -a " + word + " -d " +
            fish_quoted(summary) + "\n";
  }
  text += "complete -c lockset -n '__lockset_is help' -x -a '" + first_words_alone() + "'\n";
  for (const auto& [group, words] : groups()) {
    text += "complete -c lockset -n '__lockset_is " + group + "' -x -a '" + joined(words) + "'\n";
  }
  for (const Command& each : all_commands()) {
    const std::string begin =
        "complete -c lockset -n '__lockset_is " + std::string(each.name) + "'";
    const Choice operands = choice_of(each.operands);
    if (operands.kind != Choice::Kind::nothing) text += begin + fish_arguments(operands) + "\n";
    for (const Opt id : each.options) {
      const Option& one = option(id);
      text += begin;
      if (one.letter != 0) text += std::string(" -s ") + one.letter;
      text += " -l " + std::string(one.name);
      if (one.type != Type::flag) text += fish_arguments(choice_of(one.type));
      text += " -d " + fish_quoted(one.help) + "\n";
    }
  }
  return text;
}

std::string known_names() {
  return quietly([] {
    std::optional<Locks> locks = open_quietly();
    if (!locks) return std::string();
    const Inspection inspection = or_fail(locks->inspect());
    std::set<std::string> names;
    for (const HoldInfo& hold : inspection.holds) {
      for (const LockRequest& item : hold.items) names.insert(item.name);
    }
    for (const WaiterInfo& waiter : inspection.waiters) {
      for (const LockRequest& item : waiter.items) names.insert(item.name);
    }
    for (const auto& [name, permits] : or_fail(locks->load_config()).permits) names.insert(name);
    std::string text;
    for (const std::string& name : names) text += name + "\n";
    return text;
  });
}

std::string known_stamps() {
  return quietly([] {
    std::optional<Locks> locks = open_quietly();
    if (!locks) return std::string();
    std::string text;
    for (const HoldInfo& hold : or_fail(locks->inspect()).holds) {
      std::vector<std::string> items;
      for (const LockRequest& item : hold.items) {
        items.push_back(std::string(to_string(item.mode)) + " " + item.name);
      }
      text += std::to_string(hold.stamp.value) + "\t" + joined(items, ", ") + "\n";
    }
    return text;
  });
}

}  // namespace lockset::cli
