// A primary, two replicas and three sentinels, all on this host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "tests/redis/raw_client.h"
#include "tests/support/private_server.h"

namespace lockset::test {

// Calls throw std::runtime_error if they fail. For one thread.
class SentinelSet {
 public:
  static constexpr std::size_t size = 3;

  // Why there can be none here; unset if there can.
  static std::optional<std::string> unavailable(const std::vector<std::string>& environment = {});

  // Server 0 is the primary. The sentinels take no server for down before expect_failover().
  // `lines`: configuration of each server.
  explicit SentinelSet(const std::vector<std::string>& lines = {},
                       const std::vector<std::string>& environment = {});

  [[nodiscard]] PrivateServer& server(std::size_t i) { return *servers_[i]; }
  [[nodiscard]] PrivateServer& sentinel(std::size_t i) { return *sentinels_[i]; }
  // An administrator's connection, made anew.
  [[nodiscard]] RawRedis admin(std::size_t i) const { return RawRedis(direct(i)); }
  [[nodiscard]] RawRedis ask(std::size_t sentinel) const;

  // The address of the space by the sentinels. `ports`: of the sentinels, or of proxies to them.
  [[nodiscard]] std::string url(const std::string& parameters = {}) const;
  [[nodiscard]] std::string url(const std::vector<std::uint16_t>& ports, const std::string& login,
                                const std::string& parameters) const;
  // The administrator's address of one server.
  [[nodiscard]] std::string direct(std::size_t i) const;
  [[nodiscard]] const std::string& password() const { return password_; }
  // A file with the sentinels' password.
  [[nodiscard]] std::string sentinel_password_file() const;

  // The server that sentinel `i` names.
  [[nodiscard]] std::size_t named_by(std::size_t i) const;
  // The one that all running sentinels name; waits until they agree on one that is a primary, and
  // on none but `not_this` if given.
  [[nodiscard]] std::size_t primary(std::optional<std::size_t> not_this = {}) const;
  // All servers and sentinels run, the replicas follow the primary and have all that it has, and
  // the sentinels know all of them. Then no failover comes until expect_failover(), whatever the
  // machine is busy with.
  void settle();
  // From now on a server that is silent for so long is down. A replica that has heard nothing from
  // the primary for ten times as long before that is never promoted.
  void expect_failover(Duration silence = std::chrono::milliseconds(500)) const;
  // The sentinels promote a replica although the primary is there, and demote that.
  void fail_over() const;
  // The sentinel that fail_over() asks knows that no other replica than server `i` may be promoted.
  void allow_only(std::size_t i) const;
  // Any replica may be promoted.
  void allow_all() const;

 private:
  void tune(std::size_t sentinel) const;
  [[nodiscard]] bool settled() const;
  void set_priority(std::size_t i, const std::string& priority) const;

  std::string password_;
  std::string sentinel_password_;
  std::array<std::unique_ptr<PrivateServer>, size> servers_;
  std::array<std::unique_ptr<PrivateServer>, size> sentinels_;
};

}  // namespace lockset::test
