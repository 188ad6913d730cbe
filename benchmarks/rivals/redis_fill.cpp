#include <algorithm>
#include <string>
#include <vector>

#include "backends/redis/keys.h"
#include "backends/redis/record.h"
#include "benchmarks/rivals/redis_link.h"
#include "lockset/stamp.h"

namespace lockset::bench::redis {
namespace {

using lockset::redis::Keys;

// In one round trip to the server.
constexpr std::uint64_t batch = 1000;
constexpr std::int64_t lease_us = 3'600'000'000;
constexpr std::string_view string_lease_ms = "3660000";  // its own lease ends a minute later

std::string name_of(std::uint64_t number) { return "filler-" + std::to_string(number); }

// What the script of an acquire leaves (backends/redis/statements/acquire.lua).
class Filler {
 public:
  explicit Filler(const Url& url)
      : options_(options_of(url)), keys_(options_.space), link_(options_) {
    owner_.app = "filler";
    owner_.instance = Token::random().hex();
    owner_.label = "filler";
  }

  // Scores below 0 mark holds that were broken (ADR 0059).
  std::uint64_t holds() {
    const Reply count = link_.call({"ZCOUNT", keys_.leases, "0", "+inf"});
    return static_cast<std::uint64_t>(count.number());
  }

  void add(std::uint64_t from, std::uint64_t to) {
    const Reply time = link_.call({"TIME"});
    const std::int64_t now = time[0].number() * 1'000'000 + time[1].number();
    const Reply last = link_.call({"HGET", keys_.main, "last"});
    const std::int64_t stamp = std::max(now, last.number() + 1);
    const std::string since = std::to_string(now);
    const std::string ends = std::to_string(now + lease_us);
    std::vector<std::string> leases{"ZADD", keys_.leases};
    std::vector<std::string> fields{"HSET", keys_.main};
    // Longer than the space allows: a loss of state has to take it into account.
    fields.insert(fields.end(), {"longest", ends});
    std::size_t answers = 2;
    for (std::uint64_t i = from; i < to; ++i, ++answers) {
      const std::string number = std::to_string(stamp + static_cast<std::int64_t>(i - from));
      const LockRequest item{name_of(i), Mode::write};
      const Token token = Token::random();
      link_.put({"SET", keys_.name(item.name), number, "PX", string_lease_ms});
      leases.insert(leases.end(), {ends, number});
      fields.insert(fields.end(), {"last", number, "h:" + number,
                                   since + ";" + lockset::redis::pack(token, owner_, {&item, 1}),
                                   "t:" + token.hex(), number});
    }
    link_.put(std::vector<std::string_view>(leases.begin(), leases.end()));
    link_.put(std::vector<std::string_view>(fields.begin(), fields.end()));
    while (answers-- > 0) link_.take();
  }

  void remove(std::uint64_t from, std::uint64_t to) {
    std::vector<std::string> names{"MGET"};
    for (std::uint64_t i = from; i < to; ++i) names.push_back(keys_.name(name_of(i)));
    const Reply values = link_.call(std::vector<std::string_view>(names.begin(), names.end()));
    std::vector<std::string> leases{"ZREM", keys_.leases};
    std::vector<std::string> fields{"HMGET", keys_.main};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].is_nil()) continue;
      leases.emplace_back(values[i].text());
      fields.push_back("h:" + leases.back());
    }
    if (leases.size() == 2) return;
    const Reply records = link_.call(std::vector<std::string_view>(fields.begin(), fields.end()));
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (const auto record = lockset::redis::unpack(records[i].text())) {
        fields.push_back("t:" + record->token);
      }
    }
    fields.front() = "HDEL";
    names.front() = "DEL";
    for (const auto* words : {&names, &leases, &fields}) {
      link_.call(std::vector<std::string_view>(words->begin(), words->end()));
    }
  }

 private:
  const Options options_;
  const Keys keys_;
  Link link_;
  Owner owner_;
};

}  // namespace

void fill(const Url& url, std::uint64_t count) {
  Filler filler(url);
  std::uint64_t present = filler.holds();
  while (present < count) {
    const std::uint64_t to = std::min(count, present + batch);
    filler.add(present, to);
    present = to;
  }
  while (present > count) {
    const std::uint64_t from = std::max(count, present - std::min(present, batch));
    filler.remove(from, present);
    present = from;
  }
}

}  // namespace lockset::bench::redis
