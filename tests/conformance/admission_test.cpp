// SEM 4 (admission), and what SEM 6 says about lowered permits.
#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Admission : public Conformance {
 protected:
  // As many single holds of `mode` on `name` as are admitted, at most `limit`.
  std::vector<Stamp> take_all(Client& client, const std::string& name, Mode mode,
                              std::size_t limit) {
    std::vector<Stamp> stamps;
    while (stamps.size() < limit) {
      const std::optional<Grant> grant = client.try_take({{name, mode}});
      if (!grant) break;
      stamps.push_back(grant->stamp);
    }
    return stamps;
  }
};

// SEM 4
TEST_P(Admission, AFreeNameIsGrantedInEitherMode) {
  Client c = client();
  EXPECT_TRUE(c.take({read("a")}).stamp);
  EXPECT_TRUE(c.take({write("b")}).stamp);
}

// SEM 4: W + 1 <= Wp, by default 1
TEST_P(Admission, AWriteExcludesAWrite) {
  Client c = client();
  const Grant first = c.take({write("a")});
  EXPECT_EQ(c.meet_busy({write("a")}).name, "a");
  ASSERT_TRUE(c.release(first.stamp));
  EXPECT_TRUE(c.take({write("a")}).stamp);
}

// SEM 4: a write needs R = 0
TEST_P(Admission, AReadExcludesAWrite) {
  Client c = client();
  const Grant reader = c.take({read("a")});
  c.meet_busy({write("a")});
  ASSERT_TRUE(c.release(reader.stamp));
  EXPECT_TRUE(c.take({write("a")}).stamp);
}

// SEM 4: a read needs W = 0, however many readers are permitted
TEST_P(Admission, AWriteExcludesAReadWhateverThePermits) {
  Client c = client();
  c.set_permits("a", Mode::read, max_permits);
  const Grant writer = c.take({write("a")});
  c.meet_busy({read("a")});
  ASSERT_TRUE(c.release(writer.stamp));
  EXPECT_TRUE(c.take({read("a")}).stamp);
}

// SEM 4: a write needs R = 0, however many writers are permitted
TEST_P(Admission, AReadExcludesAWriteWhateverThePermits) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 100);
  c.take({read("a")});
  c.meet_busy({write("a")});
}

// SEM 6: the default read permit is 1, so that a read excludes a read
TEST_P(Admission, AReadExcludesAReadByDefault) {
  Client c = client();
  c.take({read("a")});
  c.meet_busy({read("a")});
}

// SEM 4, 15: it does not matter who asks; the owner is the hold
TEST_P(Admission, TheSameOwnerIsExcludedLikeAnyOther) {
  Client c = client("one");
  Client other = client("two");
  c.take({write("a")});
  c.meet_busy({write("a")});
  other.meet_busy({write("a")});
}

// SEM 4: Wp and Rp from 1 to 3, each filled exactly; the other mode is not admitted
TEST_P(Admission, PermitsAreFilledExactly) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  for (const Mode mode : {Mode::read, Mode::write}) {
    const Mode other = mode == Mode::read ? Mode::write : Mode::read;
    for (std::uint32_t permits = 1; permits <= 3; ++permits) {
      const std::string name = std::string(to_string(mode)) + std::to_string(permits);
      SCOPED_TRACE(name);
      c.set_permits(name, mode, permits);
      c.set_permits(name, other, 3);
      const std::vector<Stamp> all = take_all(c, name, mode, 10);
      EXPECT_EQ(all.size(), permits);
      c.meet_busy({{name, other}});
      // One hold ends: one more of its mode is admitted, and none of the other mode.
      ASSERT_TRUE(c.release(all.at(0)));
      EXPECT_EQ(c.try_take({{name, other}}).has_value(), permits == 1);
      if (permits > 1) {
        EXPECT_EQ(take_all(c, name, mode, 10).size(), 1U);
      }
    }
  }
}

// SEM 4: each name independently
TEST_P(Admission, NamesDoNotTouchEachOther) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 2);
  EXPECT_EQ(take_all(c, "a", Mode::write, 10).size(), 2U);
  EXPECT_EQ(take_all(c, "b", Mode::write, 10).size(), 1U);
}

// SEM 4: many readers; the writer is admitted when the last one releases
TEST_P(Admission, TheWriterComesWhenTheLastReaderHasGone) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::read, 50);
  const std::vector<Stamp> readers = take_all(c, "a", Mode::read, 60);
  ASSERT_EQ(readers.size(), 50U);
  for (const Stamp reader : readers) {
    c.meet_busy({write("a")});
    ASSERT_TRUE(c.release(reader));
  }
  EXPECT_TRUE(c.take({write("a")}).stamp);
}

// SEM 4: a mixed set needs every one of its items admitted
TEST_P(Admission, AMixedSetNeedsAllItsItems) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("r", Mode::read, 2);
  c.take({read("r"), write("w1")});
  c.meet_busy({read("r"), write("w1")});
  c.meet_busy({write("r"), write("w2")});
  EXPECT_TRUE(c.take({read("r"), write("w2")}).stamp);
  c.meet_busy({read("r"), write("w3")});
}

// SEM 6: lowering revokes nothing; it stops new grants
TEST_P(Admission, LoweringPermitsRevokesNothing) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  Client c = client();
  c.set_permits("a", Mode::write, 3);
  const std::vector<Stamp> writers = take_all(c, "a", Mode::write, 3);
  ASSERT_EQ(writers.size(), 3U);
  c.set_permits("a", Mode::write, 1);
  EXPECT_EQ(c.holds().size(), 3U);
  for (const Stamp writer : writers) {
    EXPECT_TRUE(c.renew(writer, 1min)) << "still held";
    c.meet_busy({write("a")});
    ASSERT_TRUE(c.release(writer));
  }
  EXPECT_EQ(take_all(c, "a", Mode::write, 3).size(), 1U);
}

// SEM 14: the busy answer names what is in the way, for people
TEST_P(Admission, BusyNamesAHolderInTheWay) {
  Client holder = client("holder");
  holder.set_label("carl@example:17 nightly");
  const Grant first = holder.take({write("b"), write("c")});
  Client c = client();
  const Busy busy = c.meet_busy({read("a"), read("b")});
  EXPECT_EQ(busy.name, "b");
  EXPECT_EQ(busy.mode, Mode::write);
  EXPECT_EQ(busy.holder, first.stamp);
  EXPECT_EQ(busy.holder_label, "carl@example:17 nightly");
}

// The waiter tries again when the lease in its way ends, because nobody announces that.
TEST_P(Admission, BusySaysWhenTheLeaseInTheWayEnds) {
  Client c = client();
  c.take({write("a")}, {.lease = 30s});
  const Busy busy = c.meet_busy({write("a")});
  ASSERT_TRUE(busy.retry_after);
  EXPECT_GT(*busy.retry_after, 15s);
  EXPECT_LE(*busy.retry_after, 30s + clock_grain);
}

LOCKSET_CONFORMANCE_SUITE(Admission);

}  // namespace
}  // namespace lockset::conformance
