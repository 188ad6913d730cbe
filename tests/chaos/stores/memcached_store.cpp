// memcached, which loses everything with each restart: the quarantine keeps the promise. Each loss
// begins a quarantine as long as the longest lease, so that is short here.
#include <memory>
#include <stop_token>
#include <thread>

#include "core/machine.h"
#include "lockset/lockset.h"
#include "tests/chaos/stores/dice.h"
#include "tests/chaos/stores/kinds.h"
#include "tests/chaos/stores/server_store.h"
#include "tests/memcached/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// A shorter one would be over before anything could go wrong.
constexpr Duration longest_lease = 3s;
// The server counts whole seconds, and clients know them only roughly.
constexpr Duration grain = 4s;

class MemcachedStore final : public ServerStore {
 public:
  explicit MemcachedStore(const StoreOptions& options)
      : ServerStore("memcached", "memcached", options) {
    init_space(direct_url() + "?first=on", test::soon()).value();
    const std::shared_ptr<Backend> client = open_backend(direct_url(), test::soon()).value();
    test::Client(client).change(SetMaxLease{longest_lease});
    make_network({{.port = server().port()}}, options.proxies);
    add_server_faults();
    add_sweep();
    add_losses();
    // Somebody who knows the space, even when all workers are new.
    keeper_ = std::jthread([client](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        static_cast<void>(client->load_config(BootClock::now() + 1s).ok());
        sleep_until(BootClock::now() + 50ms, stop);
      }
    });
  }

  [[nodiscard]] std::string version() const override { return "memcached"; }
  [[nodiscard]] std::string worker_url(std::size_t worker) const override {
    return "memcached://" + network().hosts(worker) + "/chaos";
  }
  [[nodiscard]] std::string direct_url() const override { return server().admin_url() + "/chaos"; }
  [[nodiscard]] history::Rules rules() const override {
    history::Rules rules = ServerStore::rules();
    rules.slack += grain;
    // A quarantine is no trouble by itself.
    rules.idle += longest_lease + rules.slack;
    rules.recovery += longest_lease + rules.slack;
    return rules;
  }
  // The server does not tell whose connections it has.
  [[nodiscard]] Left count() override {
    const auto client = open_backend(direct_url(), test::soon()).value();
    return {.holds = client->inspect({}, test::soon()).value().holds.size()};
  }

 private:
  void add_losses() {
    add("flush-all", FaultKind::state, 0s, 0s, [this](Dice&) {
      test::RawMemcached(server().port()).say("flush_all");
      return std::string("all is lost");
    });
    add("pointer-lost", FaultKind::state, 0s, 0s, [this](Dice&) {
      test::RawMemcached(server().port()).say("delete lockset:chaos");
      return std::string("the pointer to the state is lost");
    });
    add("state-lost", FaultKind::state, 0s, 0s, [this](Dice&) {
      test::RawMemcached raw(server().port());
      if (const auto life = raw.get("lockset:chaos")) {
        raw.say("delete lockset:chaos:" + life->value);
      }
      return std::string("the state is lost");
    });
  }

  std::jthread keeper_;  // the last member: it ends first
};

}  // namespace

std::vector<Kind> memcached_kinds() {
  return {{"memcached",
           [](const StoreOptions& options) {
             return ServerStore::server_unavailable("memcached", options);
           },
           [](const StoreOptions& options) { return std::make_unique<MemcachedStore>(options); }}};
}

}  // namespace lockset::chaos
