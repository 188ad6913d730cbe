#include "migration/clients.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "backends/migrate/hold_tag.h"
#include "migration/in_the_way.h"

namespace lockset::migrate {
namespace {

using Key = std::pair<std::string, std::string>;  // application, instance without its tag
using Clients = std::map<Key, MigrationClient>;

MigrationClient& client_of(const Owner& owner, bool in_old, std::uint32_t migration,
                           Clients& clients) {
  const std::optional<HoldTag> tag = tag_of(owner.instance, migration);
  MigrationClient& client = clients[{owner.app, std::string(without_tag(owner.instance))}];
  if (client.owner.app.empty()) {
    client.owner = owner;
    client.version = version_of(owner.instance);
  }
  client.follows = client.follows || tag.has_value();
  client.in_old_store = client.in_old_store || in_old;
  return client;
}

void add(const Inspection& seen, bool in_old, bool old_counted, std::uint32_t migration,
         Clients& clients) {
  for (const HoldInfo& hold : seen.holds) {
    if (is_bookkeeping(hold.items)) continue;
    MigrationClient& client = client_of(hold.owner, in_old, migration, clients);
    const std::optional<HoldTag> tag = tag_of(hold.owner.instance, migration);
    const bool counted_there = old_counted && tag && tag->in_old;
    if (!counted_there) ++client.holds;
  }
  for (const WaiterInfo& waiter : seen.waiters) client_of(waiter.owner, in_old, migration, clients);
}

// "tried=12 ...": every word has to be such a pair.
std::optional<std::map<std::string_view, std::uint64_t>> numbers_of(std::string_view text) {
  std::map<std::string_view, std::uint64_t> numbers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return {};
    const std::string_view digits = word.substr(sign + 1);
    std::uint64_t number = 0;
    const auto [stop, failed] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failed != std::errc{} || stop != digits.data() + digits.size()) return {};
    numbers[word.substr(0, sign)] = number;
  }
  return numbers;
}

}  // namespace

MigrationStatus::Holds count_holds(const Inspection& seen, std::uint32_t migration) {
  MigrationStatus::Holds holds;
  for (const HoldInfo& hold : seen.holds) {
    if (is_bookkeeping(hold.items)) continue;
    const std::optional<HoldTag> tag = tag_of(hold.owner.instance, migration);
    if (tag) {
      ++holds.by_phase[static_cast<std::size_t>(tag->phase)];
    } else {
      ++holds.alone;
    }
  }
  return holds;
}

std::vector<MigrationClient> clients_of(const Inspection* in_old, const Inspection* in_new,
                                        std::uint32_t migration) {
  Clients clients;
  if (in_old != nullptr) add(*in_old, true, false, migration, clients);
  if (in_new != nullptr) add(*in_new, false, in_old != nullptr, migration, clients);
  std::vector<MigrationClient> all;
  for (auto& [key, client] : clients) all.push_back(std::move(client));
  return all;
}

MigrationStatus::Shadow sum_of_reports(const Inspection& in_new) {
  MigrationStatus::Shadow sum;
  for (const HoldInfo& hold : in_new.holds) {
    if (hold.items.empty() || !hold.items.front().name.starts_with(report_prefix)) continue;
    const auto numbers = numbers_of(hold.owner.label);
    if (!numbers) continue;
    constexpr std::string_view wanted[] = {"tried",   "granted",   "differences", "errors",
                                           "skipped", "median_us", "p99_us"};
    if (!std::ranges::all_of(wanted, [&](std::string_view key) { return numbers->contains(key); }))
      continue;
    ++sum.clients;
    sum.tried += numbers->at("tried");
    sum.granted += numbers->at("granted");
    sum.differences += numbers->at("differences");
    sum.errors += numbers->at("errors");
    sum.skipped += numbers->at("skipped");
    const auto slowest = [](Duration& so_far, std::uint64_t us) {
      constexpr std::uint64_t most_us = 86'400'000'000;  // nobody waits a day for an acquire
      so_far = std::max<Duration>(
          so_far, std::chrono::microseconds(static_cast<std::int64_t>(std::min(us, most_us))));
    };
    slowest(sum.median, numbers->at("median_us"));
    slowest(sum.p99, numbers->at("p99_us"));
  }
  return sum;
}

}  // namespace lockset::migrate
