// Common parts of the tests for this store only: servers, spaces on them, and sessions that bypass
// the backend.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/support/client.h"
#include "tests/support/event_counts.h"
#include "tests/support/private_server.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"
#include "tests/zookeeper/raw_client.h"

namespace lockset::zookeeper_tests {

using namespace std::chrono_literals;
using test::Client;
using test::EventCounts;
using test::eventually;
using test::RawZookeeper;
using test::soon;
using test::Wanted;

// How long an election or the start of a server takes on a busy machine.
inline constexpr Duration long_time = std::chrono::seconds(60);

// One server, and an ensemble of three; for the whole run, started at their first use. Ticks of 100
// ms, sessions of 200 ms to 10 min. A test that stops one starts it again.
test::PrivateServer& server();
test::PrivateServer& ensemble();

// How many requests server() received so far, by connection.
std::map<std::string, std::size_t> received();
// Waits until one of these connections has received `more` requests since then.
bool receives(const std::map<std::string, std::size_t>& before, std::size_t more);

bool says(const std::string& message, const std::string& part);

// Looks into one space without the backend. Calls throw std::runtime_error on failure.
class SpaceView {
 public:
  SpaceView(const std::string& hosts, std::string space, const std::string& identity = {})
      : raw_(hosts, identity), space_(std::move(space)) {}

  [[nodiscard]] RawZookeeper& raw() noexcept { return raw_; }
  // The path that the address names.
  [[nodiscard]] const std::string& space() const noexcept { return space_; }
  // The present path of its nodes.
  [[nodiscard]] std::string root() { return raw_.generation(space_); }
  // The nodes of holds and waiters, by their paths below the root: "holds/TOKEN",
  // "names/NAME/w-TOKEN", "queues/NAME/w-0000000001".
  std::vector<std::string> traces();
  // True once there are none.
  bool becomes_empty(Duration limit = long_time);
  // The sessions that own holds.
  std::set<std::int64_t> owners();

 private:
  RawZookeeper raw_;
  const std::string space_;
};

// Each test has a separate space on server().
class ZookeeperTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The address of the test's space; `more` as "pool=3".
  [[nodiscard]] std::string url(const std::string& more = {}) const;
  // The same through another port: a proxy's.
  [[nodiscard]] std::string url_through(std::uint16_t port, const std::string& more = {}) const;
  [[nodiscard]] std::shared_ptr<Backend> open(const std::string& more = {}) const;
  [[nodiscard]] Client client(const std::string& app = "app") const;
  [[nodiscard]] SpaceView& view() { return *view_; }
  // Ends the view's connection; then what the test leaves in the store is not tidied up.
  void close_view() { view_.reset(); }
  [[nodiscard]] RawZookeeper& raw() { return view_->raw(); }
  [[nodiscard]] const std::string& space() const { return view_->space(); }
  [[nodiscard]] std::string root() const { return view_->root(); }

  // The error has this code, on one line without any of `secrets`; returns the message.
  static std::string checked(const Error& error, Errc code, const std::string& secret = {});
  // The same for opening.
  static std::string refused(const std::string& url, Errc code, const std::string& secret = {});

 private:
  std::string space_;
  std::unique_ptr<SpaceView> view_;
};

}  // namespace lockset::zookeeper_tests
