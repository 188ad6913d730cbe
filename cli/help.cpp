#include "cli/help.h"

#include <algorithm>

#include "lockset/registry.h"

namespace lockset::cli {
namespace {

constexpr std::size_t text_width = 88;

void pad(std::string& text, std::size_t from, std::size_t width) {
  const std::size_t used = text.size() - from;
  text.append(used < width ? width - used : 1, ' ');
}

// `words` broken into lines; all lines but the first are indented.
std::string wrapped(std::string_view words, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  while (!words.empty()) {
    const std::size_t end = words.find(' ');
    const std::string_view word = words.substr(0, end);
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
    if (column + 1 + word.size() > text_width && column > indent) {
      result += '\n';
      result.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

// A required option is in the synopsis without brackets.
bool is_required(const Option& option, std::string_view synopsis) {
  return synopsis.find(" --" + std::string(option.name) + " ") != std::string_view::npos;
}

std::string option_lines(std::span<const Opt> ids, std::string_view synopsis) {
  constexpr std::size_t column = 32;
  std::string text;
  for (const Opt id : ids) {
    const Option& each = option(id);
    const std::size_t start = text.size();
    text += each.letter != 0 ? "  " : "      ";
    text += spelled(each);
    if (!each.value.empty()) text += " " + std::string(each.value);
    pad(text, start, column);
    text += wrapped(help_of_option(each, synopsis), column) + "\n";
  }
  return text;
}

constexpr std::string_view exit_codes = R"(Exit codes:
    0  done; run: COMMAND's own code, or 128 + the signal that ended it
    1  renew, release, break: there is no such hold (of this application);
       status --older-than: something is older;
       check-history: a promise was broken, or the files show too little
   64  wrong usage or bad input
   65  check-history: a file, or a line of it, can't be read
   69  the store can't be reached, or its answer was lost
   70  a fault of lockset itself
   71  the system has no process, thread or file descriptor left
   74  standard output could not be written
   75  the locks are not free (-n; -E changes the code);
       migrate: the step is blocked, but only temporarily
   78  bad configuration: file, environment, address, or a store that is not fit;
       migrate: the step is blocked until somebody acts
   79  run: the lock was lost while COMMAND ran, whatever code COMMAND returned
   80  validate, --unless-changed: what was observed was written since, or may have been
  124  the wait timed out (-w; -E changes the code)
  126  COMMAND can't be executed
  127  COMMAND was not found
  128 + n  signal n ended the wait
)";

constexpr std::string_view configuration =
    R"(Flags override environment variables, which override the file, which overrides the
default. The file is the first of --config FILE, $LOCKSET_CONFIG,
$XDG_CONFIG_HOME/lockset/lockset.conf (~/.config/lockset/lockset.conf) and
/etc/lockset.conf. It has lines `key = value`; # begins a comment.
)";

}  // namespace

std::string help_of_option(const Option& option, std::string_view synopsis) {
  std::string help(option.help);
  if (is_required(option, synopsis)) {
    help += " (required)";
  } else if (!option.fallback.empty()) {
    help += " (default: " + std::string(option.fallback) + ")";
  }
  if (!option.env.empty()) help += " [" + std::string(option.env) + "]";
  return help;
}

std::string_view help_of_configuration() noexcept { return configuration; }

std::string_view help_of_exit_codes() noexcept { return exit_codes; }

std::string general_help() {
  std::string text =
      "Usage: lockset COMMAND [OPTION]...\n"
      "Sets of named read/write locks, all or nothing, on the datastore you already run.\n\n"
      "Commands:\n";
  for (const Command& each : all_commands()) {
    const std::size_t start = text.size();
    text += "  " + std::string(each.name);
    pad(text, start, 17);
    text += std::string(each.summary) + "\n";
  }
  text += "  help [COMMAND]  show this, or the help of a command\n";
  text += "  help --man FOLDER, help --bash, help --zsh, help --fish\n";
  text += "                  write the manual pages; print the completion of a shell\n";
  text += "  --version       show the version\n\n";
  text += "Configuration:\n";
  text += configuration;
  text += "Keys:\n";
  std::string keys;
  for (const Option& each : all_options()) {
    if (each.in_file) keys += (keys.empty() ? "" : " ") + file_key(each);
  }
  text += "    " + wrapped(keys, 4) + "\n";
  text +=
      "Environment variables are named LOCKSET_URL, LOCKSET_APP and so on; an unknown one is\n"
      "ignored, with a warning if it looks misspelt. Passwords are never shown.\n\n"
      "Stores of this build:\n";
  for (const Scheme& scheme : builtin_schemes()) {
    text += "  " + std::string(scheme.example) + "\n";
  }
  text += "\n";
  text += exit_codes;
  text += "\nExample:\n  lockset run nightly-report -w 30s -- /usr/local/bin/report\n";
  return text;
}

std::string help_of(const Command& command) {
  std::string text = "Usage: lockset " + std::string(command.synopsis) + "\n\n";
  std::string summary(command.summary);
  if (!summary.empty()) summary[0] = static_cast<char>(summary[0] - 'a' + 'A');
  text += summary + ".\n\n";
  if (command.common > 0) {
    text += "Common options:\n";
    text += option_lines(command.options.first(command.common), command.synopsis) + "\n";
  }
  text += std::string(command.description);
  text += command.common > 0 ? "\n\nMore options:\n" : "\n\nOptions:\n";
  text += option_lines(command.options.subspan(command.common), command.synopsis);
  text += "D is a duration like 250ms, 30s, 5m, 1h30m or 1d.\n\n";
  text += exit_codes;
  text += "\nExamples:\n" + std::string(command.examples) + "\n";
  return text;
}

}  // namespace lockset::cli
