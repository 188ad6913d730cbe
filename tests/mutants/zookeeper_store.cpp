#include "tests/mutants/zookeeper_store.h"

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/mutants/small_backend.h"

namespace lockset::mutants {
namespace {

void expect(int code, const std::string& what) {
  if (code != ZOK) throw std::runtime_error("ZooKeeper: " + what + ": " + zerror(code));
}

class Session {
 public:
  explicit Session(const std::string& hosts) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    handle_ = zookeeper_init2(hosts.c_str(), on_event, 30'000, nullptr, this, ZOO_NO_LOG_CLIENTENV,
                              [](const char*) {});
    if (handle_ == nullptr) throw std::runtime_error("ZooKeeper: no handle");
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return connected_; })) {
      throw std::runtime_error("ZooKeeper: no connection");
    }
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { zookeeper_close(handle_); }

  [[nodiscard]] zhandle_t* handle() const { return handle_; }
  void create(const std::string& path) {
    expect(zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0),
           "create " + path);
  }

 private:
  static void on_event(zhandle_t*, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto* session = static_cast<Session*>(context);
    const std::lock_guard lock(session->mutex_);
    session->connected_ = state == ZOO_CONNECTED_STATE;
    session->changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  zhandle_t* handle_ = nullptr;
};

// The parts of a multi-operation, at fixed addresses.
class Multi {
 public:
  Stat& set(const std::string& path, int version) {
    Stat& stat = stats_.emplace_back();
    zoo_set_op_init(&ops_.emplace_back(), keep(path), "", 0, version, &stat);
    return stat;
  }
  void create(const std::string& path) {
    zoo_create_op_init(&ops_.emplace_back(), keep(path), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL,
                       nullptr, 0);
  }
  void remove(const std::string& path) { zoo_delete_op_init(&ops_.emplace_back(), keep(path), -1); }
  int run(Session& session) {
    std::vector<zoo_op_result_t> results(ops_.size());
    return zoo_multi(session.handle(), static_cast<int>(ops_.size()), ops_.data(), results.data());
  }

 private:
  const char* keep(const std::string& path) { return paths_.emplace_back(path).c_str(); }

  std::vector<zoo_op_t> ops_;
  std::deque<Stat> stats_;
  std::deque<std::string> paths_;
};

class Zookeeper final : public SmallBackend {
 public:
  Zookeeper(const std::string& hosts, const ZookeeperSteps& steps)
      : steps_(steps), session_(hosts) {}

 private:
  std::int64_t take(const Names& names, Duration) override {
    std::int64_t drawn = 0;
    if (steps_.stamp_first) {
      Stat stat{};
      expect(zoo_set2(session_.handle(), "/stamps", "", 0, -1, &stat), "draw a stamp");
      drawn = stat.mzxid;
      if (drawn % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    const std::string holder = "/h-" + std::to_string(++holds_) + "-" +
                               std::to_string(zoo_client_id(session_.handle())->client_id);
    Multi multi;
    const Stat* stat = nullptr;
    for (const std::string& name : names) {
      String_vector children{};
      Stat node{};
      expect(zoo_get_children2(session_.handle(), ("/" + name).c_str(), 0, &children, &node),
             "list " + name);
      const bool taken = children.count > 0;
      deallocate_String_vector(&children);
      if (taken) return 0;
      stat = &multi.set("/" + name, steps_.checks_versions ? node.version : -1);
    }
    for (const std::string& name : names) multi.create("/" + name + holder);
    const int code = multi.run(session_);
    // Another client was faster; the next look shows whether it got them.
    if (code == ZBADVERSION) return take(names, {});
    expect(code, "take");
    const std::int64_t stamp = steps_.stamp_first ? drawn : stat->mzxid;
    holders_[stamp] = holder;
    return stamp;
  }

  bool give_back(const Names& names, std::int64_t stamp) override {
    Multi multi;
    for (const std::string& name : names) multi.remove("/" + name + holders_.at(stamp));
    return multi.run(session_) == ZOK;
  }

  const ZookeeperSteps steps_;
  Session session_;
  std::int64_t holds_ = 0;
  std::map<std::int64_t, std::string> holders_;
};

}  // namespace

void make_zookeeper_store(const std::string& hosts, const std::vector<std::string>& names) {
  Session session(hosts);
  session.create("/stamps");
  for (const std::string& name : names) session.create("/" + name);
}

std::shared_ptr<Backend> open_zookeeper_store(const std::string& hosts,
                                              const ZookeeperSteps& steps) {
  return std::make_shared<Zookeeper>(hosts, steps);
}

}  // namespace lockset::mutants
