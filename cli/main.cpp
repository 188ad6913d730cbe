// lockset: named read/write locks for shells, cron jobs and deploys.
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "cli/chat.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/output.h"
#include "cli/process.h"
#include "core/shortage.h"
#include "lockset/error.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Takes the command's name, one word or two, from the front of `words`.
const Command& take_command(std::vector<std::string>& words) {
  std::string name = words.front();
  words.erase(words.begin());
  std::vector<std::string_view> second_words;
  for (const Command& each : all_commands()) {
    if (each.name.starts_with(name + " "))
      second_words.push_back(each.name.substr(name.size() + 1));
  }
  if (second_words.empty()) return find_command(name);
  std::string choice;
  for (const std::string_view word : second_words) {
    choice += (choice.empty() ? "" : ", ") + std::string(word);
  }
  if (words.empty() || words.front().starts_with('-')) {
    throw Failure(exit_usage, name + " needs one of: " + choice);
  }
  const std::string full = name + " " + words.front();
  for (const Command& each : all_commands()) {
    if (each.name != full) continue;
    words.erase(words.begin());
    return each;
  }
  throw Failure(exit_usage, "there is no command " + in_quotes(full) +
                                did_you_mean(words.front(), second_words, "lockset " + name + " ") +
                                "; there are: " + choice);
}

int help(std::vector<std::string> words) {
  if (words.empty()) {
    print(general_help());
    return exit_ok;
  }
  if (words.front() == "--man" && words.size() == 2) {
    write_manual(words.back());
    return exit_ok;
  }
  constexpr std::pair<std::string_view, std::string (*)()> shells[] = {
      {"--bash", bash_completion}, {"--zsh", zsh_completion}, {"--fish", fish_completion}};
  for (const auto& [shell, completion] : shells) {
    if (words.front() != shell || words.size() != 1) continue;
    print(completion());
    return exit_ok;
  }
  if (words.front() == "--known" && words.size() == 2) {
    if (words.back() == "names") print(known_names());
    if (words.back() == "stamps") print(known_stamps());
    return exit_ok;
  }
  // `help permits` shows all permits commands.
  bool found = false;
  for (const Command& each : all_commands()) {
    if (words.size() == 1 && each.name.starts_with(words.front() + " ")) {
      print((found ? "\n" : "") + help_of(each));
      found = true;
    }
  }
  if (!found) print(help_of(take_command(words)));
  return exit_ok;
}

int dispatch(std::vector<std::string> words) {
  if (words.empty()) {
    throw Failure(exit_usage, "which command? see lockset help");
  }
  const std::string first = words.front();
  if (first == "--help" || first == "-h") return help({});
  if (first == "--version" || first == "-V" || first == "version") {
    print("lockset " LOCKSET_VERSION "\n");
    return exit_ok;
  }
  if (first == "help") return help({words.begin() + 1, words.end()});
  if (first.starts_with('-')) {
    throw Failure(exit_usage, "the command goes first, its options after it: lockset COMMAND " +
                                  std::string(in_quotes(first)) + " ...; see lockset help");
  }
  for (std::size_t i = 1; i < words.size() && i < 3 && words[i] != "--"; ++i) {
    if (words[i] != "--help" && words[i] != "-h") continue;
    return help({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i)});
  }
  const Command& command = take_command(words);
  Invocation invocation;
  invocation.line = parse_command_line(words, command.options, command.name);
  if (invocation.line.given.contains(Opt::help)) {
    print(help_of(command));
    return exit_ok;
  }
  if (const auto form = invocation.line.given.find(Opt::log); form != invocation.line.given.end()) {
    set_log_form(form->second.back());  // also for what is wrong with the settings
  }
  invocation.settings = Settings::load(invocation.line);
  set_log_form(invocation.settings.text(Opt::log));
  return command.run(invocation);
}

}  // namespace
}  // namespace lockset::cli

int main(int argc, char** argv) {
  using namespace lockset::cli;
  settle_process();
  // For the width of characters in tables; nothing else depends on the locale.
  if (std::setlocale(LC_CTYPE, "") == nullptr ||
      std::strcmp(std::setlocale(LC_CTYPE, nullptr), "C") == 0) {
    std::setlocale(LC_CTYPE, "C.UTF-8");
  }
  if (const char* const form = std::getenv("LOCKSET_LOG")) set_log_form(form);
  try {
    int code = dispatch({argv + (argc > 0 ? 1 : 0), argv + argc});
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && code == exit_ok) {
      say_error(std::string("can't write standard output: ") + std::strerror(errno));
      code = exit_output;
    }
    return code;
  } catch (const Failure& failure) {
    if (*failure.what() != '\0') say_error(failure.what());
    return failure.code();
  } catch (const lockset::LockError& error) {
    say_error(error.what());
    return exit_code_of(error.error().code);
  } catch (const std::system_error& error) {
    say_error("the system refused what lockset needs: " +
              lockset::text_of_errno(error.code().value()));
    return exit_system;
  } catch (const std::exception& error) {
    say_error(std::string("internal error: ") + error.what());
    return exit_internal;
  }
}
