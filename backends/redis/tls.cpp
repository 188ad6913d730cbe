#include "backends/redis/tls.h"

#ifdef LOCKSET_HAS_HIREDIS_SSL
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <new>
#endif

#include <string>

#include "backends/server/openssl_at_exit.h"
#include "backends/server/sigpipe_guard.h"

namespace lockset::redis {

#ifdef LOCKSET_HAS_HIREDIS_SSL

namespace {

using Settings = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

bool use_files(SSL_CTX* settings, const Options& options) {
  if (options.ssl_ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(settings) != 1) return false;
  } else if (SSL_CTX_load_verify_locations(settings, options.ssl_ca.c_str(), nullptr) != 1) {
    return false;
  }
  return options.ssl_cert.empty() ||
         (SSL_CTX_use_certificate_chain_file(settings, options.ssl_cert.c_str()) == 1 &&
          SSL_CTX_use_PrivateKey_file(settings, options.ssl_key.c_str(), SSL_FILETYPE_PEM) == 1);
}

// Sets the name that the certificate must have.
bool expect_host(SSL* session, const std::string& host) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1) return true;
  ERR_clear_error();
  return SSL_set1_host(session, host.c_str()) == 1 &&
         SSL_set_tlsext_host_name(session, host.c_str()) == 1;
}

}  // namespace

Status start_tls(redisContext& context, const Options& options) {
  server::keep_openssl_during_exit();
  ERR_clear_error();
  const Settings settings(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  if (!settings) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(settings.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(settings.get(), SSL_VERIFY_PEER, nullptr);
  if (!use_files(settings.get(), options)) {
    const char* const why = ERR_reason_error_string(ERR_get_error());
    ERR_clear_error();
    return Error{Errc::misconfigured, options.shown() + ": ssl_ca, ssl_cert or ssl_key can't be " +
                                          "used (" + (why != nullptr ? why : "unreadable") + ")"};
  }
  Session session(SSL_new(settings.get()), &SSL_free);
  if (!session || !expect_host(session.get(), options.server.host)) throw std::bad_alloc();
  const server::SigpipeGuard guard(true);
  if (::redisInitiateSSL(&context, session.get()) == REDIS_OK) {
    static_cast<void>(session.release());  // the context owns it now
    return {};
  }
  const long verified = SSL_get_verify_result(session.get());
  ERR_clear_error();
  if (verified != X509_V_OK) {
    return Error{Errc::misconfigured, options.shown() + ": the server's certificate is refused (" +
                                          X509_verify_cert_error_string(verified) +
                                          "): check ssl_ca, and the host in the address"};
  }
  return Error{Errc::unavailable, options.shown() + ": no TLS connection: does the server speak " +
                                      "TLS there, and want no other certificate? (" +
                                      context.errstr + ")"};
}

#else

Status start_tls(redisContext&, const Options&) {
  return Error{Errc::unsupported, "the hiredis of this build has no TLS"};
}

#endif

}  // namespace lockset::redis
