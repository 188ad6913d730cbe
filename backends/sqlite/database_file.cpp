#include "backends/sqlite/database_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "backends/sqlite/file_system.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {
namespace {

Error unfit(const std::string& path, const std::string& why) {
  return Error{Errc::misconfigured, "the lock database " + in_quotes(path) + " " + why};
}

Error unfit(const std::string& path, int error) {
  return unfit(path, std::string("can't be used: ") + std::strerror(error));
}

// Only the owner may use them, as the XDG specification asks.
Status make_directories(const std::filesystem::path& directory) {
  struct stat info {};
  if (directory.empty() || ::stat(directory.c_str(), &info) == 0) return {};
  if (Status status = make_directories(directory.parent_path()); !status) return status;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{Errc::misconfigured, "can't make the directory " + in_quotes(directory.string()) +
                                          ": " + std::strerror(errno) +
                                          "; write sqlite:/path/to/file to use another"};
  }
  return {};
}

Status make_file(const std::string& path, const struct stat& directory) {
  // mknod makes a file without a descriptor; closing a descriptor would do harm.
  if (::mknod(path.c_str(), S_IFREG | 0600, 0) != 0) {
    if (errno == EEXIST) return {};
    const int error = errno;
    return unfit(path, std::string("can't be made: ") + std::strerror(error) +
                           "; make its directory writable for this user or name another file");
  }
  if ((directory.st_mode & S_ISGID) != 0) ::chmod(path.c_str(), 0660);
  return {};
}

// If only the file is mounted, the log beside it differs from the log beside the same file
// elsewhere. The same is true if only a log is mounted.
Status check_mounts(const std::string& path) {
  for (const char* const suffix : {"", "-wal", "-shm", "-gate"}) {
    const std::string file = path + suffix;
    if (!is_mount_point(file)) continue;
    const std::string what = *suffix == '\0' ? "is" : "has its file " + in_quotes(file);
    return unfit(path, what +
                           " mounted by itself, and elsewhere there are other files beside it: "
                           "mount the directory instead");
  }
  return {};
}

}  // namespace

Result<std::string> prepare_file(const Options& options) {
  std::filesystem::path wanted = options.path;
  if (options.default_path) {
    if (Status status = make_directories(wanted.parent_path()); !status) return status.error();
  }
  // One file, one name: the side files are beside the file itself, no matter which links lead to
  // it.
  std::error_code failed;
  const std::string path = std::filesystem::weakly_canonical(wanted, failed).string();
  if (failed) return unfit(options.path, failed.value());
  const std::string parent = std::filesystem::path(path).parent_path().string();
  struct stat directory {};
  if (::stat(parent.c_str(), &directory) != 0) {
    return unfit(path, std::string("can't be used: its directory: ") + std::strerror(errno) +
                           "; make it with mkdir -p or name another file");
  }
  if (Status status = check_file_system(parent); !status) return status.error();
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) {
    if (errno != ENOENT) return unfit(path, errno);
    if (Status status = make_file(path, directory); !status) return status.error();
    if (::stat(path.c_str(), &file) != 0) return unfit(path, errno);
  }
  if (S_ISDIR(file.st_mode)) return unfit(path, "is a directory: name a file in it");
  if (!S_ISREG(file.st_mode)) return unfit(path, "is not a regular file: name another one");
  if (file.st_nlink > 1) {
    return unfit(path,
                 "has more than one hard link, and each would have a log of its own: "
                 "remove the other names");
  }
  if (Status status = check_mounts(path); !status) return status.error();
  return path;
}

Status FileIdentity::record(const std::string& path) {
  files_ = {File{path}, File{path + "-wal"}, File{path + "-shm"}};
  for (File& file : files_) {
    if (!file.id.find(file.path)) return unfit(path, errno);
  }
  return {};
}

Status FileIdentity::check() const {
  for (const File& file : files_) {
    FileId now;
    if (now.find(file.path) && now == file.id) continue;
    return unfit(files_[0].path,
                 "lost its file " + in_quotes(file.path) +
                     ", which was deleted or replaced while in use: its holds are lost; stop all "
                     "of its users, wait for the longest lease, and start them again");
  }
  return {};
}

}  // namespace lockset::sqlite
