// A plain client of a ZooKeeper server, past the code under test: looks into it, and does
// what a person with zkCli.sh could do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockset::test {

// Calls throw std::runtime_error where the server can't be asked. One thread at a time.
class RawZookeeper {
 public:
  struct Node {
    std::string data;
    std::int64_t created = 0;           // zxid
    std::int64_t children_changed = 0;  // zxid
    std::int32_t version = 0;
    std::int64_t owner = 0;  // session
  };

  // "host:port,host:port"; "user:password" of the digest scheme, or nothing. Waits until it
  // is connected.
  explicit RawZookeeper(const std::string& hosts, const std::string& identity = {});
  RawZookeeper(const RawZookeeper&) = delete;
  RawZookeeper& operator=(const RawZookeeper&) = delete;
  ~RawZookeeper();

  // All reads see what was done before they were asked for.
  void sync();
  // Unset: there is no such node.
  std::optional<Node> get(const std::string& path);
  std::vector<std::string> children(const std::string& path);  // sorted; none if it is not there
  // Who may do what with it, as "SCHEME:ID:BITS".
  std::vector<std::string> acl(const std::string& path);
  // The client library's code, 0 if it was done.
  int create(const std::string& path, const std::string& data);
  int set(const std::string& path, const std::string& data, std::int32_t version = -1);
  int remove(const std::string& path, std::int32_t version = -1);
  void remove_tree(const std::string& path);
  // Below this stand the nodes of the lock space that was made at `space`. Throws where there is
  // none.
  std::string generation(const std::string& space);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset::test
