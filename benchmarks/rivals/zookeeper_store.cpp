#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "backends/zookeeper/paths.h"
#include "benchmarks/rivals/stores.h"
#include "benchmarks/rivals/zookeeper_fill.h"
#include "benchmarks/rivals/zookeeper_handle.h"

namespace lockset::bench {
namespace {

constexpr std::string_view floor_node = "/lockset_bench_floor";
constexpr std::string_view mutex_node = "/lockset_bench_mutex";

// The floor: one ephemeral node, created and deleted.
class FloorClient : public Client {
 public:
  explicit FloorClient(const Url& url) : handle_(url), parent_(handle_.chroot()) {
    parent_ += floor_node;
  }
  void lock(std::span<const std::string> names, Mode) override {
    path_ = parent_ + "/" + zookeeper::escaped(names.front());
    if (handle_.create(path_, ZOO_EPHEMERAL).empty()) {
      throw std::runtime_error("ZooKeeper: " + parent_ + " is not there");
    }
  }
  void unlock() override { handle_.remove(path_); }

 private:
  ZookeeperHandle handle_;
  std::string parent_;
  std::string path_;
};

// The lock from ZooKeeper's own recipes, which every program copies: one sequential node per
// client. It is a client's turn when no node before it blocks it; until then it watches the last
// one that does. Sets are taken name by name, in order.
class RecipeClient : public Client {
 public:
  explicit RecipeClient(const Url& url) : handle_(url), root_(handle_.chroot()) {
    root_ += mutex_node;
  }

  void lock(std::span<const std::string> names, Mode mode) override {
    for (const std::string& name : names) lock_one(name, mode);
  }
  void unlock() override {
    for (; !held_.empty(); held_.pop_back()) handle_.remove(held_.back());
  }

 private:
  void lock_one(const std::string& name, Mode mode) {
    const std::string parent = root_ + "/" + zookeeper::escaped(name);
    const std::string place = parent + (mode == Mode::write ? "/write-" : "/read-");
    std::string made = handle_.create(place, ZOO_EPHEMERAL_SEQUENTIAL);
    if (made.empty()) {
      handle_.make_path(parent);
      made = handle_.create(place, ZOO_EPHEMERAL_SEQUENTIAL);
    }
    held_.push_back(made);
    const std::string own = made.substr(parent.size() + 1);
    while (true) {
      const std::string before = last_before(handle_.children(parent), own, mode);
      if (before.empty()) return;
      handle_.await_end_of(parent + "/" + before);
    }
  }

  // The last node before ours that blocks us: a reader waits only for writers.
  static std::string last_before(const std::vector<std::string>& children, const std::string& own,
                                 Mode mode) {
    std::string last;
    for (const std::string& child : children) {
      if (mode == Mode::read && child.starts_with("read-")) continue;
      if (number_of(child) >= number_of(own)) continue;
      if (last.empty() || number_of(last) < number_of(child)) last = child;
    }
    return last;
  }
  static std::string_view number_of(std::string_view child) {
    return child.substr(child.rfind('-') + 1);  // always ten digits
  }

  ZookeeperHandle handle_;
  std::string root_;
  std::vector<std::string> held_;
};

// Nothing is shared: each client has its own session.
template <class OneClient>
class SeparateEntry : public Entry {
 public:
  explicit SeparateEntry(const Url& url) : url_(url) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<OneClient>(url_); }

 private:
  const Url url_;
};

template <class OneClient>
std::unique_ptr<Entry> enter(const Url& url) {
  return std::make_unique<SeparateEntry<OneClient>>(url);
}

void clean(const Url& url) {
  ZookeeperHandle handle(url);
  for (const std::string_view node : {floor_node, mutex_node}) {
    handle.remove_tree(handle.chroot() + std::string(node));
  }
}

void prepare(const Url& url) {
  clean(url);
  ZookeeperHandle handle(url);
  for (const std::string_view node : {floor_node, mutex_node}) {
    handle.make_path(handle.chroot() + std::string(node));
  }
}

// Reads "key: value" and "key=value", line by line.
void read_lines(nlohmann::ordered_json& settings, const std::string& text,
                std::span<const std::string_view> wanted) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view key : wanted) {
      if (!line.starts_with(key) || line.size() < key.size() + 1) continue;
      if (line[key.size()] != '=' && line[key.size()] != ':') continue;
      std::string value = line.substr(key.size() + 1);
      if (value.starts_with(' ')) value.erase(0, 1);
      settings[std::string(key)] = value;
    }
  }
}

nlohmann::ordered_json settings(const Url& url) {
  ZookeeperHandle handle(url);
  nlohmann::ordered_json settings;
  const std::string about = handle.tell("srvr");
  constexpr std::string_view said = "Zookeeper version: ";
  std::string version = "of unknown version (srvr is not admitted)";
  if (about.starts_with(said)) {
    version = about.substr(said.size(), about.find_first_of("-,", said.size()) - said.size());
  }
  settings["server"] = "ZooKeeper " + version;
  constexpr std::array<std::string_view, 1> of_state{"Mode"};
  read_lines(settings, about, of_state);
  // By default, a server does not report these.
  constexpr std::array<std::string_view, 3> of_configuration{"tickTime", "minSessionTimeout",
                                                             "maxSessionTimeout"};
  read_lines(settings, handle.tell("conf"), of_configuration);
  settings["client"] = ZOO_VERSION;
  return settings;
}

constexpr std::array rivals{
    Rival{.name = "ephemeral node", .role = Role::floor, .enter = enter<FloorClient>},
    Rival{.name = "recipe (sequential nodes)",
          .role = Role::native,
          .waits = true,
          .reads = true,
          .most_names = 64,
          .enter = enter<RecipeClient>},
};

}  // namespace

const RivalStore zookeeper_store{.scheme = "zookeeper",
                                 .rivals = rivals,
                                 .prepare = prepare,
                                 .clean = clean,
                                 .fill = zookeeper_fill,
                                 .most_holds = 20'000,
                                 .settings = settings};

}  // namespace lockset::bench
