// The competitors on one store: Lockset, the floor (the least that the store's own client library
// can do for a lock), and what people would use instead.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "lockset/lock_set.h"
#include "lockset/url.h"

namespace lockset::bench {

// A client with its own connection, used by one thread at a time. Calls throw std::runtime_error
// with one line, without secrets.
class Client {
 public:
  Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  // Releases what it holds, best effort.
  virtual ~Client() = default;

  // Takes all of `names` (sorted, distinct, never empty) and returns when they are held. A rival
  // that can't wait for a lock (Rival::waits) throws if one is taken.
  virtual void lock(std::span<const std::string> names, Mode mode) = 0;
  // Releases what the last lock() took.
  virtual void unlock() = 0;
};

// A process's entry to the store, which makes its clients. Lockset's entry shares one Locks among
// them; the others have nothing to share.
class Entry {
 public:
  Entry() = default;
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  // REQUIRES: its clients are destroyed.
  virtual ~Entry() = default;

  // Connects. Thread-safe. Throws std::runtime_error, as Client does.
  virtual std::unique_ptr<Client> connect() = 0;
};

enum class Role : std::uint8_t {
  lockset,
  floor,   // the basis that Lockset is compared with
  native,  // what people would use instead
};

struct Rival {
  std::string_view name;  // the name in the table: "pg_advisory_lock"
  Role role = Role::native;
  bool waits = false;          // lock() waits for a name that is taken
  bool reads = false;          // knows Mode::read
  std::size_t most_names = 1;  // in one lock()
  // Throws std::runtime_error, as Client does.
  std::unique_ptr<Entry> (*enter)(const Url& url) = nullptr;
};

// What else a workload needs to know about a store.
struct RivalStore {
  std::string_view scheme;  // "postgresql"
  // The floor first, then the natives; Lockset (lockset_rival) is added to them.
  std::span<const Rival> rivals{};
  // Makes what the floor and the natives need besides the space (a table, a folder), and removes it
  // again. Null if they need nothing. Harmless to repeat.
  void (*prepare)(const Url& url) = nullptr;
  void (*clean)(const Url& url) = nullptr;
  // Brings the number of live holds in the space to `count`, by the fastest means of the store.
  // Each is a write lock on a separate name ("filler-N"), with a lease of an hour, as if an
  // application "filler" held it; Lockset can't tell it from a real one. REQUIRES: nobody else uses
  // the space, and it contains nothing else.
  void (*fill)(const Url& url, std::uint64_t count) = nullptr;
  // The highest count that fill is called with.
  std::uint64_t most_holds = 1'000'000;
  // "server": name and version, then each setting that affects the speed of a lock
  // ("synchronous_commit": "on"). Strings only.
  nlohmann::ordered_json (*settings)(const Url& url) = nullptr;
};

// The store of the address's scheme, or null. One entry per file in this folder.
const RivalStore* find_store(const Url& url) noexcept;

// The same for every store.
extern const Rival lockset_rival;

}  // namespace lockset::bench
