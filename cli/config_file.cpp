#include "cli/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

using namespace tools;
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// A # begins a comment at the start of a line or after a blank, so that values may contain a #.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || blanks.find(line[at - 1]) != std::string_view::npos) return line.substr(0, at);
  }
  return line;
}

[[noreturn]] void fail_read(const std::string& path, int error) {
  throw Failure(exit_config, "can't read the configuration file " + path + ": " +
                                 std::strerror(error) +
                                 "; name another with --config (/dev/null for none)");
}

std::string read_all(int fd, const std::string& path) {
  constexpr std::size_t most = 1 << 20;
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(path, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > most) {
      throw Failure(exit_config, path + " is too large for a configuration file");
    }
  }
}

std::vector<ConfigEntry> parse(std::string_view text, const std::string& path) {
  std::vector<ConfigEntry> entries;
  std::string section;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(without_comment(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const std::string place = path + ":" + std::to_string(number);
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      section = trimmed(line.substr(1, line.size() - 2));
      if (!section.empty()) section += '.';
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      // The message does not show the line: it may be a secret that lost its key.
      throw Failure(exit_config, place + ": not a line of the form key = value");
    }
    entries.push_back(
        {section + std::string(key), std::string(trimmed(line.substr(equals + 1))), place});
  }
  return entries;
}

std::optional<ConfigFile> read_if_there(const std::string& path, bool must_exist) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (!must_exist && (errno == ENOENT || errno == ENOTDIR)) return {};
    // If a file exists but can't be read, do not fall back to another store.
    fail_read(path, errno);
  }
  ConfigFile file;
  file.path = path;
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0) {
    file.others_may_read = S_ISREG(info.st_mode) && (info.st_mode & S_IROTH) != 0;
  }
  file.entries = parse(read_all(fd.get(), path), path);
  return file;
}

std::optional<std::string> user_file() {
  const char* const xdg = std::getenv("XDG_CONFIG_HOME");
  // The XDG specification says to ignore relative paths.
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/lockset/lockset.conf";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.config/lockset/lockset.conf";
  return {};
}

}  // namespace

std::optional<ConfigFile> read_config_file(const std::optional<std::string>& named) {
  if (named) return read_if_there(*named, true);
  if (const auto path = user_file()) {
    if (auto file = read_if_there(*path, false)) return file;
  }
  return read_if_there("/etc/lockset.conf", false);
}

}  // namespace lockset::cli
