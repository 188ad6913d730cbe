// Random sequences of operations on the backend and, in step, on the memory backend with a test
// clock: all answers must agree.
//
// Time: leases are either long (never over within a test) or a millisecond. The test waits until a
// brief hold is over at once: in the store by looking, in the model by moving its clock. So both
// agree at every step on what has expired, and the store still contains the expired hold, which
// later steps have to deal with.
//
// LOCKSET_TEST_SEED and LOCKSET_TEST_SEQUENCES choose the seed and the number of sequences.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "lockset/memory_backend.h"
#include "tests/conformance/suite.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return TimePoint(Duration(now_.load())); }
  void advance(Duration by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_ = Duration(std::chrono::hours(1)).count();
};

constexpr Duration brief = 1ms;
const std::string names[] = {"a", "b", "c", "A", "a "};
const std::string apps[] = {"one", "two"};

// One sequence. Every call goes to both sides.
class Sequence {
 public:
  Sequence(std::shared_ptr<Backend> real, std::uint64_t seed)
      : dice_(seed),
        real_(std::move(real)),
        model_(make_memory_backend(make_memory_store(clock_))) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }
  // The steps so far, for failure messages.
  [[nodiscard]] std::string story() const { return story_.str(); }

 private:
  // A hold that was ever granted, with its stamps on both sides, in the order of the grants.
  struct Known {
    Stamp real, model;
    Token token;
    Wanted items;
    std::string app;
  };
  // A name as it was observed on both sides.
  struct Seen {
    std::string name;
    Stamp real, model;
    std::size_t item = 0;  // in a set, for a condition
  };

  std::size_t roll(std::size_t sides) { return dice_() % sides; }

  void step() {
    if (converting_ && roll(8) == 0) {
      convert();
      inspect();
      return;
    }
    switch (roll(observing_ ? 20 : 16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        acquire();
        break;
      case 5:
      case 6:
      case 7:
        end_one(true);
        break;
      case 8:
        end_one(false);
        break;
      case 9:
      case 10:
        renew();
        break;
      case 11:
        resolve();
        break;
      case 12:
        configure();
        break;
      case 13:
        reclaim();
        break;
      case 14:
        if (roll(4) == 0) sweep();
        break;
      case 16:
      case 17:
      case 18:
        observe();
        break;
      case 19:
        if (roll(6) == 0) sweep_traces();
        break;
      default:
        break;
    }
    inspect();
  }

  void acquire() {
    std::map<std::string, Mode> chosen;
    const std::size_t size = 1 + roll(3);
    for (std::size_t i = 0; i < size; ++i) {
      chosen[names[roll(std::size(names))]] = roll(2) == 0 ? Mode::read : Mode::write;
    }
    Wanted wanted;
    for (const auto& [name, mode] : chosen) wanted.push_back({name, mode});
    if (roll(8) == 0) wanted = {write("@app:" + apps[roll(2)])};
    std::vector<Seen> condition;
    for (const Seen& seen : some_observations()) {
      const auto same = [&](const LockRequest& item) { return item.name == seen.name; };
      const auto item = std::find_if(wanted.begin(), wanted.end(), same);
      if (item == wanted.end()) continue;
      condition.push_back(seen);
      condition.back().item = static_cast<std::size_t>(item - wanted.begin());
    }
    // The two parts of a hold in two stores don't end at the same instant.
    const bool brief_one = roll(4) == 0 && real_->traits().can_migrate;
    const std::int64_t epoch = roll(3) == 0 ? latest_epoch_ : 0;
    acquire_both(wanted, brief_one ? brief : Duration(10min), epoch, condition);
  }

  void acquire_both(const Wanted& wanted, Duration lease, std::int64_t epoch,
                    const std::vector<Seen>& condition) {
    const std::string app = apps[roll(2)];
    const Token token = Token::random();
    std::string text = "acquire " + describe(wanted) + " by " + app;
    if (lease == brief) text += " briefly";
    std::vector<Expected> of_real, of_model;
    for (const Seen& seen : condition) {
      text += ", unchanged " + seen.name + " since " + std::to_string(seen.real.value);
      of_real.push_back({seen.item, seen.real});
      of_model.push_back({seen.item, seen.model});
    }
    say(text);
    // Sometimes from the version before: both must answer stale.
    const bool old = roll(10) == 0;
    const Result<AcquireOutcome> real =
        ask(*real_, wanted, lease, token, {app, "i", epoch, "at " + app}, old, of_real);
    const Result<AcquireOutcome> model =
        ask(*model_, wanted, lease, token, {app, "i", model_of(epoch), "at " + app}, old, of_model);
    ASSERT_TRUE(real) << test::describe(real);
    ASSERT_TRUE(model) << test::describe(model);
    ASSERT_EQ(real->index(), model->index())
        << "store: " << test::describe(real) << ", model: " << test::describe(model);
    if (std::holds_alternative<Stale>(*real)) {
      compare(real_->load_config(soon()).value(), model_->load_config(soon()).value());
    }
    if (const Busy* busy = std::get_if<Busy>(&*real)) check_blocker(*busy, wanted);
    if (const Changed* changed = std::get_if<Changed>(&*real)) {
      const Changed& expected = std::get<Changed>(*model);
      EXPECT_EQ(changed->item, expected.item);
      if (real_->traits().can_migrate || expected.trace.last_write) {
        compare(changed->trace, expected.trace);
      }
      if (!real_->traits().can_migrate) {
        // With two stores, one may have been observed to find out: then all are.
        std::vector<std::string> looked_at;
        for (const Seen& seen : condition) looked_at.push_back(seen.name);
        static_cast<void>(look(*real_, looked_at));
        static_cast<void>(look(*model_, looked_at));
      }
    }
    const Grant* grant = std::get_if<Grant>(&*real);
    if (grant == nullptr) return;
    if (!known_.empty()) {
      EXPECT_GT(grant->stamp, known_.back().real);
    }
    known_.push_back({grant->stamp, std::get<Grant>(*model).stamp, token, wanted, app});
    EXPECT_LE(grant->lease, lease);
    if (real_->traits().floors) compare_floors(grant->floors, std::get<Grant>(*model).floors);
    if (lease == brief) wait_out(grant->stamp);
  }

  static Result<AcquireOutcome> ask(Backend& backend, const Wanted& wanted, Duration lease,
                                    const Token& token, const Owner& owner, bool old,
                                    std::span<const Expected> unchanged_since,
                                    const HoldRef* replaces = nullptr) {
    const LockSet set = make_set(wanted);
    const SpaceConfig config = backend.load_config(soon()).value();
    std::vector<std::uint32_t> permits;
    for (const LockRequest& item : set.items()) {
      permits.push_back(config.permits_of(item.name).of(item.mode));
    }
    AcquireRequest request;
    request.set = &set;
    request.permits = permits;
    request.config_version = config.version - (old ? 1 : 0);
    request.token = token;
    request.owner = &owner;
    request.lease = lease;
    request.unchanged_since = unchanged_since;
    request.replaces = replaces;
    request.by = soon();
    return test::outlasting_sessions(backend, request);
  }

  // A hold, or one that has ended or is another application's, takes its names in another mode.
  void convert() {
    const Known hold = pick();
    if (hold.items.empty()) return;
    Wanted wanted = hold.items;
    const Mode mode = roll(2) == 0 ? Mode::read : Mode::write;
    for (LockRequest& item : wanted) item.mode = mode;
    const std::string app = roll(6) == 0 ? apps[roll(2)] : hold.app;
    say("convert " + std::to_string(hold.real.value) + " to " + describe(wanted) + " by " + app);
    const Token token = Token::random();
    const Owner owner{app, "i", 0, "at " + app};
    const HoldRef of_real(hold.real);
    const HoldRef of_model(hold.model);
    const bool old = roll(10) == 0;
    const auto real = ask(*real_, wanted, 10min, token, owner, old, {}, &of_real);
    const auto model = ask(*model_, wanted, 10min, token, owner, old, {}, &of_model);
    ASSERT_TRUE(real) << test::describe(real);
    ASSERT_TRUE(model) << test::describe(model);
    ASSERT_EQ(real->index(), model->index())
        << "store: " << test::describe(real) << ", model: " << test::describe(model);
    if (const Busy* busy = std::get_if<Busy>(&*real)) check_blocker(*busy, wanted);
    const Grant* const grant = std::get_if<Grant>(&*real);
    if (grant == nullptr) return;
    EXPECT_GT(grant->stamp, known_.back().real);
    const Grant& expected = std::get<Grant>(*model);
    known_.push_back({grant->stamp, expected.stamp, token, wanted, app});
    EXPECT_EQ(grant->lease == Duration::max(), expected.lease == Duration::max());
    if (real_->traits().floors) compare_floors(grant->floors, expected.floors);
  }

  // Inspection does not remove the expired hold.
  void wait_out(Stamp stamp) {
    const auto gone = [&] {
      const Inspection all = real_->inspect({}, soon()).value();
      return std::none_of(all.holds.begin(), all.holds.end(),
                          [&](const HoldInfo& hold) { return hold.stamp == stamp; });
    };
    ASSERT_TRUE(eventually(gone)) << "the lease of " << brief.count() << " ns does not end";
    clock_.advance(brief);
  }

  // The contract says only that one of the blocking holds is named, not which one.
  void check_blocker(const Busy& busy, const Wanted& wanted) {
    EXPECT_TRUE(std::any_of(wanted.begin(), wanted.end(), [&](const LockRequest& item) {
      return item.name == busy.name;
    })) << busy.name;
    const Inspection holders =
        real_->inspect({InspectQuery::Match::name, busy.name}, soon()).value();
    const LockRequest expected{busy.name, busy.mode};
    EXPECT_TRUE(std::any_of(holders.holds.begin(), holders.holds.end(),
                            [&](const HoldInfo& hold) {
                              return hold.stamp == busy.holder &&
                                     std::count(hold.items.begin(), hold.items.end(), expected);
                            }))
        << "busy names " << busy.holder.value << ", which does not hold " << busy.name;
  }

  // A known hold, or one that never existed.
  Known pick() {
    if (known_.empty() || roll(10) == 0)
      return {{1 + static_cast<std::int64_t>(roll(3))}, {}, {}, {}, {}};
    // Usually one of the last few: older ones have ended.
    const std::size_t back = roll(std::min<std::size_t>(known_.size(), roll(3) == 0 ? 100 : 5));
    return known_[known_.size() - 1 - back];
  }

  void end_one(bool release) {
    const Known hold = pick();
    const std::string app = roll(6) == 0 ? "three" : apps[roll(2)];
    say((release ? "release by " + app + " " : "break ") + std::to_string(hold.real.value));
    const auto real =
        release ? real_->release(hold.real, app, soon()) : real_->break_hold(hold.real, soon());
    const auto model =
        release ? model_->release(hold.model, app, soon()) : model_->break_hold(hold.model, soon());
    ASSERT_TRUE(real) << real.error().message;
    EXPECT_EQ(*real, model.value());
  }

  void renew() {
    const std::size_t count = 1 + roll(4);
    const Owner owner{apps[roll(2)], "another", 0, ""};
    const bool permanent = real_->traits().permanent_leases && roll(4) == 0;
    std::vector<RenewRequest> real_requests, model_requests;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      const Known hold = pick();
      text += " " + std::to_string(hold.real.value);
      real_requests.push_back({hold.real, 10min, permanent});
      model_requests.push_back({hold.model, 10min, permanent});
    }
    say((permanent ? "make permanent by " : "renew by ") + owner.app + text);
    const Result<RenewReply> real = real_->renew(owner, real_requests, soon());
    const Result<RenewReply> model = model_->renew(owner, model_requests, soon());
    ASSERT_TRUE(real) << real.error().message;
    ASSERT_EQ(real->renewals.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(real->renewals[i].has_value(), model.value().renewals[i].has_value()) << i;
    }
  }

  void resolve() {
    const Known hold = pick();
    say("resolve " + std::to_string(hold.real.value));
    const auto real = real_->resolve(hold.token, soon());
    const auto model = model_->resolve(hold.token, soon());
    ASSERT_TRUE(real) << real.error().message;
    ASSERT_EQ(real->has_value(), model.value().has_value());
    if (*real) {
      EXPECT_EQ((*real)->stamp, hold.real);
    }
  }

  void configure() {
    const std::string name = roll(4) == 0 ? "*" : names[roll(std::size(names))];
    const Mode mode = roll(2) == 0 ? Mode::read : Mode::write;
    std::optional<std::uint32_t> permits;
    if (roll(3) != 0) permits = static_cast<std::uint32_t>(1 + roll(3));
    say("permits of " + name + " " + std::string(to_string(mode)) + " " +
        (permits ? std::to_string(*permits) : "unset"));
    const auto real = real_->change_config(SetPermits{name, mode, permits}, soon());
    const auto model = model_->change_config(SetPermits{name, mode, permits}, soon());
    ASSERT_TRUE(real) << real.error().message;
    compare(*real, model.value());
  }

  // Acts as an instance that opens with reclaim, sometimes with the hold of another one or an ended
  // one.
  void reclaim() {
    const std::string app = apps[roll(2)];
    const Known hold = pick();
    if (!hold.model) return;
    say("reclaim " + app + " as " + std::to_string(hold.real.value));
    const auto real = real_->reclaim(app, hold.real.value, soon());
    const auto model = model_->reclaim(app, hold.model.value, soon());
    ASSERT_EQ(real.ok(), model.ok()) << (real ? "store: done" : real.error().message) << "; "
                                     << (model ? "model: done" : model.error().message);
    if (real) {
      EXPECT_EQ(*real, *model);
      latest_epoch_ = hold.real.value;
    } else {
      EXPECT_EQ(real.error().code, model.error().code) << real.error().message;
    }
  }

  static std::vector<Trace> look(Backend& backend, const std::vector<std::string>& wanted) {
    const std::int64_t version = backend.load_config(soon()).value().version;
    return std::get<std::vector<Trace>>(backend.observe({wanted, version, soon()}).value());
  }

  void observe() {
    std::set<std::string> chosen;
    for (std::size_t i = 0; i < 1 + roll(3); ++i) chosen.insert(names[roll(std::size(names))]);
    const std::vector<std::string> wanted(chosen.begin(), chosen.end());
    std::string text = "observe";
    for (const std::string& name : wanted) text += " " + name;
    say(text);
    std::vector<Trace> real = look(*real_, wanted);
    const std::vector<Trace> model = look(*model_, wanted);
    ASSERT_EQ(real.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE(wanted[i]);
      compare(real[i], model[i]);
      // An expired hold may be removed a little later.
      EXPECT_TRUE(eventually([&] {
        if (real[i].being_written == model[i].being_written) return true;
        real = look(*real_, wanted);
        return false;
      })) << "being written: "
          << model[i].being_written;
      // One side has changed since an earlier observation if and only if the other one has.
      for (const Seen& seen : seen_) {
        if (seen.name != wanted[i]) continue;
        EXPECT_EQ(seen.real == real[i].last_write, seen.model == model[i].last_write)
            << "since " << seen.real.value;
      }
      seen_.push_back({wanted[i], real[i].last_write, model[i].last_write});
    }
  }

  void sweep_traces() {
    say("sweep traces");
    for (Backend* const side : {real_.get(), model_.get()}) {
      while (side->sweep_traces(Duration::zero(), soon()).value() > 0) {
      }
    }
  }

  // A few of the last ones, or none; one for each name.
  std::vector<Seen> some_observations() {
    std::map<std::string, Seen> chosen;
    if (seen_.empty() || roll(3) == 0) return {};
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t back = roll(std::min<std::size_t>(seen_.size(), 8));
      const Seen& seen = seen_[seen_.size() - 1 - back];
      chosen.insert_or_assign(seen.name, seen);
    }
    std::vector<Seen> result;
    for (const auto& [name, seen] : chosen) result.push_back(seen);
    return result;
  }

  // How many are left to sweep depends on what earlier steps tidied up.
  void sweep() {
    say("sweep");
    ASSERT_TRUE(real_->sweep(soon()));
    ASSERT_TRUE(model_->sweep(soon()));
  }

  void inspect() {
    InspectQuery query;
    query.match = static_cast<InspectQuery::Match>(roll(3));
    if (query.match != InspectQuery::Match::all) query.text = names[roll(std::size(names))];
    const Result<Inspection> real = real_->inspect(query, soon());
    const Inspection model = model_->inspect(query, soon()).value();
    ASSERT_TRUE(real) << real.error().message;
    ASSERT_EQ(real->holds.size(), model.holds.size());
    for (std::size_t i = 0; i < model.holds.size(); ++i) {
      const HoldInfo& mine = real->holds[i];
      const HoldInfo& other = model.holds[i];
      EXPECT_EQ(model_of(mine.stamp), other.stamp);
      EXPECT_EQ(mine.items, other.items);
      EXPECT_EQ(mine.owner.app, other.owner.app);
      EXPECT_EQ(model_of(mine.owner.epoch), other.owner.epoch);
      EXPECT_EQ(mine.remaining.has_value(), other.remaining.has_value()) << "permanent or not";
    }
  }

  void compare(const Trace& real, const Trace& model) {
    EXPECT_EQ(real.last_write.value > 0, model.last_write.value > 0);
    EXPECT_EQ(real.label, model.label);
    EXPECT_EQ(real.age_us.has_value(), model.age_us.has_value());
    // A write grant, or a stamp drawn for the trace.
    EXPECT_EQ(model_of(real.last_write), real.label.empty() ? Stamp{} : model.last_write);
  }

  // Each side has its own versions and epochs.
  void compare(const SpaceConfig& real, const SpaceConfig& model) {
    EXPECT_EQ(real.permits, model.permits);
    EXPECT_EQ(real.max_lease, model.max_lease);
    ASSERT_EQ(real.epochs.size(), model.epochs.size());
    for (const auto& [app, epoch] : real.epochs) {
      const auto other = model.epochs.find(app);
      ASSERT_NE(other, model.epochs.end());
      EXPECT_EQ(model_of(epoch), other->second);
    }
    EXPECT_GE(real.version, last_version_);
    last_version_ = real.version;
  }

  void compare_floors(const std::vector<Stamp>& real, const std::vector<Stamp>& model) {
    ASSERT_EQ(real.size(), model.size());
    for (std::size_t i = 0; i < real.size(); ++i) EXPECT_EQ(model_of(real[i]), model[i]);
  }

  [[nodiscard]] Stamp model_of(Stamp real) const {
    for (const Known& hold : known_) {
      if (hold.real == real) return hold.model;
    }
    return {};
  }
  [[nodiscard]] std::int64_t model_of(std::int64_t epoch) const {
    return epoch == 0 ? 0 : model_of(Stamp{epoch}).value;
  }

  void say(const std::string& what) { story_ << "  " << what << "\n"; }

  std::mt19937_64 dice_;
  HandClock clock_;
  std::shared_ptr<Backend> real_;
  std::shared_ptr<Backend> model_;
  const bool observing_ = real_->traits().observing;
  const bool converting_ = real_->traits().converting;
  std::vector<Known> known_;
  std::vector<Seen> seen_;
  std::int64_t latest_epoch_ = 0;
  std::int64_t last_version_ = 0;
  std::ostringstream story_;
};

class Model : public Conformance {};

TEST_P(Model, TheStoreAgreesWithTheModel) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  const std::uint64_t seed = test::test_seed();
  const std::uint64_t sequences = test::number_from_environment("LOCKSET_TEST_SEQUENCES", 300);
  // Fewer if a space takes long to make, but never so few that the test shows nothing.
  const bool bounded = std::getenv("LOCKSET_TEST_SEQUENCES") == nullptr;
  const TimePoint enough = BootClock::now() + 6s;
  std::uint64_t done = 0;
  for (; done < sequences; ++done) {
    if (bounded && done >= 20 && BootClock::now() > enough) break;
    const std::unique_ptr<Space> fresh = harness().new_space();
    Sequence sequence(fresh->open().value(), seed + done);
    sequence.run(60);
    if (HasFailure()) {
      ADD_FAILURE() << test::describe_seed(seed + done) << " LOCKSET_TEST_SEQUENCES=1\n"
                    << sequence.story();
      return;
    }
  }
  RecordProperty("sequences", static_cast<int>(done));
}

LOCKSET_CONFORMANCE_SUITE(Model);

}  // namespace
}  // namespace lockset::conformance
