#include "cli/password_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "cli/chat.h"
#include "lockset/lock_set.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/file_descriptor.h"

namespace lockset::cli {

using namespace tools;
namespace {

// No message shows what it has read.
std::string first_line(const std::string& path, const std::string& origin) {
  const auto unfit = [&](const std::string& why) {
    return Failure(exit_config, origin + ": the password file " + in_quotes(path) + " " + why);
  };
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw unfit(std::string("can't be read: ") + std::strerror(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & S_IROTH) != 0) {
    warn("everybody may read the password in " + path + "; chmod o-r " + path);
  }
  std::string text;
  std::array<char, 1024> buffer;
  while (text.find('\n') == std::string::npos) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw unfit(std::string("can't be read: ") + std::strerror(errno));
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    constexpr std::size_t most = 65536;
    if (text.size() > most) throw unfit("is too large for one");
  }
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) throw unfit("has nothing on its first line; the password belongs there");
  return text;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (std::isalnum(c) != 0) {
      result += each;
    } else {
      result += '%';
      result += digits[c >> 4];
      result += digits[c & 0xF];
    }
  }
  return result;
}

}  // namespace

std::string with_password_from(const std::string& path, const std::string& origin,
                               const std::string& url) {
  const Result<Url> parsed = Url::parse(url);
  if (parsed && parsed->scheme == "quorum") {
    throw Failure(exit_config, origin +
                                   ": a quorum has an address for each node; write the "
                                   "parameter password_file into those that need a password");
  }
  // A bad address is reported where it is used. An address without // names no server that could
  // ask for a password; nor does the address of a file, sqlite:///PATH. A server's address may give
  // the host in a parameter: mysql://user@/db?socket=PATH.
  if (!parsed || !parsed->has_authority || parsed->scheme == "sqlite") return url;
  if (!parsed->password.empty()) {
    throw Failure(exit_config, origin + ": the address " + redact_url(url) +
                                   " has a password already; give it in one place");
  }
  const std::string password = ":" + percent_encoded(first_line(path, origin));
  const std::size_t start = url.find("//") + 2;
  const std::size_t end = std::min(url.find_first_of("/?", start), url.size());
  const std::size_t at = url.substr(0, end).rfind('@');
  if (at == std::string::npos || at < start) {
    return url.substr(0, start) + password + "@" + url.substr(start);
  }
  const std::size_t colon = url.find(':', start);  // there may be an empty password: "user:@host"
  return url.substr(0, std::min(colon, at)) + password + url.substr(at);
}

}  // namespace lockset::cli
