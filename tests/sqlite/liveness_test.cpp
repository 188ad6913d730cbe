// SEM 10: the kernel knows which processes live, so the holds of a dead one end at once. Never too
// early.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/registry.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

// Much longer than any step takes, so that the end of the lease and the death can't be confused.
constexpr Duration lease = 10min;
constexpr Duration early = 30s;

// A process that holds the lock `x`. Started while this process does not have the file open.
class Holder {
 public:
  using Then = std::function<void(Hold&)>;

  // `then` runs once the lock is held; after that the process waits for its end.
  explicit Holder(const std::string& url, const Then& then = {}, Duration with_lease = lease)
      : Holder([&](const Ready& ready) {
          Result<Locks> locks = lockset::open(url, {.app = "holder", .lease = with_lease});
          if (!locks) ::_exit(1);
          Result<Hold> hold = locks->acquire({write("x")});
          if (!hold) ::_exit(2);
          if (then) then(*hold);
          ready();
        }) {}
  // The process runs `work`, which calls its argument once it holds the lock; that never returns.
  using Ready = std::function<void()>;
  explicit Holder(const std::function<void(const Ready&)>& work) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      work([&] {
        if (::write(ends[1], "x", 1) != 1) ::_exit(3);
        for (;;) ::pause();
      });
      ::_exit(4);
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1) << "the holder failed";
    ::close(ends[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { kill(); }

  void signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }
  void kill() {
    if (pid_ <= 0) return;
    signal(SIGKILL);
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class SqliteLiveness : public testing::Test {
 protected:
  // A single try.
  [[nodiscard]] bool is_free() const { return is_free(url_); }
  [[nodiscard]] static bool is_free(const std::string& url) {
    Client client(std::shared_ptr<Backend>(open_backend(url, soon()).value()), "other");
    return client.try_take({write("x")}).has_value();
  }

  Folder folder_;
  const std::string url_ = folder_.url("locks.db");
};

TEST_F(SqliteLiveness, TheHoldOfAKilledProcessEndsAtOnce) {
  Holder holder(url_);
  EXPECT_FALSE(is_free());
  holder.kill();
  EXPECT_TRUE(is_free());
}

// It does not wait until it polls again, some seconds later.
TEST_F(SqliteLiveness, AWaiterNoticesTheDeathOfTheHolder) {
  Holder holder(url_);
  Client waiter(std::shared_ptr<Backend>(open_backend(url_, soon()).value()), "other");
  const auto ticket = waiter.meet_busy({write("x")}, {.will_wait = true}).ticket;
  std::thread killer([&] { holder.kill(); });
  const Stopwatch watch;
  EXPECT_TRUE(waiter.backend().await_change(*ticket, watch.began() + 2 * early, {}));
  EXPECT_LT(watch.elapsed(), early);
  killer.join();
  EXPECT_TRUE(waiter.try_take({write("x")}, {.will_wait = true, .ticket = ticket}));
}

// A process that opens with reclaim need not wait for the lease of the one before it.
TEST_F(SqliteLiveness, ASuccessorTakesOverAtOnce) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Result<Locks> locks = lockset::open(url_, {.app = "app", .reclaim = true});
    if (!locks || ::write(ends[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_FALSE(lockset::open(url_, {.app = "app", .reclaim = true}));
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  EXPECT_TRUE(lockset::open(url_, {.app = "app", .reclaim = true}));
}

TEST_F(SqliteLiveness, TheSweepFindsTheDead) {
  Holder holder(url_);
  holder.kill();
  const auto backend = open_backend(url_, soon()).value();
  EXPECT_EQ(backend->sweep(soon()).value(), 1U);
}

TEST_F(SqliteLiveness, AStoppedProcessKeepsItsHold) {
  const Holder holder(url_);
  holder.signal(SIGSTOP);
  EXPECT_FALSE(is_free());
}

TEST_F(SqliteLiveness, ADetachedHoldOutlivesItsProcess) {
  Holder holder(url_, [](Hold& hold) {
    if (!hold.detach()) ::_exit(9);
  });
  holder.kill();
  EXPECT_FALSE(is_free());
}

TEST_F(SqliteLiveness, AHoldWithoutALeaseOutlivesItsProcess) {
  Holder holder(url_, {}, no_lease);
  holder.kill();
  EXPECT_FALSE(is_free());
}

// SEM 29: whatever the request says
TEST_F(SqliteLiveness, AConvertedHoldEndsWithItsProcessIfTheOldOneDid) {
  for (const bool ends : {true, false}) {
    const std::string url = folder_.url(ends ? "ends.db" : "stays.db");
    Holder holder([&](const Holder::Ready& ready) {
      // Makes the file, if it is the first one.
      if (!lockset::open(url, {.app = "holder"})) ::_exit(5);
      Client client(std::shared_ptr<Backend>(open_backend(url, soon()).value()), "holder");
      const auto old = client.ask({write("x")}, {.lease = lease, .ends_with_process = ends});
      if (!old || !std::holds_alternative<Grant>(*old)) ::_exit(1);
      const auto next = client.ask(
          {read("x")},
          {.lease = lease, .replaces = std::get<Grant>(*old).stamp, .ends_with_process = !ends});
      if (!next || !std::holds_alternative<Grant>(*next)) ::_exit(2);
      ready();
    });
    holder.kill();
    EXPECT_EQ(is_free(url), ends);
  }
}

// A child of a holder, of which the test learns.
class Grandchild {
 public:
  Grandchild()
      : pid_(static_cast<pid_t*>(::mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  Grandchild(const Grandchild&) = delete;
  Grandchild& operator=(const Grandchild&) = delete;
  ~Grandchild() {
    end();
    ::munmap(pid_, sizeof(pid_t));
  }
  // In the holder.
  void start(const std::function<void()>& body) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      body();
      ::_exit(9);
    }
    *pid_ = pid;
  }
  void end() {
    if (*pid_ > 0) {
      EXPECT_EQ(::kill(*pid_, SIGKILL), 0);
    }
    *pid_ = 0;
  }

 private:
  pid_t* const pid_;
};

// It can't renew the hold. But it inherited the lock of the side file, so the lease has to end.
TEST_F(SqliteLiveness, AForkedChildThatLivesOnKeepsTheHoldUntilTheLeaseEnds) {
  Grandchild child;
  Holder holder(url_, [&](Hold&) {
    child.start([] {
      for (;;) ::pause();
    });
  });
  holder.kill();
  EXPECT_FALSE(is_free());
  child.end();
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

// An executed program does not inherit it, and the process that held the lock is gone.
TEST_F(SqliteLiveness, AnExecutedProgramDoesNotKeepTheHold) {
  Grandchild child;
  Holder holder(url_,
                [&](Hold&) { child.start([] { ::execlp("sleep", "sleep", "1000", nullptr); }); });
  EXPECT_FALSE(is_free());
  holder.kill();
  // Between fork and exec it still has the lock.
  EXPECT_TRUE(eventually([&] { return is_free(); }));
}

// Somebody removed the side file. Who opens now has another one, in which nobody has locked
// anything; a holder with the old one still lives.
TEST_F(SqliteLiveness, ARemovedSideFileEndsNoHold) {
  const Holder holder(url_);
  ASSERT_TRUE(std::filesystem::remove(folder_.file("locks.db-gate")));
  EXPECT_FALSE(is_free());
}

// A file of an older program gets what it lacks, and its holds stay.
TEST_F(SqliteLiveness, AnOlderFileIsUpgraded) {
  { ASSERT_TRUE(open_backend(url_, soon())); }
  Database database(folder_.file("locks.db"));
  for (const char* change :
       {"DROP TRIGGER trace_write", "DROP TABLE traces",
        "ALTER TABLE space DROP COLUMN stamp_ceiling",
        "ALTER TABLE space DROP COLUMN max_overtakes", "ALTER TABLE holds DROP COLUMN life_file",
        "ALTER TABLE holds DROP COLUMN life_byte", "ALTER TABLE waiters DROP COLUMN overtaken",
        "PRAGMA user_version = 1",
        "INSERT INTO holds VALUES (7, zeroblob(16), 'old', 'i', 0, 'l', 0, 60000000, NULL, NULL, "
        "x'010178')",
        "INSERT INTO hold_names VALUES (CAST('x' AS BLOB), 7, 1)"}) {
    database.run(change);
  }
  EXPECT_FALSE(is_free());
  const auto backend = open_backend(url_, soon()).value();
  EXPECT_EQ(backend->load_config(soon()).value().max_overtakes, default_max_overtakes);
  Client client{std::shared_ptr<Backend>(open_backend(url_, soon()).value())};
  EXPECT_TRUE(client.break_hold(Stamp{7}));
  EXPECT_TRUE(client.try_take({write("x")}));
}

}  // namespace
}  // namespace lockset::test
