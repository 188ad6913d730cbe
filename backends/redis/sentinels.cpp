#include "backends/redis/sentinels.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "backends/parameters.h"
#include "backends/redis/keys.h"
#include "core/time_math.h"
#include "lockset/lock_set.h"

namespace lockset::redis {
namespace {

using namespace std::chrono_literals;

// For one question, connecting included.
constexpr Duration patience = 2s;

// A field of an answer that is a list of names and values.
std::string field(const Reply& list, std::string_view name) {
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i].text() == name) return std::string(list[i + 1].text());
  }
  return {};
}

std::size_t count_in(const std::string& text) {
  std::size_t value = 0;
  addresses::parse_number<std::size_t>(text, 0, 1'000'000, value);
  return value;
}

// "as, bs" for the message about a name that a sentinel does not know.
std::string known_to(Connection& sentinel, TimePoint by) {
  const Result<Reply> all = sentinel.call({"SENTINEL", "MASTERS"}, Sent::reading, by);
  std::string names;
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    names += (names.empty() ? "" : ", ") + in_quotes(field((*all)[i], "name"));
  }
  return names.empty() ? "no primary at all" : names;
}

}  // namespace

Sentinels::Sentinels(const Options& options) : options_(options) {
  for (const Place& place : options.sentinels) {
    auto asker = std::make_unique<Asker>();
    asker->options = options;
    asker->options.sentinels.clear();
    asker->options.server = place;
    if (!options.cluster) {
      asker->options.user = options.sentinel_user;
      asker->options.password = options.sentinel_password;
    }
    asker->options.database = 0;
    askers_.push_back(std::move(asker));
  }
}

Sentinels::~Sentinels() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (const auto& asker : askers_) {
    if (asker->thread.joinable()) asker->thread.join();
  }
}

void Sentinels::start() {
  if (std::exchange(started_, true)) return;
  for (const auto& asker : askers_) {
    asker->thread.start([this, one = asker.get()] { run(*one); });
  }
}

void Sentinels::run(Asker& asker) {
  std::unique_ptr<Connection> connection;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || asker.wanted; });
    if (ending_) return;
    asker.wanted = false;
    asker.busy = true;
    const TimePoint asked = asker.asked = BootClock::now();
    lock.unlock();
    const bool kept = connection != nullptr;
    Result<SentinelAnswer> answer = ask(asker, connection);
    // The sentinel may have ended the connection while it was idle.
    if (!answer && kept && connection == nullptr) answer = ask(asker, connection);
    lock.lock();
    asker.answer = std::move(answer);
    asker.answered_for = asked;
    asker.busy = false;
    changed_.notify_all();
  }
}

// Each node has its own view of who serves the slot, which follows the configuration's epoch.
Result<SentinelAnswer> Sentinels::ask_node(const Asker& asker, Connection& node,
                                           TimePoint by) const {
  const Keys keys(options_.space);
  const Result<std::vector<Reply>> replies =
      node.call_all({{"CLUSTER", "KEYSLOT", keys.main}, {"CLUSTER", "SLOTS"}, {"CLUSTER", "INFO"}},
                    Sent::reading, by);
  if (!replies) return replies.error();
  for (const Reply& one : *replies) {
    if (one.is_error()) return refused(one.text(), asker.options.shown(), Sent::reading);
  }
  const std::int64_t slot = (*replies)[0].number();
  const Reply& ranges = (*replies)[1];
  SentinelAnswer answer;
  answer.primary.port = 0;
  answer.id = node.run_id();
  const std::string_view info = (*replies)[2].text();
  answer.sentinels = count_in(info_field(info, "cluster_known_nodes"));
  answer.epoch = info_field(info, "cluster_current_epoch");
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Reply range = ranges[i];
    if (slot < range[0].number() || slot > range[1].number()) continue;
    // A node that does not know its own address leaves it out.
    const std::string_view host = range[2][0].text();
    answer.primary.host = host.empty() ? asker.options.server.host : std::string(host);
    answer.primary.port = static_cast<std::uint16_t>(range[2][1].number());
    answer.replicas = range.size() - 3;
  }
  if (answer.primary.port != 0) return answer;
  return Error{Errc::unavailable, asker.options.shown() + ": no node serves slot " +
                                      std::to_string(slot) + ", which has the space's keys"};
}

Result<SentinelAnswer> Sentinels::ask(const Asker& asker, std::unique_ptr<Connection>& connection) {
  const TimePoint by = BootClock::now() + std::min(patience, options_.connect_timeout);
  const auto misconfigured = [&](const std::string& why) {
    return Error{Errc::misconfigured, asker.options.shown() + ": " + why};
  };
  if (connection == nullptr) {
    Result<std::unique_ptr<Connection>> opened = Connection::connect(asker.options, watchdog_, by);
    if (!opened) return opened.error();
    const std::string mode = mode_of((*opened)->info());
    if (options_.cluster && mode != "cluster") {
      return misconfigured("is no node of a cluster: write redis://");
    }
    if (!options_.cluster && mode != "sentinel") {
      return misconfigured("is no sentinel: name sentinels (port 26379) before the primary's name");
    }
    connection = *std::move(opened);
  }
  if (options_.cluster) {
    Result<SentinelAnswer> answer = ask_node(asker, *connection, by);
    if (connection->hung_up()) connection.reset();
    return answer;
  }
  const Result<std::vector<Reply>> replies =
      connection->call_all({{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", options_.primary},
                            {"SENTINEL", "MASTER", options_.primary}},
                           Sent::reading, by);
  if (!replies || connection->hung_up()) connection.reset();
  if (!replies) return replies.error();
  const Reply& place = (*replies)[0];
  const Reply& about = (*replies)[1];
  if (place.is_nil()) {
    return misconfigured("knows no primary " + in_quotes(options_.primary) + ", but " +
                         known_to(*connection, by) + ": check the name behind the sentinels");
  }
  for (const Reply* const one : {&place, &about}) {
    if (one->is_error()) return refused(one->text(), asker.options.shown(), Sent::reading);
  }
  SentinelAnswer answer;
  answer.primary.host = place[0].text();
  answer.primary.port = static_cast<std::uint16_t>(place[1].number());
  answer.id = connection == nullptr ? asker.options.shown() : connection->run_id();
  answer.sentinels = count_in(field(about, "num-other-sentinels")) + 1;
  answer.quorum = count_in(field(about, "quorum"));
  answer.replicas = count_in(field(about, "num-slaves"));
  answer.epoch = field(about, "config-epoch");
  if (answer.primary.port == 0 || answer.epoch.empty()) {
    return misconfigured("gives an answer that makes no sense");
  }
  return answer;
}

void Sentinels::want(TimePoint not_before) {
  for (const auto& asker : askers_) {
    if (!asker->busy || asker->asked < not_before) asker->wanted = true;
  }
  changed_.notify_all();
}

bool Sentinels::asking() const {
  return std::any_of(askers_.begin(), askers_.end(),
                     [](const auto& asker) { return asker->busy || asker->wanted; });
}

std::size_t Sentinels::majority() const {
  std::size_t all = askers_.size();
  for (const auto& asker : askers_) {
    if (asker->answer) all = std::max(all, asker->answer->sentinels);
  }
  return all / 2 + 1;
}

std::optional<Place> Sentinels::agreed(TimePoint since, TimePoint& oldest) const {
  for (const auto& first : askers_) {
    if (!first->answer || first->answered_for < since) continue;
    // A sentinel with two names in the address counts once.
    std::set<std::string> ids;
    oldest = TimePoint::max();
    for (const auto& other : askers_) {
      if (!other->answer || other->answered_for < since) continue;
      if (other->answer->primary != first->answer->primary) continue;
      ids.insert(other->answer->id);
      oldest = std::min(oldest, other->answered_for);
    }
    if (ids.size() >= majority()) return first->answer->primary;
  }
  return {};
}

Error Sentinels::why_not(TimePoint since) const {
  const std::string them = options_.cluster ? "nodes" : "sentinels";
  const std::string all = std::to_string(askers_.size());
  const std::string least = std::to_string(majority());
  if (majority() > askers_.size()) {
    return Error{Errc::misconfigured,
                 options_.shown() + ": the " + them + " know of so many others that " + least +
                     " have to agree, and the address names " + all +
                     ": name all of them, or remove those that are gone (" +
                     (options_.cluster ? "CLUSTER FORGET" : "SENTINEL RESET") + ")"};
  }
  std::map<std::string, std::string> names;  // by the sentinel's process
  std::vector<std::string> answers;
  std::vector<std::string> troubles;
  std::size_t hopeless = 0;
  for (const auto& asker : askers_) {
    if (asker->answer && asker->answered_for >= since) {
      const std::string shown = asker->options.server.shown();
      const auto [same, is_new] = names.emplace(asker->answer->id, shown);
      if (!is_new) {
        return Error{Errc::misconfigured, options_.shown() + ": " + same->second + " and " + shown +
                                              " are one and the same: name each once"};
      }
      answers.push_back(shown + " names " + asker->answer->primary.shown());
    } else if (asker->answer || asker->busy || asker->wanted) {
      troubles.push_back(asker->options.shown() + ": no answer in time");
    } else {
      troubles.push_back(asker->answer.error().message);
      if (!asker->answer.error().retryable()) ++hopeless;
    }
  }
  const bool for_ever = askers_.size() - hopeless < majority();
  const bool disagree = answers.size() >= majority();
  std::string text = options_.shown() + ": ";
  text += disagree ? "no " + least + " of the " + all + " " + them +
                         " name the same primary: is a "
                         "failover under way?"
                   : "only " + std::to_string(answers.size()) + " of the " + all + " " + them +
                         " say which server is the primary, and " + least + " have to agree";
  std::string separator = " (";
  for (const std::string& one : disagree ? answers : troubles) {
    text += separator + one;
    separator = "; ";
  }
  return Error{for_ever ? Errc::misconfigured : Errc::unavailable, text + ")"};
}

Result<Place> Sentinels::primary(TimePoint by) {
  std::unique_lock lock(mutex_);
  start();
  const TimePoint since = std::max(later(BootClock::now(), -sentinel_trust), doubted_);
  for (bool asked = false;;) {
    TimePoint oldest{};
    if (const std::optional<Place> place = agreed(since, oldest)) {
      // So that the next call does not have to wait for answers.
      if (oldest < later(BootClock::now(), -sentinel_trust / 2) && !asking()) want(oldest);
      last_ = place;
      return *place;
    }
    if (asked && (!asking() || BootClock::now() >= by)) return why_not(since);
    if (!std::exchange(asked, true)) want(since);
    changed_.wait_until(lock, on_steady_clock(by));
  }
}

void Sentinels::doubt() {
  const std::lock_guard lock(mutex_);
  doubted_ = BootClock::now();
}

std::optional<Place> Sentinels::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::vector<Result<SentinelAnswer>> Sentinels::ask_all(TimePoint by) {
  std::unique_lock lock(mutex_);
  start();
  const TimePoint since = BootClock::now();
  want(since);
  while (asking() && BootClock::now() < by) changed_.wait_until(lock, on_steady_clock(by));
  std::vector<Result<SentinelAnswer>> answers;
  for (const auto& asker : askers_) {
    if (asker->answered_for >= since) {
      answers.push_back(asker->answer);
    } else {
      answers.emplace_back(
          Error{Errc::unavailable, asker->options.shown() + ": no answer in time"});
    }
  }
  return answers;
}

}  // namespace lockset::redis
