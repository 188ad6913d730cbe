#include <array>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/redis/connection.h"
#include "benchmarks/rivals/redis_link.h"
#include "benchmarks/rivals/stores.h"
#include "lockset/stamp.h"

namespace lockset::bench {
namespace {

using redis::Link;
using redis::Options;
using redis::Reply;

constexpr std::string_view floor_prefix = "lockset_bench_floor:";
constexpr std::string_view native_prefix = "lockset_bench_native:";
constexpr std::string_view every_key = "lockset_bench_*";
// The same as Lockset's.
constexpr std::string_view lease_ms = "30000";

// Never releases another client's lock.
constexpr std::string_view give_back_one = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0)";
constexpr std::string_view give_back_all = R"(
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
return 1)";

// A new token for each lock, so that a late release can't hit the next holder.
class Tokens {
 public:
  std::string_view next() {
    text_.resize(32);
    text_ += std::to_string(++count_);
    return text_;
  }
  [[nodiscard]] std::string_view last() const { return text_; }

 private:
  std::string text_ = Token::random().hex();
  std::uint64_t count_ = 0;
};

// SET NX PX, and a script that compares and deletes.
class FloorClient : public Client {
 public:
  explicit FloorClient(const Options& options)
      : link_(options), script_(link_.load(give_back_one)) {}

  void lock(std::span<const std::string> names, Mode /*mode*/) override {
    key_ = floor_prefix;
    key_ += names.front();
    if (link_.call({"SET", key_, tokens_.next(), "NX", "PX", lease_ms}).is_nil()) {
      throw std::runtime_error("the floor does not wait, and the lock is taken");
    }
  }
  void unlock() override {
    if (link_.call({"EVALSHA", script_, "1", key_, tokens_.last()}).number() != 1) {
      throw std::runtime_error("the floor's lock was gone");
    }
  }

 private:
  Link link_;
  const std::string script_;
  Tokens tokens_;
  std::string key_;
};

// The same, tried again after a random pause until it is free, as common lock libraries do. Several
// names are taken in order; if one is taken, the earlier ones are released first.
class PollingClient : public Client {
 public:
  explicit PollingClient(const Options& options)
      : link_(options), script_(link_.load(give_back_all)) {}
  ~PollingClient() override {
    try {
      give_back();
    } catch (const std::runtime_error&) {
      // they expire on their own
    }
  }

  void lock(std::span<const std::string> names, Mode /*mode*/) override {
    while (!take(names)) {
      give_back();
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms_(random_)));
    }
  }
  void unlock() override { give_back(); }

 private:
  bool take(std::span<const std::string> names) {
    const std::string_view token = tokens_.next();
    for (const std::string& name : names) {
      std::string key(native_prefix);
      key += name;
      if (link_.call({"SET", key, token, "NX", "PX", lease_ms}).is_nil()) return false;
      keys_.push_back(std::move(key));
    }
    return true;
  }
  void give_back() {
    if (keys_.empty()) return;
    const std::string count = std::to_string(keys_.size());
    std::vector<std::string_view> words{"EVALSHA", script_, count};
    words.insert(words.end(), keys_.begin(), keys_.end());
    words.push_back(tokens_.last());
    link_.call(words);
    keys_.clear();
  }

  Link link_;
  const std::string script_;
  Tokens tokens_;
  std::vector<std::string> keys_;
  std::minstd_rand random_{std::random_device()()};
  std::uniform_int_distribution<int> pause_ms_{10, 50};
};

template <class Made>
class RedisEntry : public Entry {
 public:
  explicit RedisEntry(Options options) : options_(std::move(options)) {}
  std::unique_ptr<Client> connect() override { return std::make_unique<Made>(options_); }

 private:
  const Options options_;
};

template <class Made>
std::unique_ptr<Entry> enter(const Url& url) {
  return std::make_unique<RedisEntry<Made>>(redis::options_of(url));
}

constexpr std::array rivals{
    Rival{.name = "floor", .role = Role::floor, .enter = enter<FloorClient>},
    Rival{.name = "set_nx_px_polling",
          .role = Role::native,
          .waits = true,
          .most_names = 64,
          .enter = enter<PollingClient>},
};

// Called before and after: an earlier run may have been interrupted.
void clean(const Url& url) {
  Link link(redis::options_of(url));
  std::string cursor = "0";
  do {
    const Reply found = link.call({"SCAN", cursor, "MATCH", every_key, "COUNT", "10000"});
    cursor = found[0].text();
    std::vector<std::string_view> words{"DEL"};
    for (std::size_t i = 0; i < found[1].size(); ++i) words.push_back(found[1][i].text());
    if (words.size() > 1) link.call(words);
  } while (cursor != "0");
}

nlohmann::ordered_json settings(const Url& url) {
  const Options options = redis::options_of(url);
  Link link(options);
  const Reply info = link.call({"INFO"});
  nlohmann::ordered_json all;
  all["server"] = "Redis " + lockset::redis::info_field(info.text(), "redis_version");
  for (const char* const name : {"appendonly", "appendfsync", "save", "io-threads",
                                 "maxmemory-policy", "min-replicas-to-write"}) {
    // Servers before 6 have no io-threads.
    const Reply value = link.call({"CONFIG", "GET", name});
    if (value.size() == 2) all[name] = value[1].text();
  }
  all["transport"] = options.tls ? "TCP, TLS" : options.socket.empty() ? "TCP" : "Unix socket";
  return all;
}

}  // namespace

const RivalStore redis_store{.scheme = "redis",
                             .rivals = rivals,
                             .prepare = clean,
                             .clean = clean,
                             .fill = redis::fill,
                             .settings = settings};

}  // namespace lockset::bench
