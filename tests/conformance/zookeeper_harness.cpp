#include "tests/conformance/zookeeper_harness.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "lockset/registry.h"
#include "lockset/stamp.h"
#include "lockset/url.h"
#include "tests/conformance/shared_server.h"
#include "tests/support/cut_connections.h"
#include "tests/support/wait.h"
#include "tests/zookeeper/raw_client.h"

namespace lockset::conformance {

namespace {

using test::RawZookeeper;

constexpr ServerChoice choice{"zookeeper", "LOCKSET_TEST_ZOOKEEPER_URL"};

struct Admin {
  explicit Admin(const std::string& text)
      : url(Url::parse(text).value()),
        raw(url.hosts, url.user.empty() ? "" : url.user + ":" + url.password) {}
  Url url;
  RawZookeeper raw;
};

using Server = SharedServer<Admin>;

// Started at its first use.
Server& the_server() {
  static Server server(choice, [](Admin& admin) { admin.raw.sync(); });
  return server;
}

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

// The state of the store; unset if it changed while it was read.
std::optional<std::vector<RawHold>> look_once(RawZookeeper& raw, const std::string& space) {
  raw.sync();
  const std::string root = raw.generation(space);
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
      if (!child.starts_with("w-") && !child.starts_with("r-")) continue;  // of a trace
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
      the_server().as_admin([&](Admin& admin) { admin.raw.remove_tree(path_of(admin)); });
    } catch (const std::exception&) {  // removed with the server
    }
  }
  Result<std::unique_ptr<Backend>> open() override { return open_backend(url(), test::soon()); }
  [[nodiscard]] std::string url() const override { return the_server().url() + parameters(); }
  std::vector<RawHold> look() override {
    return the_server().as_admin([&](Admin& admin) {
      for (int i = 0; i < 1000; ++i) {
        if (auto holds = look_once(admin.raw, path_of(admin))) return *std::move(holds);
      }
      throw std::runtime_error("the store never stands still");
    });
  }
  test::PrivateServer& server() override { return the_server().own(); }
  [[nodiscard]] std::string url_through(std::uint16_t port) const override {
    return the_server().url_through(port) + parameters();
  }
  // The server has no command for it. Sessions continue.
  void kill_connections() override { test::cut_connections(server().port()); }

 private:
  [[nodiscard]] std::string parameters() const { return "?space=" + name_ + "&short_leases=on"; }
  [[nodiscard]] std::string path_of(const Admin& admin) const {
    return admin.url.path + "/" + name_;
  }

  const std::string name_;
};

class ZookeeperHarness final : public Harness {
 public:
  [[nodiscard]] std::string name() const override { return "zookeeper"; }
  [[nodiscard]] std::string scheme() const override { return "zookeeper"; }
  [[nodiscard]] HarnessTraits harness_traits() const override {
    HarnessTraits traits;
    traits.looks_raw = true;
    traits.has_server = choice.given_url() == nullptr;
    return traits;
  }
  [[nodiscard]] bool always_available() const override { return false; }
  [[nodiscard]] std::optional<std::string> unavailable() override { return choice.unavailable(); }
  std::unique_ptr<Space> new_space() override { return std::make_unique<ZookeeperSpace>(); }
};

}  // namespace

Harness& zookeeper_harness() {
  static ZookeeperHarness harness;
  return harness;
}

}  // namespace lockset::conformance
