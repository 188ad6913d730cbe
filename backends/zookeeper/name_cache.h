// What this client knows about names: who held a name at a certain version. As long as the version
// is the same, nobody has been added. So a set that these holders would admit can be requested at
// once, and the server only has to compare the versions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/zookeeper/admission.h"
#include "backends/zookeeper/line.h"
#include "backends/zookeeper/paths.h"
#include "backends/zookeeper/requests.h"
#include "backends/zookeeper/shares.h"
#include "lockset/stamp.h"

namespace lockset::zookeeper {

struct NameState {
  bool exists = true;
  std::int32_t version = 0;
  std::vector<Holder> holders;
  // Perhaps somebody is in line for it: who comes into the line sets this and raises the version.
  bool marked = false;
  std::optional<Line> line{};  // unset: not read
  // It has shares. To make or remove them raises the version.
  bool split = false;
  Shares shares{};
  // It has a trace: a write grant has to change that, too. To make or remove one raises the
  // version.
  bool observed = false;
  std::optional<Stamp> last_write{};  // in the trace; unset: not known
  // The configuration's node had this version. Removing a name's node raises it, because the
  // versions of the name's next node have another meaning.
  std::int32_t config_version = 0;
  // The client's last connection when this was read. In a restored store a version has another
  // meaning, so this counts only in connections that are not later.
  ConnectionNumber read_at = 0;
};

// The state of a name as its node was read, with its children.
inline NameState state_of(const Reply& reply, std::int32_t config_version,
                          ConnectionNumber read_at) {
  NameState name;
  name.exists = reply.ok();
  name.version = reply.stat.version;
  name.holders = holders_of(reply.children);
  name.marked = reply.stat.data_bytes != 0;
  name.observed = std::find(reply.children.begin(), reply.children.end(), Paths::trace_part) !=
                  reply.children.end();
  name.split = std::find(reply.children.begin(), reply.children.end(), Paths::shares_part) !=
               reply.children.end();
  name.config_version = config_version;
  name.read_at = read_at;
  return name;
}

// Thread-safe.
class NameCache {
 public:
  // The state that may be relied on in this connection; nothing if it was out of date the last
  // time.
  [[nodiscard]] std::optional<NameState> find(const std::string& name, std::int32_t config_version,
                                              ConnectionNumber connection) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    if (found == names_.end() || !found->second.trusted) return {};
    if (found->second.state.read_at < connection) return {};
    if (found->second.state.config_version != config_version) return {};
    return found->second.state;
  }
  // Sets the state after our own grant, unless a later one is known already.
  void put(const std::string& name, NameState state) {
    const std::lock_guard lock(mutex_);
    if (names_.size() >= most_names) names_.erase(names_.begin());
    const auto [found, made] = names_.try_emplace(name);
    NameState& known = found->second.state;
    if (made || is_older(known, state)) known = std::move(state);
  }
  // The server had another version: other clients take this name too.
  void missed(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    if (found != names_.end()) found->second.trusted = false;
  }
  // The name was read. If its version is the one that we left, the next attempt may rely on it,
  // too.
  void read(const std::string& name, const NameState& state) {
    const std::lock_guard lock(mutex_);
    if (state.split && names_.size() < most_names) names_.try_emplace(name, Entry{state, false});
    const auto found = names_.find(name);
    if (found == names_.end()) return;
    NameState& known = found->second.state;
    found->second.trusted =
        known.version == state.version && (!state.split || known.shares == state.shares);
    known.marked = state.marked;
    known.split = state.split;
  }
  // Whether it had shares at the last look.
  [[nodiscard]] bool was_split(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    return found != names_.end() && found->second.state.split;
  }
  // Whether somebody was in line for it at the last look.
  [[nodiscard]] bool was_marked(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    return found != names_.end() && found->second.state.marked;
  }
  // The name was read for the attempt that follows.
  void learn(const std::string& name, NameState state) {
    const std::lock_guard lock(mutex_);
    if (names_.size() >= most_names) names_.erase(names_.begin());
    const auto [found, made] = names_.try_emplace(name);
    NameState& known = found->second.state;
    if (!made && is_older(state, known)) return;
    known = std::move(state);
    found->second.trusted = true;
  }
  void forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.erase(name);
  }
  // This hold on the name has ended.
  void ended(const std::string& name, const std::string& token) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(name);
    if (found == names_.end()) return;
    std::erase_if(found->second.state.holders,
                  [&](const Holder& holder) { return holder.token == token; });
  }

 private:
  struct Entry {
    NameState state;
    bool trusted = true;
  };
  static constexpr std::size_t most_names = 20'000;
  // Versions wrap around at 2^32.
  static bool is_later(std::int32_t one, std::int32_t other) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) -
                                     static_cast<std::uint32_t>(other)) > 0;
  }

  static bool is_older(const NameState& one, const NameState& other) {
    if (one.read_at != other.read_at) return one.read_at < other.read_at;
    return one.config_version == other.config_version
               ? is_later(other.version, one.version)
               : is_later(other.config_version, one.config_version);
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> names_;
};

}  // namespace lockset::zookeeper
