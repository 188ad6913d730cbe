// SEM 8, 10, 11, 20, 27, 31: what a power cut leaves, and that it takes only what nobody misses.
//
// The child works on a disk that keeps what was synced, and ends by kill -9. Then the files become
// what was synced, and the host has booted.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockset/registry.h"
#include "tests/sqlite/database.h"
#include "tests/sqlite/folder.h"
#include "tests/sqlite/volatile_disk.h"
#include "tests/support/client.h"
#include "tests/support/forked.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

const Ask leased{.lease = 10min, .ends_with_process = true};
const Ask detached{.lease = 10min};

Client open_client(const std::string& url) {
  return Client(std::shared_ptr<Backend>(open_backend(url, soon()).value()));
}

bool outlive_process(Client& client, Stamp stamp) {
  const RenewRequest request{.hold = client.known(stamp), .lease = 10min, .outlives_process = true};
  return client.backend().renew(client.owner(), {&request, 1}, soon())->renewals.at(0).has_value();
}

class SqlitePowerCut : public testing::Test {
 protected:
  // What the child tells.
  struct Told {
    std::int64_t stamps[16];
    std::int64_t syncs;
  };

  SqlitePowerCut()
      : told_(static_cast<Told*>(mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    // The space is there, and nothing of it is in a log.
    in_child([&] {
      open_backend(url_, soon()).value();
      return 0;
    });
  }
  ~SqlitePowerCut() override { munmap(told_, sizeof(Told)); }

  // A process does this and is killed.
  void run(const std::function<void(Client&, Told&)>& work) { run(url_, work); }
  void run(const std::string& url, const std::function<void(Client&, Told&)>& work) {
    ASSERT_EQ(in_child([&] {
                keep_what_is_synced();
                Client client = open_client(url);
                const std::int64_t before = syncs();
                work(client, *told_);
                told_->syncs = syncs() - before;
                ::kill(::getpid(), SIGKILL);
                return 0;
              }),
              128 + SIGKILL);
  }
  void cut() {
    cut_power(file_);
    boot();
  }
  void boot() { Database(file_).run("UPDATE space SET boot_id = 'of the boot before'"); }
  // Stamps run ahead of the clock, which otherwise would hide it if one came again.
  void run_ahead() {
    const auto later = std::chrono::system_clock::now() + 24h;
    Database(file_).run("UPDATE space SET last_stamp = " +
                        std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(
                                           later.time_since_epoch())
                                           .count()));
  }
  [[nodiscard]] Stamp told(std::size_t i) const { return Stamp{told_->stamps[i]}; }

  Told* told_;
  Folder folder_;
  const std::string file_ = folder_.file("locks.db");
  const std::string url_ = folder_.url("locks.db");
};

// SEM 8, 20
TEST_F(SqlitePowerCut, LeasedHoldsGoAndStampsGoOn) {
  run_ahead();
  run([](Client& client, Told& told) {
    for (int i = 0; i < 50; ++i) {
      told.stamps[0] = client.take({write("n" + std::to_string(i))}, leased).stamp.value;
      if (i % 2 == 0) client.release(Stamp{told.stamps[0]});
    }
  });
  EXPECT_LE(told_->syncs, 2) << "one for the log's beginning, one for the ceiling of the stamps";
  cut();
  EXPECT_LT(Database(file_).number("SELECT last_stamp FROM space"), told(0).value)
      << "nothing was lost";
  Client client = open_client(url_);
  EXPECT_TRUE(client.holds().empty());
  EXPECT_GT(client.take({write("n49")}, leased).stamp, told(0));
}

// SEM 8: and after the next cut
TEST_F(SqlitePowerCut, StampsGoOnAfterEachCut) {
  run_ahead();
  Stamp highest;
  for (int boots = 0; boots < 4; ++boots) {
    run([](Client& client, Told& told) {
      told.stamps[0] = client.take({write("a")}, leased).stamp.value;
      client.release(Stamp{told.stamps[0]});
      told.stamps[1] = client.take({write("a")}, leased).stamp.value;
    });
    EXPECT_GT(told(0), highest);
    EXPECT_GT(told(1), told(0));
    highest = told(1);
    cut();
  }
}

// SEM 8: also where each commit is synced, after one of those who did not
TEST_F(SqlitePowerCut, StampsGoOnWhoeverComesNext) {
  run_ahead();
  run([](Client& client, Told& told) {
    client.take({write("a")}, leased);
    told.stamps[0] = client.take({write("b")}, leased).stamp.value;
  });
  cut();
  EXPECT_GT(open_client(url_ + "?durability=full").take({write("a")}).stamp, told(0));
}

// SEM 10, 11, 29: what outlives its process
TEST_F(SqlitePowerCut, HoldsThatOutliveTheirProcessStay) {
  run([](Client& client, Told& told) {
    told.stamps[0] = client.take({write("detached")}, detached).stamp.value;
    told.stamps[1] = client.take({write("let go of")}, leased).stamp.value;
    outlive_process(client, Stamp{told.stamps[1]});
  });
  cut();
  Client client = open_client(url_);
  EXPECT_TRUE(client.is_live(told(0)));
  EXPECT_TRUE(client.is_live(told(1)));
  EXPECT_FALSE(client.try_take({write("detached")}));
}

TEST_F(SqlitePowerCut, ADetachedGrantIsSyncedByItself) {
  run([](Client& client, Told& told) {
    client.take({write("raises the ceiling")}, leased);
    told.stamps[0] = client.take({write("a")}, detached).stamp.value;
  });
  cut();
  EXPECT_TRUE(open_client(url_).is_live(told(0)));
}

TEST_F(SqlitePowerCut, ALongerLeaseOfADetachedHoldStays) {
  run([](Client& client, Told& told) {
    told.stamps[0] = client.take({write("a")}, {.lease = 1s}).stamp.value;
    client.renew(Stamp{told.stamps[0]}, 10min);
  });
  cut();
  ASSERT_EQ(open_client(url_).holds().size(), 1U);
  EXPECT_GT(*open_client(url_).holds()[0].remaining, 1min);
}

TEST_F(SqlitePowerCut, APermanentHoldStays) {
  run([](Client& client, Told& told) {
    told.stamps[0] = client.take({write("a")}, leased).stamp.value;
    client.make_permanent(Stamp{told.stamps[0]});
    const std::int64_t before = syncs();
    client.make_permanent(Stamp{told.stamps[0]});  // as each renewal does
    told.stamps[1] = syncs() - before;
  });
  EXPECT_EQ(told_->stamps[1], 0) << "nothing changed";
  cut();
  ASSERT_EQ(open_client(url_).holds().size(), 1U);
  EXPECT_FALSE(open_client(url_).holds()[0].remaining);
}

TEST_F(SqlitePowerCut, AConvertedDetachedHoldStays) {
  run([](Client& client, Told& told) {
    const Stamp old = client.take({read("a")}, detached).stamp;
    told.stamps[0] =
        client.take({write("a")}, {.replaces = old, .ends_with_process = true}).stamp.value;
    told.stamps[1] = old.value;
  });
  cut();
  Client client = open_client(url_);
  EXPECT_TRUE(client.is_live(told(0)));
  EXPECT_FALSE(client.is_live(told(1)));
}

// SEM 9
TEST_F(SqlitePowerCut, WhatWasReleasedDoesNotComeBack) {
  run([](Client& client, Told&) {
    const Stamp detached_one = client.take({write("a")}, detached).stamp;
    const Stamp permanent = client.take({write("b")}, detached).stamp;
    client.make_permanent(permanent);
    const Stamp broken = client.take({write("c")}, detached).stamp;
    client.release(detached_one);
    client.release(permanent);
    client.break_hold(broken);
  });
  cut();
  EXPECT_TRUE(open_client(url_).holds().empty());
}

// SEM 6, 7: each test ends with the step that it is about, for a synced one takes along all before
TEST_F(SqlitePowerCut, TheConfigurationStays) {
  run([](Client& client, Told& told) {
    client.take({write("raises the ceiling")}, leased);
    client.set_permits("a", Mode::read, 7);
    client.change(SetMaxLease{3min});
    told.stamps[0] = client.config().version;
  });
  cut();
  Client client = open_client(url_);
  EXPECT_EQ(client.config().version, told_->stamps[0]);
  EXPECT_EQ(client.config().permits_of("a").read, 7U);
  EXPECT_EQ(client.config().max_lease, 3min);
}

// SEM 12
TEST_F(SqlitePowerCut, AnEpochStays) {
  run([](Client& client, Told& told) {
    const Stamp epoch = client.take({write("@app:app")}, leased).stamp;
    client.backend().reclaim("app", epoch.value, soon()).value();
    told.stamps[0] = epoch.value;
  });
  cut();
  EXPECT_EQ(open_client(url_).config().epochs.at("app"), told_->stamps[0]);
}

// SEM 27: the last write may be lost
TEST_F(SqlitePowerCut, NoObservationOfBeforeCounts) {
  run([](Client& client, Told& told) {
    told.stamps[0] = client.observe_one("a").last_write.value;
    client.set_permits("b", Mode::read, 7);  // the trace is on the disk
    client.release(client.take({write("a")}, leased).stamp);
  });
  cut();
  EXPECT_EQ(Database(file_).number("SELECT last_write FROM traces"), told(0).value)
      << "the write was not lost";
  EXPECT_NE(open_client(url_).observe_one("a").last_write, told(0));
}

TEST_F(SqlitePowerCut, ObservationsCountWhereNothingCanBeLost) {
  run(url_ + "?durability=full", [](Client& client, Told& told) {
    told.stamps[0] = client.observe_one("a").last_write.value;
  });
  cut();
  EXPECT_EQ(open_client(url_).observe_one("a").last_write, told(0));
}

TEST_F(SqlitePowerCut, WithFullDurabilityEachGrantIsOnTheDisk) {
  run(url_ + "?durability=full", [](Client& client, Told& told) {
    for (int i = 0; i < 10; ++i) client.take({write("n" + std::to_string(i))}, leased);
    told.stamps[0] = 0;
  });
  EXPECT_GE(told_->syncs, 10);
  cut();
  EXPECT_EQ(Database(file_).number("SELECT count(*) FROM holds"), 10);
}

TEST_F(SqlitePowerCut, AKilledProcessLosesNothing) {
  run([](Client& client, Told& told) {
    for (int i = 0; i < 10; ++i) {
      told.stamps[0] = client.take({write("n" + std::to_string(i))}, leased).stamp.value;
    }
  });
  Database database(file_);
  EXPECT_EQ(database.number("SELECT count(*) FROM holds"), 10);
  EXPECT_EQ(database.number("SELECT last_stamp FROM space"), told(0).value);
}

// The disk may also have written a part of what nobody asked it to.
TEST_F(SqlitePowerCut, TheLogMayEndAnywhereAfterTheLastSync) {
  run_ahead();
  run([](Client& client, Told& told) {
    told.stamps[0] = client.take({write("detached")}, detached).stamp.value;
    for (int i = 0; i < 20; ++i) {
      told.stamps[1] = client.take({write("n" + std::to_string(i))}, leased).stamp.value;
      if (i % 3 != 0) client.release(Stamp{told.stamps[1]});
    }
  });
  namespace fs = std::filesystem;
  const std::int64_t from = synced_log(file_);
  const auto to = static_cast<std::int64_t>(fs::file_size(file_ + "-wal"));
  ASSERT_GT(from, 0);
  ASSERT_GT(to, from);
  fs::copy_file(file_, file_ + ".kept");
  fs::copy_file(file_ + "-wal", file_ + "-wal.kept");
  const std::int64_t step = std::max<std::int64_t>((to - from) / 25, 1);
  for (std::int64_t end = from; end <= to; end += step) {
    SCOPED_TRACE(end);
    fs::copy_file(file_ + ".kept", file_, fs::copy_options::overwrite_existing);
    fs::copy_file(file_ + "-wal.kept", file_ + "-wal", fs::copy_options::overwrite_existing);
    fs::remove(file_ + "-shm");
    fs::resize_file(file_ + "-wal", static_cast<std::uintmax_t>(end));
    boot();
    EXPECT_EQ(Database(file_).texts("PRAGMA integrity_check"), std::vector<std::string>{"ok"});
    in_child([&] {
      Client client = open_client(url_);
      told_->stamps[2] = client.is_live(told(0)) && client.holds().size() == 1 ? 1 : 0;
      told_->stamps[3] = client.take({write("n18"), write("n19")}, leased).stamp.value;
      return 0;
    });
    EXPECT_EQ(told_->stamps[2], 1);
    EXPECT_GT(told(3), told(1));
  }
}

// A container may show a boot id of its own. The kernel's locks tell that the holder lives.
TEST_F(SqlitePowerCut, AnotherBootIdEndsNoHoldOfALivingProcess) {
  Signal holds;
  Signal done;
  const pid_t child = start_child([&] {
    holds.only_sends();
    done.only_hears();
    Client client = open_client(url_);
    client.take({write("a")}, leased);
    if (!holds.send()) return 1;
    return done.heard() ? 0 : 2;
  });
  holds.only_hears();
  done.only_sends();
  ASSERT_TRUE(holds.heard());
  boot();
  EXPECT_FALSE(open_client(url_).try_take({write("a")}));
  EXPECT_TRUE(done.send());
  EXPECT_EQ(end_of(child), 0);
}

// A file of version 3 gets what it lacks, and keeps what it has.
TEST_F(SqlitePowerCut, AFileOfVersion3IsUpgraded) {
  run([](Client& client, Told& told) {
    told.stamps[0] = client.take({write("a")}, detached).stamp.value;
  });
  {
    Database database(file_);
    database.run("ALTER TABLE space DROP COLUMN stamp_ceiling");
    database.run("PRAGMA user_version = 3");
  }
  Client client = open_client(url_);
  EXPECT_TRUE(client.is_live(told(0)));
  EXPECT_GT(client.take({write("b")}, leased).stamp, told(0));
  EXPECT_EQ(Database(file_).number("PRAGMA user_version"), 4);
}

}  // namespace
}  // namespace lockset::test
