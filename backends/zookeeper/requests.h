// Requests to a ZooKeeper server, as values, and their replies.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/acl.h"
#include "backends/zookeeper/signal.h"

namespace lockset::zookeeper {

// What Lockset needs to know about a node.
struct NodeStat {
  std::int64_t created = 0;     // the zxid that created it
  std::int64_t changed = 0;     // the zxid of the last change of its data
  std::int64_t created_ms = 0;  // by the server's clock
  std::int64_t changed_ms = 0;
  std::int32_t version = 0;  // the version of its data
  std::int64_t owner = 0;    // the session of an ephemeral node
  std::int32_t children = 0;
  std::int64_t children_changed = 0;  // the zxid of the last child created or removed
  std::int32_t data_bytes = 0;        // how long its data is
};

enum class Kind : std::uint8_t {
  sync,  // later reads in the session see everything that was done before it
  exists,
  get,
  children,  // with the node's own stat
  acl,
  create,
  set,
  remove,
  set_acl,
  check,  // only in a multi
  multi,
};

enum class Lasting : std::uint8_t { persistent, ephemeral, ephemeral_sequential };

inline constexpr std::int32_t any_version = -1;

struct Request {
  Kind kind = Kind::exists;
  std::string path{};
  std::string data{};
  std::int32_t version = any_version;
  Lasting lasting = Lasting::persistent;
  std::vector<Request> parts{};  // for a multi
  Acl acl{};                     // for a set_acl
  // For a get: raises `watch_bit` at the node's next change or end, if the node exists. For
  // children: when the next child is created or removed.
  std::shared_ptr<Signal> watch{};
  unsigned watch_bit = 0;
};

inline Request sync(std::string path) { return {.kind = Kind::sync, .path = std::move(path)}; }
inline Request exists(std::string path) { return {.kind = Kind::exists, .path = std::move(path)}; }
inline Request get(std::string path) { return {.kind = Kind::get, .path = std::move(path)}; }
inline Request watched(std::string path, std::shared_ptr<Signal> signal, unsigned bit) {
  return {.kind = Kind::get, .path = std::move(path), .watch = std::move(signal), .watch_bit = bit};
}
inline Request children(std::string path) {
  return {.kind = Kind::children, .path = std::move(path)};
}
inline Request watched_children(std::string path, std::shared_ptr<Signal> signal, unsigned bit) {
  return {.kind = Kind::children,
          .path = std::move(path),
          .watch = std::move(signal),
          .watch_bit = bit};
}
inline Request create(std::string path, std::string data, Lasting lasting) {
  return {
      .kind = Kind::create, .path = std::move(path), .data = std::move(data), .lasting = lasting};
}
inline Request set(std::string path, std::string data, std::int32_t version) {
  return {.kind = Kind::set, .path = std::move(path), .data = std::move(data), .version = version};
}
inline Request acl(std::string path) { return {.kind = Kind::acl, .path = std::move(path)}; }
inline Request set_acl(std::string path, Acl acl) {
  return {.kind = Kind::set_acl, .path = std::move(path), .acl = std::move(acl)};
}
inline Request remove(std::string path, std::int32_t version = any_version) {
  return {.kind = Kind::remove, .path = std::move(path), .version = version};
}
inline Request check(std::string path, std::int32_t version) {
  return {.kind = Kind::check, .path = std::move(path), .version = version};
}
inline Request multi(std::vector<Request> parts) {
  return {.kind = Kind::multi, .parts = std::move(parts)};
}

// The approximate size of a request on the wire and in the server's log, which are usually limited
// to 1 MB (jute.maxbuffer).
std::size_t weight(const Request& request) noexcept;
inline constexpr std::size_t most_weight = 900'000;

// Numbers the connections that one client makes, in the order in which it learns of them. Data that
// was requested when the last connection had this number is at least as new as the connections up
// to it, and says nothing about later ones: a store may be restored from a backup between two
// connections, but not during one.
using ConnectionNumber = std::uint64_t;

struct Reply {
  int code = 0;  // ZOO_ERRORS; 0: done
  // The connection by which the reply came, or with which it was lost; 0: none came.
  ConnectionNumber connection = 0;
  NodeStat stat{};
  // A node's data; for a create, the node's path. As a part of a multi: only of a sequential node.
  std::string text{};
  std::vector<std::string> children{};
  std::vector<Reply> parts{};  // for a multi
  Acl acl{};

  [[nodiscard]] bool ok() const noexcept { return code == 0; }
};

using Replies = std::vector<Reply>;

}  // namespace lockset::zookeeper
