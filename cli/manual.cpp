#include "cli/manual.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/command.h"
#include "cli/help.h"
#include "lockset/lock_set.h"
#include "lockset/registry.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Text that troff shows as it is.
std::string escaped(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char each : text) {
    if (begins_line && (each == '.' || each == '\'')) result += "\\&";
    if (each == '\\') {
      result += "\\e";
    } else if (each == '-') {
      result += "\\-";
    } else {
      result += each;
    }
    begins_line = each == '\n';
  }
  return result;
}

std::string as_it_stands(std::string_view lines) {
  return ".nf\n" + escaped(lines) + (lines.ends_with('\n') ? "" : "\n") + ".fi\n";
}

// Paragraphs are filled, except those with indented lines: they are lists.
std::string paragraphs(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = text.find("\n\n");
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 2);
    const bool list = one.starts_with("  ") || one.find("\n  ") != std::string_view::npos;
    result += ".PP\n" + (list ? as_it_stands(one) : escaped(one) + "\n");
  }
  return result;
}

std::string page_name(std::string_view command) {
  std::string name = "lockset-" + std::string(command);
  for (char& each : name) {
    if (each == ' ') each = '-';
  }
  return name;
}

std::string title(const std::string& name, int section = 1) {
  return ".TH \"" + escaped(name) + "\" " + std::to_string(section) +
         " \"\" \"lockset " LOCKSET_VERSION "\" \"Lockset\"\n";
}

std::string name_line(const std::string& name, std::string_view summary) {
  return ".SH NAME\n" + escaped(name) + " \\- " + escaped(summary) + "\n";
}

std::string page_of(const Command& command) {
  std::string text =
      title(page_name(command.name)) + name_line(page_name(command.name), command.summary);
  text += ".SH SYNOPSIS\n" + as_it_stands("lockset " + std::string(command.synopsis));
  text += ".SH DESCRIPTION\n" + paragraphs(command.description) + ".SH OPTIONS\n";
  for (const Opt id : command.options) {
    const Option& each = option(id);
    std::string line = spelled(each);
    if (!each.value.empty()) line += " " + std::string(each.value);
    text +=
        ".TP\n.B " + escaped(line) + "\n" + escaped(help_of_option(each, command.synopsis)) + "\n";
  }
  text += ".PP\nD is a duration like 250ms, 30s, 5m, 1h30m or 1d.\n";
  text += ".SH EXIT STATUS\n" + as_it_stands(help_of_exit_codes());
  text += ".SH EXAMPLES\n" + as_it_stands(command.examples);
  return text +
         ".SH SEE ALSO\n.BR lockset (1),\n.BR lockset.conf (5),\n.BR lockset\\-backends (7)\n";
}

std::string main_page() {
  std::string text = title("lockset");
  text += name_line("lockset", "named read/write locks for shells, cron jobs and deploys");
  text += ".SH SYNOPSIS\n" + as_it_stands("lockset COMMAND [OPTION]...");
  text += ".SH DESCRIPTION\n" + as_it_stands(general_help()) + ".SH SEE ALSO\n";
  for (const Command& each : all_commands()) {
    text += ".BR " + escaped(page_name(each.name)) + " (1),\n";
  }
  return text + ".BR lockset.conf (5),\n.BR lockset\\-backends (7)\n";
}

// lockset.conf(5)
std::string file_page() {
  std::string text = title("lockset.conf", 5) + ".ad l\n";
  text += name_line("lockset.conf", "configuration of the lockset command");
  text += ".SH DESCRIPTION\n" + paragraphs(help_of_configuration());
  text += ".PP\nA section [migrate] stands for the keys that begin with migrate.\n";
  text += ".SH KEYS\n";
  for (const Option& each : all_options()) {
    if (!each.in_file) continue;
    text += ".TP\n.B " + escaped(file_key(each)) + " = " + escaped(each.value) + "\n" +
            escaped(help_of_option(each, "")) + "\n";
  }
  text += ".PP\nD is a duration like 250ms, 30s, 5m, 1h30m or 1d.\n";
  text += ".SH EXAMPLE\n" + as_it_stands(
                                "# All users of this host share one space.\n"
                                "url = postgresql://app@db.example/prod?space=jobs\n"
                                "password-file = /etc/lockset.password\n"
                                "patience = 1m\n");
  return text + ".SH SEE ALSO\n.BR lockset (1),\n.BR lockset\\-backends (7)\n";
}

// The parameters in the store's own table, which its message for any other one names.
std::string parameters_of(const Scheme& scheme) {
  const std::string example(scheme.example);
  const bool has_some = example.find('?') != std::string::npos;
  const auto refused =
      open_backend(example + (has_some ? "&" : "?") + "no_such_parameter=1", BootClock::now());
  if (refused) return {};
  const std::string& message = refused.error().message;
  for (const std::string_view before : {"; known are ", "; known is "}) {
    const std::size_t at = message.find(before);
    if (at != std::string::npos) return message.substr(at + before.size());
  }
  return {};
}

// lockset-backends(7)
std::string stores_page() {
  std::string text = title("lockset-backends", 7) + ".ad l\n";
  text += name_line("lockset-backends", "the stores of lockset and their addresses");
  text += ".SH DESCRIPTION\n" +
          paragraphs(
              "The address of a lock space is --url, LOCKSET_URL, or url in the file "
              "lockset.conf:\n\n"
              "  SCHEME:[//[USER[:PASSWORD]@]HOST[:PORT],...][/PATH][?KEY=VALUE&...]\n\n"
              "Characters with a meaning of their own are written as %XX. Put a password "
              "into a file (password-file).\n\n"
              "These are the stores of this build. docs/backends/ has a page for each of "
              "them, which says what a parameter means and what the store needs; lockset "
              "doctor says whether one is fit.");
  text += ".SH STORES\n";
  for (const Scheme& scheme : builtin_schemes()) {
    std::string name = std::string(scheme.name) + ":";
    if (!scheme.also.empty()) name += " " + std::string(scheme.also) + ":";
    text += ".TP\n.B " + escaped(name) + "\n" + escaped(scheme.example) + "\n";
    const std::string parameters = parameters_of(scheme);
    if (!parameters.empty()) text += ".br\n" + escaped("Parameters: " + parameters + ".") + "\n";
  }
  return text + ".SH SEE ALSO\n.BR lockset (1),\n.BR lockset\\-doctor (1),\n.BR lockset.conf (5)\n";
}

void write_page(const std::filesystem::path& folder, const std::string& name,
                const std::string& text, int section = 1) {
  const std::filesystem::path path = folder / (name + "." + std::to_string(section));
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    throw Failure(exit_output,
                  "can't write " + in_quotes(path.string()) + ": " + std::strerror(errno));
  }
}

}  // namespace

void write_manual(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    throw Failure(exit_output,
                  "can't make the folder " + in_quotes(folder) + ": " + failed.message());
  }
  write_page(folder, "lockset", main_page());
  write_page(folder, "lockset.conf", file_page(), 5);
  write_page(folder, "lockset-backends", stores_page(), 7);
  for (const Command& each : all_commands())
    write_page(folder, page_name(each.name), page_of(each));
}

}  // namespace lockset::cli
