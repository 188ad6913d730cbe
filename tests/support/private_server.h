// A throw-away server for one test, on a separate loopback port, started and stopped by
// scripts/server. Tests may disturb it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockset::test {

// Every call blocks until it is done, and throws std::runtime_error if it fails. Not thread-safe,
// except for the const functions.
class PrivateServer {
 public:
  // Why a server of this kind ("postgresql", "mariadb", "mysql", "redis", "memcached", "zookeeper",
  // "zookeeper-ensemble") can't be started here; unset if it can. Quick: it only looks for
  // programs.
  static std::optional<std::string> unavailable(const std::string& kind,
                                                const std::vector<std::string>& environment = {});

  // Makes the data folder and starts the server. The lines of configuration go to
  // folder()/extra.conf; all kinds but postgresql read it at each start, after their own.
  // `environment`: variables for scripts/server, "LOCKSET_SERVER_FSYNC=off".
  explicit PrivateServer(const std::string& kind, const std::vector<std::string>& lines = {},
                         const std::vector<std::string>& environment = {});
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;
  // Stops it and removes its data. The server also ends if this process is killed.
  ~PrivateServer();

  [[nodiscard]] std::uint16_t port() const noexcept;
  // The address of an administrator, with password, over TCP. That of an ensemble names all
  // members.
  [[nodiscard]] std::string admin_url() const;
  // Contains what scripts/server documents: ca.pem, wrong-ca.pem, the log.
  [[nodiscard]] std::filesystem::path folder() const;

  void pause();   // SIGSTOP to all its processes: connections stay open, and get no answers
  void resume();  // SIGCONT
  void kill();    // SIGKILL to all its processes
  void stop();    // an orderly shutdown
  // After kill or stop: same data, same port. On return it answers, even clients that connected
  // while it started.
  void start();
  void restart() { stop(), start(); }
  // PostgreSQL: this one becomes a running standby of `primary`, with its data and accounts. The
  // log comes, asynchronously, over this port of the loopback: the primary's or a proxy's.
  void follow(const PrivateServer& primary, std::uint16_t port);

  // For a "zookeeper-ensemble": its member 1, 2 or 3 (the calls above treat it as one server). A
  // member that starts answers on return only if another one runs.
  [[nodiscard]] std::uint16_t port(int member) const;
  void pause(int member);
  void resume(int member);
  void kill(int member);
  void start(int member);
  // The leading member; waits until there is one.
  [[nodiscard]] int leader() const;
  // Where a member listens: 127.0.0.1, unless it runs in a separate network namespace.
  [[nodiscard]] std::string address(int member) const;
  // In namespaces (LOCKSET_SERVER_NETWORK): nothing passes between this member and the others; the
  // others hear this one, but not each other; the end of both.
  void cut_off(int member);
  void cut_apart(int member);
  void rejoin();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset::test
