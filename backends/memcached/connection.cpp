#include "backends/memcached/connection.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "backends/memcached/errors.h"
#include "backends/server/sigpipe_guard.h"

namespace lockset::memcached {
namespace {

using std::chrono::milliseconds;

memcached_return_t take_stat(const memcached_instance_st* /*server*/, const char* key,
                             std::size_t key_length, const char* value, std::size_t value_length,
                             void* context) {
  auto& stats = *static_cast<std::map<std::string, std::string>*>(context);
  stats[std::string(key, key_length)] = std::string(value, value_length);
  return MEMCACHED_SUCCESS;
}

memcached_return_t ignore_stat(const memcached_instance_st* /*server*/, const char* /*key*/,
                               std::size_t /*key_length*/, const char* /*value*/,
                               std::size_t /*value_length*/, void* /*context*/) {
  return MEMCACHED_SUCCESS;
}

}  // namespace

// It says goodbye, and would wait for the server's answer.
void Connection::Free::operator()(memcached_st* client) const {
  const server::SigpipeGuard guard(true);
  ::memcached_behavior_set(client, MEMCACHED_BEHAVIOR_POLL_TIMEOUT, 1);
  ::memcached_free(client);
}

Connection::Connection(const Options& options) : options_(options) {}

Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::connect(const Options& options, TimePoint by) {
  std::unique_ptr<Connection> connection(new Connection(options));
  connection->client_.reset(::memcached_create(nullptr));
  memcached_st* const client = connection->client_.get();
  if (client == nullptr) throw std::bad_alloc();
  for (const memcached_behavior_t behavior :
       {MEMCACHED_BEHAVIOR_NO_BLOCK, MEMCACHED_BEHAVIOR_TCP_NODELAY,
        MEMCACHED_BEHAVIOR_SUPPORT_CAS}) {
    ::memcached_behavior_set(client, behavior, 1);
  }
  const std::string host = options.host;
  ::memcached_server_add(client, host.c_str(), options.port);
  if (Status status = connection->arm(by); !status) return status.error();
  const server::SigpipeGuard guard(true);
  const memcached_return_t code = ::memcached_stat_execute(client, nullptr, ignore_stat, nullptr);
  if (code == MEMCACHED_SUCCESS) return connection;
  Error error = connection->failure(code, Sent::nothing);
  const bool unreached = code == MEMCACHED_CONNECTION_FAILURE || code == MEMCACHED_TIMEOUT ||
                         code == MEMCACHED_HOST_LOOKUP_FAILURE || code == MEMCACHED_ERRNO;
  if (unreached) return error;
  return Error{Errc::unavailable, error.message +
                                      ": does a memcached listen there, without a "
                                      "login (-S, -Y) and TLS (-Z)?"};
}

Status Connection::arm(TimePoint by) {
  const Duration left = by - BootClock::now();
  if (broken_ || left <= Duration::zero()) {
    return Error{Errc::unavailable,
                 options_.shown() + ": the time was up before it could be asked"};
  }
  const milliseconds wait =
      std::chrono::ceil<milliseconds>(std::min<Duration>(left, std::chrono::hours(1)));
  const auto count = static_cast<std::uint64_t>(wait.count());
  ::memcached_behavior_set(client_.get(), MEMCACHED_BEHAVIOR_POLL_TIMEOUT, count);
  ::memcached_behavior_set(client_.get(), MEMCACHED_BEHAVIOR_CONNECT_TIMEOUT, count);
  return {};
}

Error Connection::failure(memcached_return_t code, Sent sent) {
  broken_ = !is_refusal(code);
  return failed(client_.get(), code, sent, options_.shown());
}

Result<std::map<std::string, Item>> Connection::get(const std::vector<std::string>& keys,
                                                    TimePoint by) {
  if (Status status = arm(by); !status) return status.error();
  const server::SigpipeGuard guard(true);
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string& key : keys) {
    texts.push_back(key.data());
    lengths.push_back(key.size());
  }
  memcached_st* const client = client_.get();
  memcached_return_t code = ::memcached_mget(client, texts.data(), lengths.data(), keys.size());
  if (code != MEMCACHED_SUCCESS) return failure(code, Sent::reading);
  std::map<std::string, Item> items;
  memcached_result_st room;
  if (::memcached_result_create(client, &room) == nullptr) throw std::bad_alloc();
  while (::memcached_fetch_result(client, &room, &code) != nullptr) {
    Item& item = items[std::string(::memcached_result_key_value(&room),
                                   ::memcached_result_key_length(&room))];
    item.value.assign(::memcached_result_value(&room), ::memcached_result_length(&room));
    item.cas = ::memcached_result_cas(&room);
  }
  ::memcached_result_free(&room);
  // A lost connection looks like an item that is not there, except for this.
  if (const memcached_return_t error = ::memcached_last_error(client); error != MEMCACHED_SUCCESS) {
    return failure(error, Sent::reading);
  }
  if (code != MEMCACHED_END && code != MEMCACHED_NOTFOUND && code != MEMCACHED_SUCCESS) {
    return failure(code, Sent::reading);
  }
  return items;
}

Result<bool> Connection::stored(memcached_return_t code) {
  switch (code) {
    case MEMCACHED_SUCCESS:
    case MEMCACHED_STORED:
      return true;
    case MEMCACHED_DATA_EXISTS:
    case MEMCACHED_NOTFOUND:
    case MEMCACHED_NOTSTORED:
      return false;
    default:
      return failure(code, Sent::change);
  }
}

Result<bool> Connection::replace(const std::string& key, const std::string& value,
                                 std::uint64_t cas, TimePoint by) {
  if (Status status = arm(by); !status) return status.error();
  const server::SigpipeGuard guard(true);
  return stored(::memcached_cas(client_.get(), key.data(), key.size(), value.data(), value.size(),
                                0, 0, cas));
}

Result<bool> Connection::add(const std::string& key, const std::string& value, TimePoint by) {
  if (Status status = arm(by); !status) return status.error();
  const server::SigpipeGuard guard(true);
  return stored(
      ::memcached_add(client_.get(), key.data(), key.size(), value.data(), value.size(), 0, 0));
}

Result<std::map<std::string, std::string>> Connection::stats(const std::string& what,
                                                             TimePoint by) {
  if (Status status = arm(by); !status) return status.error();
  const server::SigpipeGuard guard(true);
  std::map<std::string, std::string> stats;
  const memcached_return_t code = ::memcached_stat_execute(
      client_.get(), what.empty() ? nullptr : what.c_str(), take_stat, &stats);
  if (code != MEMCACHED_SUCCESS) return failure(code, Sent::reading);
  if (const memcached_return_t error = ::memcached_last_error(client_.get());
      error != MEMCACHED_SUCCESS) {
    return failure(error, Sent::reading);
  }
  // A connection that was reset may also look like a success.
  if (stats.empty()) return failure(MEMCACHED_READ_FAILURE, Sent::reading);
  return stats;
}

}  // namespace lockset::memcached
