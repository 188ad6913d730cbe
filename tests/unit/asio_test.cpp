// lockset/asio.h: acquires, releases and losses as asynchronous operations, by each kind of
// completion token and on several kinds of executors.
#include "lockset/asio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#if __has_include(<boost/asio/bind_cancellation_slot.hpp>)
#include <boost/asio/bind_cancellation_slot.hpp>
#endif

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;
using test::eventually;

// Counts the acquires that wait in its store.
class Counted final : public ForwardingBackend {
 public:
  Counted(std::shared_ptr<Backend> inner, std::shared_ptr<std::atomic<int>> waiting)
      : ForwardingBackend(std::move(inner)), waiting_(std::move(waiting)) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = ForwardingBackend::try_acquire(request);
    const auto* busy = std::get_if<Busy>(&*outcome);
    if (busy != nullptr && busy->ticket && !request.ticket) ++*waiting_;
    if (busy == nullptr && request.ticket) --*waiting_;
    return outcome;
  }
  void end_wait(WaitTicket& ticket, TimePoint by) override {
    ForwardingBackend::end_wait(ticket, by);
    --*waiting_;
  }

 private:
  std::shared_ptr<std::atomic<int>> waiting_;
};

// Two clients of a memory store.
class Asio : public testing::Test {
 protected:
  [[nodiscard]] bool is_free() { return other_.inspect().value().holds.empty(); }

  [[nodiscard]] Locks open_mine() {
    return open(std::make_unique<Counted>(make_memory_backend(store_), waiting_), {.app = "mine"})
        .value();
  }
  [[nodiscard]] bool so_many_wait(int count) {
    return eventually([&] { return *waiting_ == count; });
  }

  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);
  Locks locks_ = open_mine();
  Locks other_ = open(make_memory_backend(store_), {.app = "other"}).value();
  asio::io_context context_;
  asio::io_context::executor_type executor_ = context_.get_executor();
};

TEST_F(Asio, ACallbackGetsTheHoldOnTheExecutor) {
  bool called = false;
  async_acquire(executor_, locks_, {write("a"), read("b")}, {}, [&](error_code error, Hold hold) {
    EXPECT_FALSE(error);
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(hold.items().size(), 2U);
    EXPECT_TRUE(executor_.running_in_this_thread());
    called = true;
  });
  EXPECT_FALSE(called) << "inside of the initiating call";
  context_.run();  // the operation is its work
  EXPECT_TRUE(called);
  EXPECT_TRUE(is_free()) << "the handler did not keep the hold";
}

TEST_F(Asio, AFutureGetsTheHold) {
  asio::thread_pool pool(1);
  Hold hold = async_acquire(pool.get_executor(), locks_, {write("a")}, {}, asio::use_future).get();
  EXPECT_TRUE(hold.valid());
  async_release(pool.get_executor(), std::move(hold), asio::use_future).get();
  EXPECT_TRUE(is_free());
}

asio::awaitable<void> meet_timeout(Locks& locks, Error& why, bool& thrown) {
  const auto executor = co_await asio::this_coro::executor;
  std::vector<LockRequest> wanted{write("a")};
  try {
    const Hold hold = co_await async_acquire(executor, locks, std::move(wanted), {.wait = 0s}, why,
                                             asio::use_awaitable);
    ADD_FAILURE() << "two holders";
  } catch (const boost::system::system_error& error) {
    EXPECT_EQ(error.code(), Errc::timeout);
    EXPECT_EQ(std::string(error.code().category().name()), "lockset");
    EXPECT_EQ(error.code().message(), "lockset: timeout");
    thrown = true;
  }
}

TEST_F(Asio, ACoroutineThrows) {
  const Hold first = locks_.acquire({write("a")}).value();
  Error why;
  bool thrown = false;
  asio::co_spawn(executor_, meet_timeout(locks_, why, thrown), asio::detached);
  context_.run();
  EXPECT_TRUE(thrown);
  EXPECT_NE(why.message.find("\"a\" is held by"), std::string::npos) << why.message;
}

asio::awaitable<void> take_in_turn(Locks& locks, std::atomic<int>& inside, int& turns) {
  const auto executor = co_await asio::this_coro::executor;
  std::vector<LockRequest> wanted{write("a")};
  Hold hold = co_await async_acquire(executor, locks, std::move(wanted), {}, asio::use_awaitable);
  EXPECT_EQ(inside++, 0);
  EXPECT_TRUE(hold.valid());
  ++turns;
  --inside;
  error_code error;
  co_await async_release(executor, std::move(hold),
                         asio::redirect_error(asio::use_awaitable, error));
  EXPECT_FALSE(error) << error.message();
}

int threads_of_this_process() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                        std::filesystem::directory_iterator()));
}

TEST_F(Asio, ManyCoroutinesWaitWithoutAThreadEach) {
  constexpr int many = 150;
  std::atomic<int> inside = 0;
  int turns = 0;
  Hold first = other_.acquire({write("a")}).value();
  const int before = threads_of_this_process();
  for (int i = 0; i < many; ++i) {
    asio::co_spawn(executor_, take_in_turn(locks_, inside, turns), asio::detached);
  }
  std::thread runner([&] { context_.run(); });
  EXPECT_TRUE(so_many_wait(many));
  // The runner, four workers, one that looks, and those of the Locks.
  EXPECT_LE(threads_of_this_process(), before + 10);
  EXPECT_TRUE(first.release());
  runner.join();
  EXPECT_EQ(turns, many);
  EXPECT_TRUE(is_free());
}

TEST_F(Asio, AnyExecutorWillDo) {
  std::promise<void> in_strand;
  asio::thread_pool pool(2);
  auto strand = asio::make_strand(pool.get_executor());
  // The handler's executor goes before the operation's.
  async_acquire(executor_, locks_, {write("a")}, {},
                asio::bind_executor(strand, [&](error_code error, Hold hold) {
                  EXPECT_FALSE(error);
                  EXPECT_TRUE(hold.valid());
                  EXPECT_TRUE(strand.running_in_this_thread());
                  in_strand.set_value();
                }));
  in_strand.get_future().get();
  const asio::any_io_executor any = strand;
  EXPECT_TRUE(async_acquire(any, locks_, {write("a")}, {}, asio::use_future).get().valid());
  EXPECT_TRUE(async_acquire(asio::system_executor(), locks_, {write("a")}, {}, asio::use_future)
                  .get()
                  .valid());
}

TEST_F(Asio, MistakesCompleteOnTheExecutorToo) {
  int called = 0;
  Error why;
  async_acquire(executor_, locks_, {write("")}, {}, why, [&](error_code error, const Hold& hold) {
    EXPECT_EQ(error, Errc::invalid);
    EXPECT_EQ(hold.stamp(), Stamp{});
    ++called;
  });
  async_release(executor_, Hold(), [&](error_code error) {
    EXPECT_EQ(error, Errc::not_held);
    ++called;
  });
  async_wait_lost(executor_, Hold(), [&](error_code error) {
    EXPECT_EQ(error, Errc::not_held);
    ++called;
  });
  EXPECT_EQ(called, 0);
  context_.run();
  EXPECT_EQ(called, 3);
  EXPECT_FALSE(why.message.empty());
}

TEST_F(Asio, AStopTokenCancels) {
  Hold first = other_.acquire({write("a")}).value();
  std::stop_source stop;
  error_code got;
  async_acquire(executor_, locks_, {write("a")}, {.stop = stop.get_token()},
                [&](error_code error, const Hold&) { got = error; });
  EXPECT_TRUE(so_many_wait(1));
  stop.request_stop();
  context_.run();
  EXPECT_EQ(got, asio::error::operation_aborted);
  EXPECT_EQ(got, Errc::cancelled);
  EXPECT_TRUE(so_many_wait(0)) << "it left the queue";
}

#ifdef LOCKSET_ASIO_HAS_CANCELLATION_SLOTS
TEST_F(Asio, ACancellationSlotCancels) {
  Hold first = other_.acquire({write("a")}).value();
  asio::cancellation_signal signal;
  error_code got;
  async_acquire(executor_, locks_, {write("a")}, {},
                asio::bind_cancellation_slot(signal.slot(),
                                             [&](error_code error, const Hold&) { got = error; }));
  EXPECT_TRUE(so_many_wait(1));
  signal.emit(asio::cancellation_type::terminal);
  context_.run();
  EXPECT_EQ(got, asio::error::operation_aborted);
  signal.emit(asio::cancellation_type::terminal);  // too late: harmless

  context_.restart();
  async_wait_lost(
      executor_, first,
      asio::bind_cancellation_slot(signal.slot(), [&](error_code error) { got = error; }));
  got = {};
  signal.emit(asio::cancellation_type::total);
  context_.run();
  EXPECT_EQ(got, asio::error::operation_aborted);
}
#endif

// Cancels and grants race: whatever wins, no hold is left that nobody knows.
TEST_F(Asio, CancelledAcquiresLeaveNothing) {
  asio::thread_pool pool(2);
  int granted = 0;
  int cancelled = 0;
  for (int round = 0; round < 100; ++round) {
    Hold first = other_.acquire({write("a")}).value();
    std::stop_source stop;
    const auto ended = std::make_shared<std::promise<error_code>>();
    async_acquire(pool.get_executor(), locks_, {write("a")}, {.stop = stop.get_token()},
                  [ended](error_code error, const Hold&) { ended->set_value(error); });
    std::thread canceller([&] { stop.request_stop(); });
    EXPECT_TRUE(first.release());
    canceller.join();
    const error_code error = ended->get_future().get();
    EXPECT_TRUE(!error || error == asio::error::operation_aborted) << error.message();
    ++(error ? cancelled : granted);
    ASSERT_TRUE(eventually([&] { return is_free(); })) << "round " << round;
  }
  EXPECT_EQ(granted + cancelled, 100);
}

TEST_F(Asio, DestroyingTheLocksEndsItsOperations) {
  Hold first = other_.acquire({write("a")}).value();
  int aborted = 0;
  {
    Locks mine = open_mine();
    for (int i = 0; i < 20; ++i) {
      async_acquire(executor_, mine, {write("a")}, {}, [&](error_code error, const Hold&) {
        if (error == asio::error::operation_aborted) ++aborted;
      });
    }
    EXPECT_TRUE(so_many_wait(20));
  }
  EXPECT_EQ(aborted, 0);
  context_.run();
  EXPECT_EQ(aborted, 20);
  EXPECT_EQ(*waiting_, 0) << "they left the store's queue";
}

// The store answers when the test lets it.
class SlowStore final : public ForwardingBackend {
 public:
  struct Gate {
    std::atomic<bool> shut = false;
    std::atomic<int> behind = 0;  // attempts that were granted and not answered
  };
  SlowStore(std::shared_ptr<Backend> inner, std::shared_ptr<Gate> gate)
      : ForwardingBackend(std::move(inner)), gate_(std::move(gate)) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = ForwardingBackend::try_acquire(request);
    ++gate_->behind;
    eventually([&] { return !gate_->shut; });
    --gate_->behind;
    return outcome;
  }

 private:
  std::shared_ptr<Gate> gate_;
};

TEST_F(Asio, DestroyingTheLocksDuringAnAttemptLeavesNothing) {
  auto gate = std::make_shared<SlowStore::Gate>();
  std::optional<Locks> mine =
      open(std::make_unique<SlowStore>(make_memory_backend(store_), gate)).value();
  gate->shut = true;
  int called = 0;
  async_acquire(executor_, *mine, {write("a")}, {}, [&](error_code error, const Hold& hold) {
    ++called;
    EXPECT_EQ(error, asio::error::operation_aborted);
    EXPECT_FALSE(hold.valid());
  });
  EXPECT_TRUE(eventually([&] { return gate->behind == 1; }));
  std::thread destroyer([&] { mine.reset(); });
  test::linger(50ms);  // it waits for the attempt
  gate->shut = false;
  destroyer.join();
  EXPECT_TRUE(is_free());
  context_.run();
  EXPECT_EQ(called, 1);
}

// Always says that it has something to tell.
class Talkative final : public ForwardingBackend {
 public:
  Talkative(std::shared_ptr<Backend> inner, std::shared_ptr<std::atomic<int>> attempts)
      : ForwardingBackend(std::move(inner)), attempts_(std::move(attempts)) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    ++*attempts_;
    return ForwardingBackend::try_acquire(request);
  }
  bool has_changed(WaitTicket&, TimePoint) override { return true; }

 private:
  std::shared_ptr<std::atomic<int>> attempts_;
};

TEST_F(Asio, AWaitGoesOnWhenTheStoreSaysSo) {
  const Hold first = other_.acquire({write("a")}).value();
  auto attempts = std::make_shared<std::atomic<int>>(0);
  Locks mine = open(std::make_unique<Talkative>(make_memory_backend(store_), attempts)).value();
  async_acquire(executor_, mine, {write("a")}, {}, [](error_code, const Hold&) {});
  // By the time alone it would be a dozen until the test gives up.
  EXPECT_TRUE(eventually([&] { return *attempts > 40; }));
}

TEST_F(Asio, AHoldWhoseContextIsGoneIsReleased) {
  auto gate = std::make_shared<SlowStore::Gate>();
  Locks mine = open(std::make_unique<SlowStore>(make_memory_backend(store_), gate)).value();
  const auto alive = std::make_shared<int>();
  {
    asio::io_context context;
    gate->shut = true;
    async_acquire(context.get_executor(), mine, {write("a")}, {}, [alive](error_code, const Hold&) {
      ADD_FAILURE() << "there is nobody to run it";
    });
    EXPECT_TRUE(eventually([&] { return gate->behind == 1; }));
    EXPECT_FALSE(is_free());
  }
  EXPECT_EQ(alive.use_count(), 1) << "the handler outlives its context";
  gate->shut = false;
  EXPECT_TRUE(eventually([&] { return is_free(); }));
  {
    asio::io_context context;
    async_acquire(context.get_executor(), mine, {write("a")}, {},
                  [alive](error_code, const Hold&) { ADD_FAILURE() << "nobody ran it"; });
    EXPECT_TRUE(eventually([&] { return !is_free(); }));
  }
  EXPECT_TRUE(eventually([&] { return is_free(); })) << "granted, and not told";
}

// As above, for waits; and contexts end while operations complete.
TEST_F(Asio, ContextsEndAtAnyMoment) {
  for (int round = 0; round < 100; ++round) {
    std::optional<Hold> first = other_.acquire({write("a")}).value();
    {
      asio::io_context context;
      for (int i = 0; i < 3; ++i) {
        async_acquire(context.get_executor(), locks_, {write("a")}, {},
                      [](error_code, const Hold&) {});
      }
      async_wait_lost(context.get_executor(), *first, [](error_code) {});
      std::thread releaser([&] { first.reset(); });
      context.poll();
      releaser.join();
    }
    EXPECT_TRUE(eventually([&] { return is_free(); })) << "round " << round;
  }
}

TEST_F(Asio, ALossIsTold) {
  Hold hold = locks_.acquire({write("a")}).value();
  int told = 0;
  error_code got = asio::error::fault;
  async_wait_lost(executor_, hold, [&](error_code error) {
    got = error;
    EXPECT_EQ(hold.lost_reason(), LostReason::gone);
    ++told;
  });
  EXPECT_TRUE(other_.break_hold(hold.stamp()));
  EXPECT_FALSE(hold.renew());
  context_.run();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(got) << got.message();
  // It is lost already.
  context_.restart();
  async_wait_lost(executor_, hold, [&](error_code error) { told += error ? 0 : 1; });
  context_.run();
  EXPECT_EQ(told, 2);
}

TEST_F(Asio, AWaitForALossEndsWithTheHold) {
  std::vector<error_code> got;
  const auto note = [&](error_code error) { got.push_back(error); };
  Hold released = locks_.acquire({write("a")}).value();
  async_wait_lost(executor_, released, note);
  Hold moved = std::move(released);
  EXPECT_TRUE(moved.release());
  {
    const Hold destroyed = locks_.acquire({write("b")}).value();
    async_wait_lost(executor_, destroyed, note);
  }
  Hold reader = locks_.acquire({read("c")}).value();
  async_wait_lost(executor_, reader, note);
  EXPECT_TRUE(reader.try_upgrade().value());
  Hold of_destroyed;
  {
    Locks mine = open(make_memory_backend(store_)).value();
    of_destroyed = mine.acquire({write("d")}).value();
    async_wait_lost(executor_, of_destroyed, note);
  }
  async_wait_lost(executor_, of_destroyed, note);  // has ended before
  context_.run();
  ASSERT_EQ(got.size(), 5U);
  for (const error_code error : got) EXPECT_EQ(error, asio::error::operation_aborted);
}

TEST_F(Asio, AReleaseOvertakesAcquiresThatHang) {
  auto gate = std::make_shared<SlowStore::Gate>();
  Locks mine = open(std::make_unique<SlowStore>(make_memory_backend(store_), gate)).value();
  Hold hold = mine.acquire({write("a")}).value();
  gate->shut = true;
  for (int i = 0; i < 3; ++i) {
    async_acquire(executor_, mine, {write("b" + std::to_string(i))}, {},
                  [](error_code error, const Hold&) { EXPECT_FALSE(error); });
  }
  EXPECT_TRUE(eventually([&] { return gate->behind == 3; }));
  std::atomic<bool> released = false;
  async_release(executor_, std::move(hold), [&](error_code error) {
    EXPECT_FALSE(error);
    released = true;
  });
  EXPECT_TRUE(eventually([&] {
    context_.poll();
    return released.load();
  }));
  EXPECT_EQ(gate->behind, 3);
  gate->shut = false;
  context_.run();
}

// Replies are lost, requests come late: what the handlers report is what the store has.
TEST_F(Asio, FaultsOfTheStore) {
  auto faulty = std::make_shared<test::FaultyBackend>(make_memory_backend(store_), 1);
  faulty->set_rates({.fail_before = 0.1, .lose_reply = 0.1, .delay = 0.1, .duplicate = 0.1});
  faulty->set_rates(test::Call::load_config, {});
  faulty->deliver_by_itself(true);
  Locks mine = open(std::make_unique<ForwardingBackend>(faulty), {.app = "faulty"}).value();
  int done = 0;
  for (int i = 0; i < 6; ++i) {
    async_acquire(executor_, mine, {write("a")}, {.lease = 1s}, [&](error_code error, Hold hold) {
      ++done;
      if (error) return;
      async_release(executor_, std::move(hold), [](error_code) {});
    });
  }
  context_.run();
  EXPECT_EQ(done, 6) << faulty->describe();
  faulty->set_rates({});
  faulty->deliver_late();
  EXPECT_TRUE(eventually([&] { return is_free(); })) << faulty->describe();
}

#ifdef LOCKSET_HAS_SQLITE
TEST_F(Asio, OverSqlite) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("lockset-asio-" + std::to_string(::getpid()) + ".db");
  {
    Locks mine = open("sqlite:" + file.string(), {.app = "mine"}).value();
    Locks theirs = open("sqlite:" + file.string(), {.app = "theirs"}).value();
    Hold first = theirs.acquire({write("a")}).value();
    std::atomic<int> inside = 0;
    int turns = 0;
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(executor_, take_in_turn(mine, inside, turns), asio::detached);
    }
    std::thread runner([&] { context_.run(); });
    EXPECT_TRUE(eventually([&] { return theirs.inspect().value().waiters.size() == 20; }));
    EXPECT_TRUE(first.release());
    runner.join();
    EXPECT_EQ(turns, 20);
    EXPECT_TRUE(theirs.inspect().value().holds.empty());
  }
  std::filesystem::remove_all(file);
  std::filesystem::remove_all(file.string() + "-lockset");
}
#endif

}  // namespace
}  // namespace lockset
