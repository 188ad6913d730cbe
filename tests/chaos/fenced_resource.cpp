#include "tests/chaos/fenced_resource.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lockset::chaos {
namespace {

class File {
 public:
  explicit File(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::runtime_error("can't open " + path.string() + ": " + strerror(errno));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }  // this also unlocks it

  [[nodiscard]] bool lock() const { return ::flock(fd_, LOCK_EX | LOCK_NB) == 0; }
  [[nodiscard]] Stamp read() const {
    Stamp stamp;
    const ssize_t got = ::pread(fd_, &stamp.value, sizeof stamp.value, 0);
    return got == sizeof stamp.value ? stamp : Stamp{};
  }
  void write(Stamp stamp) const {
    if (::pwrite(fd_, &stamp.value, sizeof stamp.value, 0) != sizeof stamp.value) {
      throw std::runtime_error(std::string("can't write to a fenced resource: ") + strerror(errno));
    }
  }

 private:
  const int fd_;
};

// Names may contain characters that file names may not.
std::string file_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    constexpr char digits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

}  // namespace

FencedResource::FencedResource(std::filesystem::path folder, test::Recorder& recorder)
    : folder_(std::move(folder)), recorder_(recorder) {
  std::filesystem::create_directories(folder_);
}

std::optional<bool> FencedResource::use(std::string_view name, Stamp stamp, Stamp floor) {
  const File file(folder_ / file_name(name));
  if (!file.lock()) return {};
  const Stamp highest = file.read();
  const bool accepted = stamp >= highest;
  // Written before it is recorded: if the process is killed in between, the resource is at least as
  // strict as the record says.
  if (accepted && floor > highest) file.write(floor);
  recorder_.record(history::Use{stamp, std::string(name), accepted});
  return accepted;
}

}  // namespace lockset::chaos
