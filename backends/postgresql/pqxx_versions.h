// What the versions of libpqxx spell differently: 6 (Debian 12), 7, 7.10 (Debian 13) and 8.
#pragma once

#include <exception>
#include <functional>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <utility>

namespace lockset::postgresql {

#if PQXX_VERSION_MAJOR < 7
using AnyConnection = pqxx::connection_base;
#else
using AnyConnection = pqxx::connection;
#endif

// Exceptions that have the server's code, and the one whose name 8 has changed.
#if PQXX_VERSION_MAJOR < 8
using WithSqlstate = pqxx::sql_error;
using ServerOutOfMemory = pqxx::out_of_memory;
#else
using WithSqlstate = pqxx::failure;
using ServerOutOfMemory = pqxx::server_out_of_memory;
#endif

#if PQXX_VERSION_MAJOR > 7 || (PQXX_VERSION_MAJOR == 7 && PQXX_VERSION_MINOR >= 10)

template <class... Args>
pqxx::result run_prepared(pqxx::transaction_base& work, const std::string& name,
                          const Args&... args) {
  return work.exec(pqxx::prepped(name), pqxx::params(args...));
}

template <class... Args>
pqxx::result run_with(pqxx::transaction_base& work, const std::string& sql, const Args&... args) {
  return work.exec(sql, pqxx::params(args...));
}

// libpqxx prints no notices of this connection.
class Quiet {
 public:
  explicit Quiet(AnyConnection& connection) {
    connection.set_notice_handler([](pqxx::zview) {});
  }
};

// Calls `heard` with what is sent on a channel, when the connection reads it. Both constructor and
// destructor wait for the server's answer.
class Receiver {
 public:
  using Heard = std::function<void(std::string_view payload)>;
  Receiver(AnyConnection& connection, std::string channel, Heard heard)
      : connection_(connection), channel_(std::move(channel)) {
    connection_.listen(channel_, [heard = std::move(heard)](const pqxx::notification& news) {
      heard(news.payload);
    });
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    try {
      connection_.listen(channel_);
    } catch (const std::exception&) {
      // The connection is lost, and the server listens for it no more.
    }
  }
  [[nodiscard]] const std::string& channel() const noexcept { return channel_; }

 private:
  AnyConnection& connection_;
  const std::string channel_;
};

#else

template <class... Args>
pqxx::result run_prepared(pqxx::transaction_base& work, const std::string& name,
                          const Args&... args) {
  return work.exec_prepared(name, args...);
}

template <class... Args>
pqxx::result run_with(pqxx::transaction_base& work, const std::string& sql, const Args&... args) {
  return work.exec_params(sql, args...);
}

using Quiet = pqxx::quiet_errorhandler;

class Receiver final : public pqxx::notification_receiver {
 public:
  using Heard = std::function<void(std::string_view payload)>;
  Receiver(AnyConnection& connection, const std::string& channel, Heard heard)
      : pqxx::notification_receiver(connection, channel), heard_(std::move(heard)) {}
  void operator()(const std::string& payload, int /*pid*/) override { heard_(payload); }

 private:
  const Heard heard_;
};

#endif

}  // namespace lockset::postgresql
