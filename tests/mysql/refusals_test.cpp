// Each failure is an error of the right kind, on one line, with the remedy; and no lock is half
// taken.
#include <thread>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Refusals : public MysqlTest {
 protected:
  std::string init_fails(const std::string& url, Errc code) {
    const Status status = init_space(url, soon());
    if (status) {
      ADD_FAILURE() << "it was made";
      return {};
    }
    return checked(status.error(), code);
  }
};

TEST_P(Refusals, AWrongPassword) {
  Address address = runtime_user();
  address.password = "guessed-wrong";
  const std::string message = refused(url(address), Errc::misconfigured);
  EXPECT_TRUE(says(message, "password")) << message;
  EXPECT_TRUE(says(message, "1045")) << message;
}

TEST_P(Refusals, NoPassword) {
  Address address = runtime_user();
  address.password = "";
  EXPECT_TRUE(says(refused(url(address), Errc::misconfigured), "password"));
}

TEST_P(Refusals, AnUnknownUser) {
  Address address = runtime_user();
  address.user = "nobody_like_that";
  refused(url(address), Errc::misconfigured);
}

TEST_P(Refusals, AnUnknownDatabase) {
  Address address = runtime_user();
  const std::size_t at = server().admin_url().rfind('/');
  const std::string as_admin = server().admin_url().substr(0, at) + "/nowhere";
  EXPECT_TRUE(says(refused(as_admin, Errc::misconfigured), "no such database"));
  address.database = "nowhere";
  refused(url(address), Errc::misconfigured);  // the server does not tell strangers more
}

TEST_P(Refusals, ASpaceThatIsNotThere) {
  Address address = runtime_user();
  address.parameters = "space=nowhere";
  EXPECT_TRUE(says(refused(url(address), Errc::misconfigured), "lockset init"));
}

TEST_P(Refusals, AUserWithoutRights) {
  const Address address = runtime_user();
  admin().rows("REVOKE ALL PRIVILEGES, GRANT OPTION FROM " + address.user + "@'%'");
  refused(url(address), Errc::misconfigured);
  admin().rows("GRANT EXECUTE ON lockset.* TO " + address.user + "@'%'");
  const std::string message = refused(url(address), Errc::misconfigured);
  EXPECT_TRUE(says(message, "SELECT")) << message;
}

TEST_P(Refusals, InitWithoutRights) {
  Address address = runtime_user();
  address.parameters = "space=another";
  EXPECT_TRUE(says(init_fails(url(address), Errc::misconfigured), "right"));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM information_schema.tables WHERE table_name "
                           "LIKE 'another%'"),
            0);
}

TEST_P(Refusals, AServerThatIsNotThere) {
  EXPECT_TRUE(says(refused("mysql://u:p-of-u@127.0.0.1:1/lockset", Errc::unavailable), "reached"));
}

// While it runs: a revoked right gives a clear answer, and certainly nothing was applied.
TEST_P(Refusals, ARightThatIsTakenAway) {
  const Address address = runtime_user();
  Client mine(open_backend(url(address), soon()).value());
  const Stamp stamp = mine.take({write("a")}).stamp;
  admin().rows("REVOKE ALL PRIVILEGES, GRANT OPTION FROM " + address.user + "@'%'");
  admin().rows("GRANT SELECT ON lockset.* TO " + address.user + "@'%'");
  // Sessions of MariaDB keep the rights that they had when they chose the database.
  kill_sessions_of(address.user);
  const Result<AcquireOutcome> outcome = mine.ask_once({write("b"), write("c")});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  checked(outcome.error(), Errc::misconfigured);
  const Result<bool> released = mine.backend().release(stamp, "app", soon());
  ASSERT_FALSE(released);
  checked(released.error(), Errc::misconfigured);
  EXPECT_TRUE(says(released.error().message, "lockset init --program " + address.user + " ("))
      << released.error().message;
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_locks")), 1);
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  kill_sessions_of(address.user);
  EXPECT_TRUE(mine.release(stamp));
}

// --- the database does not match this program ---

TEST_P(Refusals, ANewerSpace) {
  admin().rows("UPDATE " + table("_space") + " SET schema_version = schema_version + 1");
  const std::string message = refused(url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "update this program")) << message;
  EXPECT_FALSE(says(message, "lockset init")) << message;
  EXPECT_TRUE(says(init_fails(url(), Errc::misconfigured), "update this program"));
}

TEST_P(Refusals, AnOlderSpaceIsBroughtUpToDate) {
  admin().rows("UPDATE " + table("_space") + " SET schema_version = 0");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "lockset init"));
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_TRUE(open()->load_config(soon()));
}

TEST_P(Refusals, ProceduresOfAnotherVersion) {
  admin().rows("UPDATE " + table("_space") + " SET procedures = '1'");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "lockset init"));
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_TRUE(open()->load_config(soon()));
}

// A dump restores tables, and leaves out procedures unless it is told to include them.
TEST_P(Refusals, ProceduresThatAreMissing) {
  Client mine = client();
  const Stamp stamp = mine.take({write("a")}).stamp;
  admin().rows("DROP PROCEDURE " + table(acquire_name()));
  const Result<AcquireOutcome> outcome = mine.ask_once({write("b"), write("c")});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_TRUE(says(checked(outcome.error(), Errc::misconfigured), "lockset init"));
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_TRUE(mine.take({write("b"), write("c")}).stamp);
  EXPECT_TRUE(mine.release(stamp));
}

TEST_P(Refusals, ATableOfAnotherProgram) {
  admin().rows("CREATE TABLE " + table("x_locks") + " (mine INT)");
  const std::string other = server().admin_url() + "?space=" + space() + "x";
  EXPECT_TRUE(says(init_fails(other, Errc::misconfigured), "another program"));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM information_schema.tables WHERE table_name "
                           "LIKE '" +
                           space() + "x%'"),
            1);
}

// --- a server that is not a writable primary ---

TEST_P(Refusals, AReadOnlyServer) {
  const Address address = runtime_user();
  Client running(open_backend(url(address), soon()).value());
  const Stamp stamp = running.take({write("a")}).stamp;
  set_global("read_only", "1");
  EXPECT_TRUE(says(refused(url(address), Errc::misconfigured), "read_only"));
  // demotion_test.cpp has the other cases; here the server itself refuses the procedures' writes.
  if (!is_mariadb()) set_global("super_read_only", "1");
  const Result<AcquireOutcome> outcome = running.ask_once({write("b")});
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_TRUE(says(checked(outcome.error(), Errc::unavailable), "read-only"));
  if (!is_mariadb()) admin().rows("SET GLOBAL super_read_only = 0");
  admin().rows("SET GLOBAL read_only = 0");
  EXPECT_TRUE(running.release(stamp));
}

TEST_P(Refusals, AUserAtHisConnectionLimit) {
  const Address address = runtime_user("open-sesame", "WITH MAX_USER_CONNECTIONS 1");
  const RawMysql occupant(url(address));
  const std::string message = refused(url(address), Errc::unavailable);
  EXPECT_TRUE(says(message, "limit")) << message;
}

// The other threads continue with the existing connections.
TEST_P(Refusals, AConnectionLimitLeavesTheOthersAlone) {
  const Address address = runtime_user("open-sesame", "WITH MAX_USER_CONNECTIONS 3");
  const std::shared_ptr<Backend> shared = open_backend(url(address), soon()).value();
  test::run_threads(8, [&](std::size_t index) {
    Client mine(shared, "app" + std::to_string(index));
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(mine.release(mine.take({write("n" + std::to_string(index))}).stamp));
    }
  });
}

// SEM 14: rows that somebody keeps locked: certainly not applied, at the deadline
TEST_P(Refusals, ATransactionLeftOpenInTheWay) {
  Client mine = client();
  ASSERT_TRUE(mine.release(mine.take({write("b")}).stamp));
  const auto rude = session();
  rude->rows("START TRANSACTION");
  rude->rows("SELECT low FROM " + table("_names") + " WHERE name = 'b' FOR UPDATE");
  const test::Stopwatch watch;
  const auto outcome = mine.ask_once({write("a"), write("b")}, {.by = watch.began() + 4s});
  EXPECT_LT(watch.elapsed(), 6s);
  ASSERT_FALSE(outcome) << test::describe(outcome);
  const Errc code = outcome.error().code;
  EXPECT_TRUE(code == Errc::unavailable || code == Errc::indeterminate) << outcome.error().message;
  // Work that is still under way in the server gives up on its own.
  EXPECT_TRUE(eventually([&] { return status("Innodb_row_lock_current_waits") == 0; }));
  rude->rows("ROLLBACK");
  Client other = client("other");
  EXPECT_TRUE(other.take({write("a"), write("b")}).stamp);
}

LOCKSET_MYSQL_SERVERS(Refusals);

}  // namespace
}  // namespace lockset::mysql_tests
