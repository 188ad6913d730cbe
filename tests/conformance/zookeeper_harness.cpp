#include "tests/conformance/zookeeper_harness.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "lockset/url.h"
#include "tests/support/wait.h"
#include "tests/zookeeper/raw_client.h"

namespace lockset::conformance {

namespace {

using test::RawZookeeper;

// The process's server, started at its first use.
class Server {
 public:
  static Server& instance() {
    static Server server;
    return server;
  }
  static const char* given_url() { return std::getenv("LOCKSET_TEST_ZOOKEEPER_URL"); }

  [[nodiscard]] const Url& url() const { return url_; }
  [[nodiscard]] test::PrivateServer& own() {
    if (!own_) throw std::logic_error("the server is not the tests' own");
    return *own_;
  }
  // One user at a time.
  template <class Work>
  auto as_admin(Work work) {
    const std::lock_guard lock(mutex_);
    if (!raw_) raw_ = std::make_unique<RawZookeeper>(url_.hosts, identity());
    try {
      return work(*raw_);
    } catch (const std::exception&) {  // its session ended perhaps
      raw_ = std::make_unique<RawZookeeper>(url_.hosts, identity());
    }
    return work(*raw_);
  }

 private:
  Server() {
    if (given_url() == nullptr) own_ = std::make_unique<test::PrivateServer>("zookeeper");
    url_ = Url::parse(own_ ? own_->admin_url() : given_url()).value();
  }
  [[nodiscard]] std::string identity() const {
    return url_.user.empty() ? "" : url_.user + ":" + url_.password;
  }

  std::unique_ptr<test::PrivateServer> own_;
  Url url_;
  std::mutex mutex_;
  std::unique_ptr<RawZookeeper> raw_;
};

std::string unescaped(const std::string& part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '%') {
      text += static_cast<char>(std::stoi(part.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      text += part[i];
    }
  }
  return text;
}

std::string value_of(const std::string& record, const std::string& key) {
  std::istringstream lines(record);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key + "=")) return line.substr(key.size() + 1);
  }
  throw std::runtime_error("a record without " + key);
}

std::size_t count_items(const std::string& record) {
  std::istringstream lines(record);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("write=") || line.starts_with("read=")) ++count;
  }
  return count;
}

// The state of the store, if it did not change while it was read.
std::optional<std::vector<RawHold>> look_once(RawZookeeper& raw, const std::string& root) {
  raw.sync();
  const auto before = raw.get(root + "/holds");
  if (!before) throw std::runtime_error("no space at " + root);
  std::map<std::string, RawHold> holds;
  std::map<std::string, std::size_t> sizes;
  for (const std::string& token : raw.children(root + "/holds")) {
    const auto record = raw.get(root + "/holds/" + token);
    if (!record) return {};
    RawHold& hold = holds[token];
    hold.stamp = Stamp{std::stoll(value_of(record->data, "base")) + record->created};
    hold.app = unescaped(value_of(record->data, "app"));
    sizes[token] = count_items(record->data);
  }
  std::vector<std::string> strays;
  for (const std::string& name : raw.children(root + "/names")) {
    for (const std::string& child : raw.children(root + "/names/" + name)) {
      const auto hold = holds.find(child.substr(2));
      if (hold == holds.end()) {
        strays.push_back(name + "/" + child);
      } else {
        hold->second.items.push_back({unescaped(name), child[0] == 'w' ? Mode::write : Mode::read});
      }
    }
  }
  const auto after = raw.get(root + "/holds");
  if (!after || after->children_changed != before->children_changed) return {};
  if (!strays.empty()) throw std::runtime_error("a child without its hold: " + strays.front());
  std::map<Stamp, RawHold> ordered;
  for (auto& [token, hold] : holds) {
    if (hold.items.size() != sizes[token]) {
      throw std::runtime_error("the hold " + std::to_string(hold.stamp.value) + " has " +
                               std::to_string(hold.items.size()) + " children, and " +
                               std::to_string(sizes[token]) + " names");
    }
    std::sort(hold.items.begin(), hold.items.end());
    ordered[hold.stamp] = std::move(hold);
  }
  std::vector<RawHold> result;
  for (auto& [stamp, hold] : ordered) result.push_back(std::move(hold));
  return result;
}

class ZookeeperSpace final : public Space {
 public:
  ZookeeperSpace() : name_("t" + Token::random().hex().substr(0, 24)) {
    init_space(url(), test::soon()).value();
  }
  ~ZookeeperSpace() override {
    try {
      Server::instance().as_admin([&](RawZookeeper& raw) {
        raw.remove_tree(root());
        return true;
      });
    } catch (const std::exception&) {  // the server goes with the tests
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return url_at(Server::instance().url().hosts); }
  std::vector<RawHold> look() override {
    return Server::instance().as_admin([&](RawZookeeper& raw) {
      for (int i = 0; i < 1000; ++i) {
        if (auto holds = look_once(raw, root())) return *std::move(holds);
      }
      throw std::runtime_error("the store never stands still");
    });
  }
  test::PrivateServer& server() override { return Server::instance().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return url_at("127.0.0.1:" + std::to_string(port));
  }
  // There is no other way to have it done; sessions go on.
  void kill_connections() override { server().restart(); }

 private:
  [[nodiscard]] std::string url_at(const std::string& hosts) const {
    const Url& url = Server::instance().url();
    const std::string user = url.user.empty() ? "" : url.user + ":" + url.password + "@";
    return "zookeeper://" + user + hosts + url.path + "?space=" + name_ + "&short_leases=on";
  }
  [[nodiscard]] std::string root() const { return Server::instance().url().path + "/" + name_; }

  const std::string name_;
};

class ZookeeperHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "zookeeper"; }
  [[nodiscard]] std::string scheme() const override { return "zookeeper"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    HarnessTraits traits;
    traits.looks_raw = true;
    traits.has_server = Server::given_url() == nullptr;
    return traits;
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override {
    if (Server::given_url() != nullptr) return {};
    return test::PrivateServer::unavailable("zookeeper");
  }
  std::unique_ptr<Space> new_space() override { return std::make_unique<ZookeeperSpace>(); }
};

}  // namespace

Harness& zookeeper_harness() {
  static ZookeeperHarness harness;
  return harness;
}

}  // namespace lockset::conformance
