// The child of the tests with several processes: a user of the public interface. Lines on stdin
// control it, and it answers each with one line.
//
//   open URL APP LEASE_MS        ok | error CODE
//   acquire WAIT_MS r:NAME ...   granted STAMP | error CODE
//   outlive WAIT_MS r:NAME ...   the same, for a hold that outlives this process
//   await WAIT_MS r:NAME ...     the same, after a line "busy" as soon as it has to wait
//   upgrade                      granted STAMP | busy | error CODE
//   valid                        valid | invalid
//   release                      released | error CODE
//   count FILE ROUNDS NAME       counted N     reads, adds 1 and writes, under a lock
//   leave                        ends without releasing or cleaning up anything
//   exit                         exiting       calls exit(); the last handler still obeys
//
// Or without stdin: lockset_holder hammer URL SECONDS SEED LOG NAMES losses|none (hammer_worker.h).
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/observer.h"
#include "tests/conformance/hammer_worker.h"

namespace {

using namespace lockset;
using std::chrono::milliseconds;

std::string error_line(const Error& error) { return "error " + std::string(to_string(error.code)); }

// Reports once that an acquire was busy, if asked to.
class Waits final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::busy && tells.exchange(false)) std::cout << "busy" << std::endl;
  }
  std::atomic<bool> tells = false;
};

class Holder {
 public:
  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "open") return open(words);
    if (command == "acquire") return acquire(words);
    if (command == "outlive") return acquire(words, true);
    if (command == "await") {
      waits_->tells = true;
      return acquire(words);
    }
    if (command == "valid") return hold_.valid() ? "valid" : "invalid";
    if (command == "release") {
      const Status status = hold_.release();
      return status ? "released" : error_line(status.error());
    }
    if (command == "upgrade") return upgrade();
    if (command == "count") return count(words);
    if (command == "leave") _exit(0);
    return "error unknown_command";
  }

 private:
  std::string open(std::istream& words) {
    std::string url, app;
    int lease_ms = 0;
    words >> url >> app >> lease_ms;
    Options options;
    options.app = app;
    options.lease = milliseconds(lease_ms);
    options.observer = waits_;
    Result<Locks> locks = lockset::open(url, options);
    if (!locks) return error_line(locks.error());
    locks_.emplace(*std::move(locks));
    return "ok";
  }

  std::string acquire(std::istream& words, bool outlives_process = false) {
    int wait_ms = 0;
    words >> wait_ms;
    std::vector<LockRequest> wanted;
    for (std::string word; words >> word;) {
      wanted.push_back({word.substr(2), word[0] == 'r' ? Mode::read : Mode::write});
    }
    AcquireOptions options;
    options.wait = milliseconds(wait_ms);
    options.outlives_process = outlives_process;
    Result<Hold> hold = locks_->acquire(wanted, options);
    if (!hold) return error_line(hold.error());
    hold_ = *std::move(hold);
    return "granted " + std::to_string(hold_.stamp().value);
  }

  std::string upgrade() {
    auto upgraded = hold_.try_upgrade();
    if (!upgraded.ok()) return error_line(upgraded.error());
    if (!upgraded->has_value()) return "busy";
    hold_ = **std::move(upgraded);
    return "granted " + std::to_string(hold_.stamp().value);
  }

  std::string count(std::istream& words) {
    std::string path, name;
    int rounds = 0;
    words >> path >> rounds >> name;
    AcquireOptions options;
    options.wait = std::chrono::seconds(20);
    for (int i = 0; i < rounds; ++i) {
      Result<Hold> hold = locks_->acquire({write(name)}, options);
      if (!hold) return error_line(hold.error());
      long value = 0;
      std::ifstream(path) >> value;
      std::this_thread::yield();
      std::ofstream(path) << value + 1;
      if (const Status status = hold->release(); !status) return error_line(status.error());
    }
    return "counted " + std::to_string(rounds);
  }

  const std::shared_ptr<Waits> waits_ = std::make_shared<Waits>();
  std::optional<Locks> locks_;
  Hold hold_;  // behind locks_: destroyed first
};

Holder* exiting = nullptr;

int obey_all(Holder& holder) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "exit") {
      exiting = &holder;
      std::cout << "exiting" << std::endl;
      // Does not return to main: our client, which lives there, is not destroyed.
      std::exit(0);
    }
    std::cout << holder.obey(line) << std::endl;
  }
  return 0;
}

// Called after all other handlers, because it was registered before them.
void obey_while_exiting() {
  if (exiting != nullptr) obey_all(*exiting);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 8 && std::string(argv[1]) == "hammer") {
    return conformance::hammer({argv[2], std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10),
                                argv[5], std::strtoull(argv[6], nullptr, 10),
                                std::string(argv[7]) == "losses"});
  }
  std::atexit(obey_while_exiting);
  Holder holder;
  return obey_all(holder);
}
