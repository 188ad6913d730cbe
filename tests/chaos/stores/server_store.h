// What all stores with a server share: a private server, the network in front of it, and the faults
// of both.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/chaos/stores/network.h"
#include "tests/chaos/stores/repeater.h"
#include "tests/chaos/stores/restores.h"
#include "tests/chaos/stores/server_clock.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/private_server.h"

namespace lockset::chaos {

class ServerStore : public Store {
 public:
  static std::optional<std::string> server_unavailable(const std::string& kind,
                                                       const StoreOptions& options);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Duration lease() const override { return std::chrono::seconds(2); }
  [[nodiscard]] std::vector<Fault>& faults() override { return faults_; }
  void settle() override;
  [[nodiscard]] Left left() override;
  [[nodiscard]] history::Rules rules() const override;
  void save_logs(const std::filesystem::path& folder) override;

 protected:
  // Starts the server. `lines` and `environment` as for PrivateServer.
  ServerStore(std::string name, const std::string& kind, const StoreOptions& options,
              const std::vector<std::string>& lines = {},
              std::vector<std::string> environment = {});

  [[nodiscard]] test::PrivateServer& server() { return server_; }
  [[nodiscard]] const test::PrivateServer& server() const { return server_; }
  [[nodiscard]] Network& network() { return *network_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  void make_network(const std::vector<Target>& servers, std::size_t groups);

  // Adds a fault of the group "server", as all faults that need an answering server, or stop it.
  void add(
      const std::string& name, FaultKind kind, Duration shortest, Duration longest,
      std::function<std::string(Dice&)> begin, std::function<void()> end = [] {});
  // Repeats `work` every `pause` while the fault lasts.
  void add_repeated(const std::string& name, FaultKind kind, Duration pause, std::string what,
                    std::function<void()> work);
  // The server is killed, paused and restarted as a whole.
  void add_server_faults();
  // Sweeps and inspects next to the workers, over a separate client.
  void add_sweep();
  void add_clock_faults();
  // Adds "wiped" and "restored"; workers may be kept out during them.
  void add_restores(Vault vault, FaultKind kind = FaultKind::restore);
  // Adds "demoted": the server grants nothing between these two, because another one might.
  void add_demotion(std::string what, std::function<void()> demote, std::function<void()> promote);
  // REQUIRES: all faults are there. For a store whose holds end with their connection: during these
  // and the network's faults that end connections, it reports cuts.
  void report_cuts(const std::set<std::string>& faults);
  // Runs what a person would type.
  static void run(const std::vector<std::string>& words);
  // kill -9; start_again() brings it back, also a paused one, and is otherwise harmless.
  void take_down();
  void start_again();

 private:
  void end_cuts();

  const std::string name_;
  const StoreOptions options_;
  test::PrivateServer server_;
  ServerClock clock_;
  std::unique_ptr<Network> network_;
  std::vector<Fault> faults_;
  bool down_ = false;
  bool paused_ = false;
  bool demoted_ = false;
  bool demotion_told_ = false;
  // The faults with a cut under way, and those that are over.
  std::set<std::string> cutting_;
  std::set<std::string> cut_;
  Repeater repeater_;
  std::unique_ptr<Restores> restores_;
};

}  // namespace lockset::chaos
