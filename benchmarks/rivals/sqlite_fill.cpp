#include "benchmarks/rivals/sqlite_fill.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "backends/sqlite/holds.h"
#include "backends/sqlite/store.h"

namespace lockset::bench {
namespace {

using namespace std::chrono_literals;
using sqlite::Query;
using sqlite::Transaction;

// Rows per transaction: the log grows with it.
constexpr std::int64_t rows_at_once = 50'000;

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

TimePoint soon() { return BootClock::now() + 60s; }

std::unique_ptr<sqlite::Store> open(const Url& url) {
  return value(sqlite::Store::open(value(sqlite::parse_address(url)), soon()));
}

std::int64_t number(Transaction& transaction, const char* sql) {
  Query query = transaction.db.use(sql);
  return query.next() ? query.integer(0) : 0;
}

std::int64_t holds(Transaction& transaction) {
  return number(transaction, "SELECT count(*) FROM holds");
}

// Adds the holds from `have` up to `want`, as the acquire step does.
void add(Transaction& transaction, const Owner& owner, std::int64_t have, std::int64_t want) {
  std::int64_t stamp =
      std::max(number(transaction, "SELECT last_stamp FROM space"), transaction.wall_us);
  for (; have < want; ++have) {
    const LockSet set = value(LockSet::make({write("filler-" + std::to_string(have))}));
    sqlite::add_hold(transaction, {Stamp{++stamp}, Token::random(), owner, set,
                                   std::chrono::microseconds(1h).count()});
  }
  transaction.db.use("UPDATE space SET last_stamp = ?").bind(stamp).run();
}

void remove(Transaction& transaction, std::int64_t have, std::int64_t want) {
  for (; have > want; --have) {
    const std::int64_t last = number(transaction, "SELECT max(stamp) FROM holds");
    sqlite::remove_hold(transaction, Stamp{last});
  }
}

}  // namespace

void fill_sqlite(const Url& url, std::uint64_t count) {
  const auto wanted = static_cast<std::int64_t>(count);
  const Owner owner{"filler", Token::random().hex(), 0, "filler"};
  const auto store = open(url);
  for (bool done = false; !done;) {
    done = value(store->write<bool>(soon(), [&](Transaction& transaction) -> Result<bool> {
      const std::int64_t have = holds(transaction);
      if (have <= wanted) {
        add(transaction, owner, have, std::min(wanted, have + rows_at_once));
      } else {
        remove(transaction, have, std::max(wanted, have - rows_at_once));
      }
      return holds(transaction) == wanted;
    }));
  }
}

std::int64_t sqlite_page_size(const Url& url) {
  return value(open(url)->read<std::int64_t>(soon(), [](Transaction& transaction) {
    return Result(number(transaction, "PRAGMA page_size"));
  }));
}

}  // namespace lockset::bench
