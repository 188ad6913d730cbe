#include "benchmarks/rivals/zookeeper_handle.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "backends/zookeeper/address.h"

namespace lockset::bench {
namespace {

// A usual value for programs. Longer than any pause of a benchmark.
constexpr int session_timeout_ms = 30'000;
constexpr auto patience = std::chrono::seconds(30);

[[noreturn]] void fail(const std::string& what, int code) {
  throw std::runtime_error("ZooKeeper: " + what + ": " + zerror(code));
}

void ignore_log(const char*) {}

}  // namespace

ZookeeperHandle::ZookeeperHandle(const Url& url) {
  const Result<zookeeper::Options> options = zookeeper::parse_address(url);
  if (!options) throw std::runtime_error(options.error().message);
  chroot_ = options->chroot;
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  handle_ = zookeeper_init2(options->hosts.c_str(), on_event, session_timeout_ms, nullptr, this,
                            ZOO_NO_LOG_CLIENTENV, ignore_log);
  if (handle_ == nullptr) {
    throw std::runtime_error(options->shown() + ": " + std::strerror(errno));
  }
  // As in Lockset: names are looked up when a connection is lost, not before every request.
  zoo_set_servers_resolution_delay(handle_, -1);
  if (!options->user.empty()) {
    const std::string identity = options->user + ":" + options->password;
    acl_ = &ZOO_CREATOR_ALL_ACL;
    zoo_add_auth(handle_, "digest", identity.data(), static_cast<int>(identity.size()), nullptr,
                 nullptr);
  }
  try {
    await([&] { return state_ == ZOO_CONNECTED_STATE; });
  } catch (...) {
    zookeeper_close(handle_);
    throw;
  }
}

ZookeeperHandle::~ZookeeperHandle() { zookeeper_close(handle_); }

void ZookeeperHandle::on_event(zhandle_t*, int type, int state, const char*, void* context) {
  auto* self = static_cast<ZookeeperHandle*>(context);
  const std::lock_guard lock(self->mutex_);
  if (type == ZOO_SESSION_EVENT) {
    self->state_ = state;
  } else {
    self->fired_ = true;
  }
  self->changed_.notify_all();
}

template <class Done>
void ZookeeperHandle::await(Done done) {
  std::unique_lock lock(mutex_);
  const auto ended = [&] {
    return state_ == ZOO_EXPIRED_SESSION_STATE || state_ == ZOO_AUTH_FAILED_STATE;
  };
  const bool settled = changed_.wait_for(lock, patience, [&] { return ended() || done(); });
  if (ended()) fail("the session", is_unrecoverable(handle_));
  if (!settled) throw std::runtime_error("ZooKeeper: no answer for 30 s");
}

std::string ZookeeperHandle::create(const std::string& path, int mode) {
  std::string made(path.size() + 16, '\0');
  const int code = zoo_create(handle_, path.c_str(), "", 0, acl_, mode, made.data(),
                              static_cast<int>(made.size()));
  if (code == ZNONODE) return {};
  if (code != ZOK) fail("create " + path, code);
  made.resize(std::strlen(made.c_str()));
  return made;
}

int ZookeeperHandle::remove_if_there(const std::string& path) {
  const int code = zoo_delete(handle_, path.c_str(), -1);
  return code == ZNONODE ? ZOK : code;
}

void ZookeeperHandle::remove(const std::string& path) {
  if (const int code = zoo_delete(handle_, path.c_str(), -1); code != ZOK) {
    fail("delete " + path, code);
  }
}

void ZookeeperHandle::make_path(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    const int code = zoo_create(handle_, part.c_str(), "", 0, acl_, 0, nullptr, 0);
    if (code != ZOK && code != ZNODEEXISTS) fail("create " + part, code);
  }
}

void ZookeeperHandle::remove_tree(const std::string& path) {
  // Repeated in case an ending session, or somebody else, is working on it as well.
  for (int code = ZNOTEMPTY; code == ZNOTEMPTY;) {
    for (const std::string& child : children(path)) remove_tree(path + "/" + child);
    code = remove_if_there(path);
    if (code != ZOK && code != ZNOTEMPTY) fail("delete " + path, code);
  }
}

std::vector<std::string> ZookeeperHandle::children(const std::string& path) {
  String_vector strings{};
  const int code = zoo_get_children(handle_, path.c_str(), 0, &strings);
  if (code == ZNONODE) return {};
  if (code != ZOK) fail("children of " + path, code);
  std::vector<std::string> names(strings.data, strings.data + strings.count);
  deallocate_String_vector(&strings);
  return names;
}

void ZookeeperHandle::await_end_of(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    fired_ = false;
  }
  Stat stat{};
  const int code = zoo_wexists(handle_, path.c_str(), on_event, this, &stat);
  if (code == ZNONODE) {
    // The watch is still set, but on a name that never comes again.
    return;
  }
  if (code != ZOK) fail("exists " + path, code);
  await([&] { return fired_; });
}

// The port of the protocol accepts these words from anybody: the server answers and closes.
std::string ZookeeperHandle::tell(const std::string& word) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const peer = reinterpret_cast<sockaddr*>(&address);
  if (zookeeper_get_connected_host(handle_, peer, &length) == nullptr) return {};
  const int socket = ::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  std::string answer;
  if (::connect(socket, peer, length) == 0 &&
      ::send(socket, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) {
    char part[4096];
    for (ssize_t count = 0; (count = ::recv(socket, part, sizeof part, 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(count));
    }
  }
  ::close(socket);
  return answer;
}

}  // namespace lockset::bench
