#include "tools/history_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include "history/text.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"
#include "tools/table.h"

namespace lockset::tools {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_read(const std::string& path, const std::string& why) {
  throw Failure(exit_bad_data, "can't read the history " + shown(path) + ": " + why);
}

std::string read_all(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail_read(path, std::strerror(errno));
  std::string text;
  // If the file still grows, it is read up to its present end.
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

history::Log read_log(const std::string& path) {
  Result<history::Log> log = history::parse_log(read_all(path), shown(path));
  if (!log) throw Failure(exit_bad_data, log.error().message);
  return std::move(*log);
}

}  // namespace

std::vector<std::string> history_files(const std::vector<std::string>& operands) {
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

// One thread per processor reads files, because reading is half of the work.
history::History read_history(const std::vector<std::string>& files) {
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

}  // namespace lockset::tools
