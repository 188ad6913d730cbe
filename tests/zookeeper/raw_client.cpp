#include "tests/zookeeper/raw_client.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

namespace lockset::test {
namespace {

void no_log(const char*) {}

[[noreturn]] void fail(const std::string& what, int code) {
  throw std::runtime_error("raw ZooKeeper client: " + what + ": " + zerror(code));
}

}  // namespace

struct RawZookeeper::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  bool connected = false;
  const ACL_vector* acl = &ZOO_OPEN_ACL_UNSAFE;
  zhandle_t* handle = nullptr;

  static void on_event(zhandle_t*, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto* impl = static_cast<Impl*>(context);
    const std::lock_guard lock(impl->mutex);
    impl->connected = state == ZOO_CONNECTED_STATE;
    impl->changed.notify_all();
  }
  void await_connection() {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, std::chrono::seconds(40), [&] { return connected; })) {
      throw std::runtime_error("raw ZooKeeper client: no connection");
    }
  }
  // Repeats after a lost connection, which a restarted server causes.
  template <class Call>
  int run(Call call) {
    for (int i = 0;; ++i) {
      await_connection();
      const int code = call();
      if (code != ZCONNECTIONLOSS || i == 20) return code;
    }
  }
};

RawZookeeper::RawZookeeper(const std::string& hosts, const std::string& identity)
    : impl_(std::make_unique<Impl>()) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  impl_->handle = zookeeper_init2(hosts.c_str(), Impl::on_event, 30'000, nullptr, impl_.get(),
                                  ZOO_NO_LOG_CLIENTENV, no_log);
  if (impl_->handle == nullptr) throw std::runtime_error("raw ZooKeeper client: no handle");
  if (!identity.empty()) {
    impl_->acl = &ZOO_CREATOR_ALL_ACL;
    const auto told = [&] {
      return zoo_add_auth(impl_->handle, "digest", identity.data(),
                          static_cast<int>(identity.size()), nullptr, nullptr) == ZOK;
    };
    // Between two connections the library accepts no requests.
    do impl_->await_connection();
    while (!told());
  }
  impl_->await_connection();
}

RawZookeeper::~RawZookeeper() {
  if (impl_->handle != nullptr) zookeeper_close(impl_->handle);
}

void RawZookeeper::sync() {
  const int code = impl_->run([&] {
    struct Done {
      std::mutex mutex;
      std::condition_variable changed;
      int code = 1;
    } done;
    const int sent = zoo_async(
        impl_->handle, "/",
        [](int rc, const char*, const void* data) {
          auto* waiting = static_cast<Done*>(const_cast<void*>(data));
          const std::lock_guard lock(waiting->mutex);
          waiting->code = rc;
          waiting->changed.notify_all();
        },
        &done);
    if (sent != ZOK) return sent;
    std::unique_lock lock(done.mutex);
    done.changed.wait(lock, [&] { return done.code != 1; });
    return done.code;
  });
  if (code != ZOK) fail("sync", code);
}

std::optional<RawZookeeper::Node> RawZookeeper::get(const std::string& path) {
  std::string buffer(1 << 20U, '\0');
  int length = 0;
  Stat stat{};
  const int code = impl_->run([&] {
    length = static_cast<int>(buffer.size());
    return zoo_get(impl_->handle, path.c_str(), 0, buffer.data(), &length, &stat);
  });
  if (code == ZNONODE) return {};
  if (code != ZOK) fail("get " + path, code);
  buffer.resize(static_cast<std::size_t>(std::max(length, 0)));
  return Node{std::move(buffer), stat.czxid, stat.pzxid, stat.version, stat.ephemeralOwner};
}

std::vector<std::string> RawZookeeper::children(const std::string& path) {
  String_vector strings{};
  const int code =
      impl_->run([&] { return zoo_get_children(impl_->handle, path.c_str(), 0, &strings); });
  if (code == ZNONODE) return {};
  if (code != ZOK) fail("list " + path, code);
  std::vector<std::string> names(strings.data, strings.data + strings.count);
  deallocate_String_vector(&strings);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> RawZookeeper::acl(const std::string& path) {
  ACL_vector acl{};
  Stat stat{};
  const int code =
      impl_->run([&] { return zoo_get_acl(impl_->handle, path.c_str(), &acl, &stat); });
  if (code != ZOK) fail("get the ACL of " + path, code);
  std::vector<std::string> entries;
  for (std::int32_t i = 0; i < acl.count; ++i) {
    const ACL& entry = acl.data[i];
    entries.push_back(std::string(entry.id.scheme) + ":" + entry.id.id + ":" +
                      std::to_string(entry.perms));
  }
  deallocate_ACL_vector(&acl);
  return entries;
}

int RawZookeeper::create(const std::string& path, const std::string& data) {
  return impl_->run([&] {
    return zoo_create(impl_->handle, path.c_str(), data.data(), static_cast<int>(data.size()),
                      impl_->acl, ZOO_PERSISTENT, nullptr, 0);
  });
}

int RawZookeeper::set(const std::string& path, const std::string& data, std::int32_t version) {
  return impl_->run([&] {
    return zoo_set(impl_->handle, path.c_str(), data.data(), static_cast<int>(data.size()),
                   version);
  });
}

int RawZookeeper::remove(const std::string& path, std::int32_t version) {
  return impl_->run([&] { return zoo_delete(impl_->handle, path.c_str(), version); });
}

std::string RawZookeeper::generation(const std::string& space) {
  const std::string key = "generation=";
  const auto head = get(space + "/config");
  const std::size_t at = head ? head->data.find(key) : std::string::npos;
  if (at == std::string::npos) throw std::runtime_error("no space at " + space);
  const std::size_t begin = at + key.size();
  return space + "/" + head->data.substr(begin, head->data.find('\n', begin) - begin);
}

void RawZookeeper::remove_tree(const std::string& path) {
  for (const std::string& child : children(path)) remove_tree(path + "/" + child);
  remove(path);
}

}  // namespace lockset::test
