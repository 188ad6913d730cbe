#include "benchmarks/worker/worker.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "benchmarks/rivals/lockset_rival.h"
#include "lockset/lockset.h"

namespace lockset::bench {
namespace {

using nlohmann::json;

Url parse(const json& order) {
  auto url = Url::parse(order.at("url").get<std::string>());
  if (!url) throw std::runtime_error(url.error().message);
  return *url;
}

std::optional<Duration> lease(const json& order) {
  if (!order.contains("lease_ms")) return {};
  return std::chrono::milliseconds(order.at("lease_ms").get<std::int64_t>());
}

const Rival* find_rival(const Url& url, std::string_view name) {
  if (name == lockset_rival.name) return &lockset_rival;
  for (const Rival& rival : find_store(url)->rivals) {
    if (rival.name == name) return &rival;
  }
  throw std::runtime_error("there is no rival '" + std::string(name) + "'");
}

class Orders {
 public:
  json obey(const json& order) {
    const auto what = order.at("do").get<std::string>();
    if (what == "enter") return enter(order);
    if (what == "cycle") return cycle(order.get<CycleOrder>());
    if (what == "lock") return lock(order.at("name").get<std::string>());
    if (what == "unlock") {
      clients_.at(0)->unlock();
      return json::object();
    }
    if (what == "keep") return keep(order);
    if (what == "usage") return usage();
    throw std::runtime_error("there is no order '" + what + "'");
  }

 private:
  json enter(const json& order) {
    const Url url = parse(order);
    const Rival* rival = find_rival(url, order.at("rival").get<std::string>());
    if (rival == &lockset_rival) {
      if (order.value("events", false)) events_ = std::make_shared<EventCounts>();
      entry_ = enter_lockset(url, {.events = events_, .lease = lease(order)});
    } else {
      entry_ = rival->enter(url);
    }
    first_ = order.at("first").get<std::size_t>();
    const auto clients = order.at("clients").get<std::size_t>();
    while (clients_.size() < clients) clients_.push_back(entry_->connect());
    return json::object();
  }

  json cycle(const CycleOrder& order) {
    const auto before = counts();
    CycleResult result = run_cycles(clients_, first_, order);
    result.events = counts();
    for (const auto& [kind, times] : before) result.events[kind] -= times;
    std::erase_if(result.events, [](const auto& event) { return event.second == 0; });
    return result;
  }

  json lock(const std::string& name) {
    clients_.at(0)->lock(std::span(&name, 1), Mode::write);
    return {{"granted_ns", BootClock::now().time_since_epoch().count()}};
  }

  json keep(const json& order) {
    events_ = std::make_shared<EventCounts>();
    auto locks = lockset::open(parse(order).text, {.lease = lease(order), .observer = events_});
    if (!locks) throw std::runtime_error(locks.error().message);
    kept_by_ = std::move(*locks);
    const auto count = order.at("count").get<std::size_t>();
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> failed = false;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        while (!failed) {
          const std::size_t number = next++;
          if (number >= count) return;
          if (!kept_by_->acquire_locks({write("bench-kept-" + std::to_string(number))})) {
            failed = true;
          }
        }
      });
    }
    threads.clear();
    if (failed) throw std::runtime_error("could not take the holds that were to be renewed");
    return json::object();
  }

  json usage() {
    const auto counted = counts();
    const auto renewed = counted.find("renewed");
    return {{"at_ns", BootClock::now().time_since_epoch().count()},
            {"cpu_seconds", cpu_seconds()},
            {"renewed", renewed == counted.end() ? 0 : renewed->second}};
  }

  std::map<std::string, std::uint64_t> counts() const {
    return events_ ? events_->counts() : std::map<std::string, std::uint64_t>{};
  }

  std::shared_ptr<EventCounts> events_;
  std::unique_ptr<Entry> entry_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t first_ = 0;
  std::optional<Locks> kept_by_;
};

}  // namespace

int work() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Orders orders;
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = orders.obey(json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

Worker::Worker() : child_({"/proc/self/exe", "worker"}) {}

Worker::~Worker() {
  if (dead_) return;
  try {
    dismiss();
    child_.wait(std::chrono::seconds(10));
  } catch (const std::runtime_error&) {
    // It does not end, so its destructor kills it.
  }
}

void Worker::kill() {
  dead_ = true;
  child_.kill();
}

void Worker::order(const json& what) { child_.send(what.dump()); }

json Worker::answer(Duration limit) {
  json result = json::parse(child_.receive(limit));
  if (result.contains("error")) throw std::runtime_error(result.at("error").get<std::string>());
  return result;
}

}  // namespace lockset::bench
