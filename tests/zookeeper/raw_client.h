// A plain client of a ZooKeeper server, without the code under test: looks into the server, and
// does what a person with zkCli.sh could do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockset::test {

// Calls throw std::runtime_error if the server can't be asked. One thread at a time.
class RawZookeeper {
 public:
  struct Node {
    std::string data;
    std::int64_t created = 0;           // zxid
    std::int64_t children_changed = 0;  // zxid
    std::int32_t version = 0;
    std::int64_t owner = 0;  // session
  };

  // "host:port,host:port"; "user:password" of the digest scheme, or nothing. Waits until it is
  // connected.
  explicit RawZookeeper(const std::string& hosts, const std::string& identity = {});
  RawZookeeper(const RawZookeeper&) = delete;
  RawZookeeper& operator=(const RawZookeeper&) = delete;
  ~RawZookeeper();

  // Later reads see everything that was done before this call.
  void sync();
  // Unset: there is no such node.
  std::optional<Node> get(const std::string& path);
  std::vector<std::string> children(const std::string& path);  // sorted; none if the node does not
                                                               // exist
  // Its access list, as "SCHEME:ID:BITS".
  std::vector<std::string> acl(const std::string& path);
  // Returns the client library's code, 0 for success.
  int create(const std::string& path, const std::string& data);
  int set(const std::string& path, const std::string& data, std::int32_t version = -1);
  int remove(const std::string& path, std::int32_t version = -1);
  void remove_tree(const std::string& path);
  // The path below which the nodes of the lock space `space` are. Throws if there is none.
  std::string generation(const std::string& space);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset::test
