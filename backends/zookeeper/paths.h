// The paths of a space's tree, and how names become parts of paths.
//
//   SPACE/config                 names the generation, which is drawn whenever the space is made:
//                                in a space that was wiped and made anew every path differs
//   and below ROOT, which is SPACE/GENERATION:
//   ROOT/config                  every acquire compares its version, and every change of the
//                                configuration raises it; contains the part of the configuration
//                                that programs change
//   ROOT/settings                the rest of it, which only operators change
//   ROOT/breaks                  only operators write it, in the step that breaks a hold
//   ROOT/names/NAME              permanent (but see housekeeping): its version counts grants, and
//                                lines that began, and traces and shares made or removed; not
//                                empty: perhaps somebody is in line for it
//   ROOT/names/NAME/w-TOKEN      ephemeral: a write hold on it (r-TOKEN: a read hold)
//   ROOT/names/NAME/trace        permanent, if somebody observes NAME: its last write grant, which
//                                changes it (traces.h)
//   ROOT/names/NAME/observed-MS  permanent, beside it: when that was noted, by the server's clock
//   ROOT/names/NAME/shares/0 to f  permanent, if readers of NAME met often: each version counts the
//                                read grants of a share (shares.h), which don't raise NAME's
//   ROOT/holds/TOKEN             ephemeral: the hold's record
//   ROOT/queues/NAME             permanent, as the name: its version counts the waiters who came
//   into
//                                the line of NAME
//   ROOT/queues/NAME/w-TOKEN-SEQUENCE  ephemeral: a waiter that NAME blocks, in the order of
//                                SEQUENCE, which the server counts (r-: for a read)
//   ROOT/queues/NAME/lw-TOKEN-SEQUENCE  ephemeral: a waiter whose set has NAME, whatever blocks it;
//                                all of them are the line of NAME, in the order of SEQUENCE
//   ROOT/queues/.waiters/TOKEN   ephemeral: its version counts how often the waiter was overtaken;
//                                contains its label
//   ROOT/queues/.waiters/TOKEN-call  ephemeral: not empty: somebody calls the waiter, which empties
//                                it to show that it lives
//   ROOT/renewals/ID             ephemeral: what a session writes to renew its holds
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::zookeeper {

// The text as part of a path: %XX for everything that ZooKeeper forbids or reserves there, and for
// everything that is not ASCII. No two texts give the same part.
std::string escaped(std::string_view text);
// Unset if escaped() can't have made it.
std::optional<std::string> unescaped(std::string_view part);

// Absolute, without empty, "." or ".." parts and without control characters.
bool is_valid_path(std::string_view path);

// The hold to which a child of a name's node belongs.
struct Holder {
  Mode mode = Mode::write;
  std::string token;  // as Token::hex
  bool operator==(const Holder&) const = default;
};
std::string holder_part(Mode mode, std::string_view token);
std::optional<Holder> holder_of(std::string_view part);

// The path of a node below `above`.
std::string below(std::string_view above, std::string_view part);

// Random, as part of a path.
std::string new_generation();
bool is_generation(std::string_view part);

// The node that names the generation. Spaces of version 1, which had no generations, have their
// configuration there.
inline std::string head_path(const std::string& space) { return space + "/config"; }

// The child of a name's node that says when the name was observed; milliseconds since 1970.
std::string note_part(std::int64_t ms);
// Unset if the child says nothing of that.
std::optional<std::int64_t> noted_ms(std::string_view part);

// The part of a path for one of the shares (shares.h).
inline std::string share_part(std::size_t share) {
  return std::string(1, "0123456789abcdef"[share % 16]);
}

class Paths {
 public:
  static constexpr std::string_view trace_part = "trace";
  static constexpr std::string_view shares_part = "shares";
  static constexpr std::string_view waiters_part = ".waiters";

  Paths(const std::string& space, const std::string& generation)
      : root_(space + "/" + generation) {}

  [[nodiscard]] const std::string& root() const noexcept { return root_; }
  [[nodiscard]] std::string config() const { return root_ + "/config"; }
  [[nodiscard]] std::string settings() const { return root_ + "/settings"; }
  [[nodiscard]] std::string breaks() const { return root_ + "/breaks"; }
  [[nodiscard]] std::string names() const { return root_ + "/names"; }
  [[nodiscard]] std::string holds() const { return root_ + "/holds"; }
  [[nodiscard]] std::string queues() const { return root_ + "/queues"; }
  [[nodiscard]] std::string renewals() const { return root_ + "/renewals"; }
  [[nodiscard]] std::string name(std::string_view name) const {
    return names() + "/" + escaped(name);
  }
  [[nodiscard]] std::string holder(const LockRequest& item, std::string_view token) const {
    return name(item.name) + "/" + holder_part(item.mode, token);
  }
  [[nodiscard]] std::string trace(std::string_view name) const {
    return below(this->name(name), trace_part);
  }
  [[nodiscard]] std::string shares(std::string_view name) const {
    return below(this->name(name), shares_part);
  }
  [[nodiscard]] std::string share(std::string_view name, std::size_t share) const {
    return below(shares(name), share_part(share));
  }
  [[nodiscard]] std::string hold(std::string_view token) const {
    return holds() + "/" + std::string(token);
  }
  [[nodiscard]] std::string queue(std::string_view name) const {
    return queues() + "/" + escaped(name);
  }
  // No name is escaped like this.
  [[nodiscard]] std::string waiters() const { return queues() + "/" + std::string(waiters_part); }
  [[nodiscard]] std::string waiter(std::string_view token) const {
    return waiters() + "/" + std::string(token);
  }
  [[nodiscard]] std::string call(std::string_view token) const { return waiter(token) + "-call"; }

 private:
  std::string root_;
};

}  // namespace lockset::zookeeper
