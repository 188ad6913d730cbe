// libpqxx's connection over one that libpq has made.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <utility>

namespace lockset::postgresql {

using Raw = std::unique_ptr<PGconn, decltype(&PQfinish)>;

#if PQXX_VERSION_MAJOR < 7

// libpqxx 6 asks a policy for its connection, and would ask again when it breaks. This policy can
// give only one, so a broken connection stays broken.
class Handover : public pqxx::connectionpolicy {
 public:
  explicit Handover(Raw raw) : pqxx::connectionpolicy(std::string()), raw_(std::move(raw)) {}
  handle do_startconnect(handle present) override {
    return present != nullptr ? present : raw_.release();
  }

 private:
  Raw raw_;
};

// Must be held by this type: the base class has no virtual destructor.
class NativeConnection final : public pqxx::connection_base {
 public:
  explicit NativeConnection(Raw raw) : pqxx::connection_base(policy_), policy_(std::move(raw)) {
    init();
#include <pqxx/internal/ignore-deprecated-pre.hxx>
    inhibit_reactivation(true);
#include <pqxx/internal/ignore-deprecated-post.hxx>
  }
  NativeConnection(const NativeConnection&) = delete;
  NativeConnection& operator=(const NativeConnection&) = delete;
  ~NativeConnection() { close(); }

 private:
  Handover policy_;
};

inline std::unique_ptr<NativeConnection> take_over(Raw raw) {
  return std::make_unique<NativeConnection>(std::move(raw));
}

#else

using NativeConnection = pqxx::connection;

inline std::unique_ptr<NativeConnection> take_over(Raw raw) {
  return std::make_unique<NativeConnection>(pqxx::connection::seize_raw_connection(raw.release()));
}

#endif

}  // namespace lockset::postgresql
