// rediss: is TLS, with a server whose certificate is checked. Built if hiredis has TLS; otherwise
// no_tls_test.cpp is.
#include <cstdlib>
#include <fstream>

#include "tests/redis/fixture.h"

namespace lockset::redis_tests {
namespace {

class RedisTls : public RedisServerTest {
 protected:
  // From now on the server's port accepts only TLS; `settings` are added.
  void speak_tls(const std::vector<std::string>& settings = {}) {
    make_certificates();
    server().stop();
    std::ofstream extra(server().folder() / "extra.conf");
    extra << "port 0\ntls-port " << server().port() << "\ntls-cert-file " << file("server.pem")
          << "\ntls-key-file " << file("server.key") << "\ntls-ca-cert-file " << file("ca.pem")
          << "\ntls-auth-clients no\n";
    for (const std::string& line : settings) extra << line << '\n';
    extra.close();
    server().start();
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder() / name).string();
  }
  [[nodiscard]] Address tls(const std::string& authority) const {
    return {.password = password(),
            .host = "localhost",
            .parameters = "ssl_ca=" + file(authority),
            .scheme = "rediss"};
  }
  [[nodiscard]] Status opens(const Address& address) const {
    const auto opened = open_backend(at(address), soon());
    return opened ? Status() : Status(opened.error());
  }

 private:
  // Two authorities; the first has signed for the server, and for a client.
  void make_certificates() const {
    const std::string script =
        "set -e; cd '" + folder().string() +
        "'; key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
        "for ca in ca wrong-ca; do openssl req -x509 $key -days 30 -subj \"/CN=$ca\" "
        "-keyout $ca.key -out $ca.pem; done\n"
        "for who in server client; do openssl req $key -subj /CN=localhost -keyout $who.key "
        "-out $who.csr; printf 'subjectAltName=DNS:localhost' >$who.ext; "
        "openssl x509 -req -days 30 -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
        "-extfile $who.ext -out $who.pem; done\n";
    ASSERT_EQ(std::system(("(" + script + ") >/dev/null 2>&1").c_str()), 0);
  }
};

// Everything that a client does, including waiting and being woken
TEST_F(RedisTls, Works) {
  if (!start_own()) return;
  speak_tls();
  // A new space of the new server: the restart causes no quarantine in it.
  Address address = tls("ca.pem");
  address.parameters += "&space=encrypted";
  init_space(at(address), soon()).value();
  Client mine(open_backend(at(address), soon()).value());
  Client other(open_backend(at(address), soon()).value(), "other");
  const Stamp stamp = mine.take({write("a"), read("b")}).stamp;
  EXPECT_TRUE(mine.renew(stamp, 1min));
  const Busy busy = other.meet_busy({write("b")}, {.will_wait = true});
  EXPECT_TRUE(mine.release(stamp));
  // Woken, not looking again on its own.
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(other.backend().await_change(*busy.ticket, began + 1min, {}));
  EXPECT_LT(BootClock::now(), began + 30s);
  const Stamp next = other.take({write("b")}, {.will_wait = true, .ticket = busy.ticket}).stamp;
  // Large requests and answers
  Wanted many;
  for (int i = 0; i < 256; ++i) many.push_back(write(std::to_string(i) + std::string(250, 'x')));
  EXPECT_TRUE(mine.release(mine.take(many).stamp));
  EXPECT_TRUE(other.release(next));
  // A Unix socket needs no encryption.
  const std::string local = "&socket=" + (server().folder() / "socket/redis.sock").string();
  address.parameters += local;
  EXPECT_TRUE(says(failed(opens(address), Errc::invalid), "socket"));
}

TEST_F(RedisTls, AsksForTheRightCertificate) {
  if (!start_own()) return;
  speak_tls();
  EXPECT_TRUE(opens(tls("ca.pem")));
  EXPECT_TRUE(says(failed(opens(tls("wrong-ca.pem")), Errc::misconfigured), "certificate"));
  // Signed by the right authority, but for another name.
  Address other = tls("ca.pem");
  other.host = "127.0.0.1";
  EXPECT_TRUE(says(failed(opens(other), Errc::misconfigured), "certificate"));
  Address unknown = tls("ca.pem");
  unknown.parameters = {};
  EXPECT_TRUE(says(failed(opens(unknown), Errc::misconfigured), "certificate"));
  EXPECT_TRUE(says(failed(opens(tls("missing.pem")), Errc::misconfigured), "ssl_ca"));
  Address wrong = tls("ca.pem");
  wrong.password = "guessed-wrong";
  EXPECT_TRUE(says(failed(opens(wrong), Errc::misconfigured), "password"));
  Address plain = tls("ca.pem");
  plain.scheme = "redis";
  plain.parameters = {};
  EXPECT_TRUE(says(failed(opens(plain), Errc::unavailable), "rediss"));
}

TEST_F(RedisTls, ShowsACertificateOfItsOwn) {
  if (!start_own()) return;
  speak_tls({"tls-auth-clients yes"});
  Address mine = tls("ca.pem");
  failed(opens(mine), Errc::unavailable);
  mine.parameters += "&ssl_cert=" + file("client.pem") + "&ssl_key=" + file("client.key");
  EXPECT_TRUE(opens(mine));
}

TEST_F(RedisTls, AServerWithoutIt) {
  if (!start_own()) return;
  EXPECT_TRUE(
      says(failed(opens({.password = password(), .scheme = "rediss"}), Errc::unavailable), "TLS"));
}

// A handshake without an answer ends at the deadline.
TEST_F(RedisTls, AServerThatStandsStill) {
  if (!start_own()) return;
  speak_tls();
  server().pause();
  const test::Stopwatch watch;
  failed(open_backend(at(tls("ca.pem")), watch.began() + 300ms), Errc::unavailable);
  EXPECT_LT(watch.elapsed(), 300ms + 5s);
  server().resume();
}

}  // namespace
}  // namespace lockset::redis_tests
