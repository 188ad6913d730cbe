// lockset check-history: whether a recorded run kept what Lockset promises. The only command
// that asks no store, and that uses more than the public headers: the checker, which the
// tests use as well.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/file_descriptor.h"
#include "cli/table.h"
#include "core/history/check.h"
#include "core/history/text.h"

namespace lockset::cli {
namespace {

namespace fs = std::filesystem;

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

[[noreturn]] void fail_read(const std::string& path, const std::string& why) {
  throw Failure(exit_bad_data, "can't read the history " + shown(path) + ": " + why);
}

std::string read_all(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail_read(path, std::strerror(errno));
  std::string text;
  // A file that still grows is read as far as it goes now.
  text.resize(static_cast<std::size_t>(std::max<off_t>(status.st_size, 1 << 16)));
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(2 * size);
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(path, std::strerror(errno));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

// A folder stands for its files, in the order of their names.
std::vector<std::string> files_of(const std::vector<std::string>& operands) {
  std::vector<std::string> files;
  for (const std::string& operand : operands) {
    std::error_code error;
    if (!fs::is_directory(operand, error)) {
      files.push_back(operand);
      continue;
    }
    std::vector<std::string> inside;
    for (fs::directory_iterator each(operand, error), end; !error && each != end;
         each.increment(error)) {
      if (each->is_regular_file(error)) inside.push_back(each->path().string());
    }
    if (error) fail_read(operand, error.message());
    if (inside.empty()) fail_read(operand, "it is a folder without files");
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

history::Log read_log(const std::string& path) {
  Result<history::Log> log = history::parse_log(read_all(path), shown(path));
  if (!log) throw Failure(exit_bad_data, log.error().message);
  return std::move(*log);
}

// Each processor reads files, for half of the work is reading.
history::History read_logs(const std::vector<std::string>& files) {
  history::History logs(files.size());
  std::atomic<std::size_t> next = 0;
  const auto read_some = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) logs[i] = read_log(files[i]);
  };
  std::vector<std::future<void>> readers;
  const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(processors, files.size()); ++i) {
    readers.push_back(std::async(std::launch::async, read_some));
  }
  for (std::future<void>& each : readers) each.get();
  return logs;
}

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

std::string table_of(const history::Report& report) {
  const history::Counts& counts = report.counts;
  Table table({"COUNTED", ""});
  const auto add = [&](const char* what, std::uint64_t count) {
    table.add({what, std::to_string(count)});
  };
  add("operations", counts.operations);
  add("grants", counts.grants);
  add("overlaps", counts.overlaps);
  add("busy", counts.busy);
  add("busy without reason", counts.spurious_busy);
  add("timeouts", counts.timeouts);
  add("unknown", counts.unknown);
  add("refused", counts.refused);
  add("lost", counts.lost);
  add("kills", counts.kills);
  add("stops", counts.stops);
  add("other faults", counts.faults);
  add("snapshots", counts.snapshots);
  add("uses of the resource", counts.uses);
  table.add({"longest time without a grant", milliseconds(counts.longest_without_grant)});
  return table.text();
}

std::string verdict_of(const history::Report& report) {
  Table table({"INVARIANT", "VIOLATIONS"});
  for (std::size_t i = 0; i < history::invariant_count; ++i) {
    table.add({std::string(to_string(static_cast<history::Invariant>(i))),
               report.found[i] == 0 ? "none" : std::to_string(report.found[i])});
  }
  return table.text();
}

}  // namespace

int check_history_command(const Invocation& invocation) {
  check_operands(invocation, 1, std::string::npos, "check-history FILE...");
  history::Rules rules;
  if (invocation.settings.has(Opt::per_name)) rules.stamps = history::Rules::StampOrder::per_name;
  const history::History logs = read_logs(files_of(invocation.line.operands));
  const Result<history::Report> report = history::check(logs, rules);
  if (!report) throw Failure(exit_bad_data, report.error().message);
  for (const history::Violation& each : report->violations) {
    print(std::string(to_string(each.invariant)) + " is broken: " + each.story + "\n\n");
  }
  print(table_of(*report) + "\n" + verdict_of(*report));
  for (const std::string& why : report->vacuous) print("Shows too little: " + why + "\n");
  return report->kept() ? exit_ok : exit_not_kept;
}

}  // namespace lockset::cli
