// A space that is wiped and made anew, or restored from a backup, while its clients live. It
// forgets its earlier grants. But clients that continue have to be served, by the permits that are
// in force now, with stamps above all earlier ones.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lockset/backend.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// How a store does it. Each call may throw exceptions derived from std::exception.
struct Vault {
  // Keeps what the space contains at some moment of the call.
  std::function<void()> back_up;
  // An empty space, with the workers' rights.
  std::function<void()> wipe;
  // Restores what was kept last, and nothing else.
  std::function<void()> put_back;
  // Nothing from the workers reaches the store until thaw(). False: not possible now.
  std::function<bool()> freeze = [] { return false; };
  std::function<void()> thaw = [] {};
  // Part of the restore, once the space exists: what its page tells people to do before it is used.
  std::function<void()> prepare = [] {};
  // The store grants nothing new until all earlier grants have ended, and its clients may give it
  // their configuration instead of the backup's.
  bool quarantine = false;
  // Only possible while it is frozen.
  bool needs_frost = false;
};

// For one thread. Refers to the store.
class Restores {
 public:
  using Record = std::function<void(TimePoint at, history::What what)>;
  // `turn`: Store::permits_turn().
  Restores(std::string url, Vault vault, std::mutex& turn, Record record);

  // "restored" and, if it can be wiped, "wiped", both of this kind and group.
  void add_faults(std::vector<Fault>& faults, FaultKind kind, const std::string& group,
                  Duration lease);

 private:
  class Frost;
  std::string begin_restored(Dice& dice);
  void end_restored();
  std::string wiped(Dice& dice);
  void open();
  [[nodiscard]] std::vector<std::string> changing_names() const;
  void set(const std::string& name, Mode mode, std::uint32_t permits);
  // Records that all names of `config_` have had these permits from `since` until now, or kept
  // theirs.
  void note_permits(TimePoint since, const SpaceConfig& config);

  const std::string url_;
  const Vault vault_;
  std::mutex& turn_;
  const Record record_;
  std::unique_ptr<Backend> client_;
  SpaceConfig config_;  // as the last change left it
  std::unique_lock<std::mutex> my_turn_;
  bool frosty_ = false;
  std::optional<Dice> again_;
  SpaceConfig kept_;  // the one in the backup
  TimePoint kept_from_;
  TimePoint kept_until_;
};

}  // namespace lockset::chaos
