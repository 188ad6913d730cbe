// SEM 19: permanent rows of names are removed while clients use them, and nothing is granted twice.
#include <array>
#include <atomic>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class NameRows : public PostgresqlTest {};

TEST_P(NameRows, AreSweptWhileTheNamesAreInUse) {
  constexpr std::size_t names = 4;
  // Counts the removed rows.
  admin().run("CREATE SEQUENCE " + space() + ".gone");
  admin().run("CREATE FUNCTION " + space() +
              ".count_gone() RETURNS trigger LANGUAGE plpgsql AS "
              "$$ BEGIN PERFORM nextval('" +
              space() + ".gone'); RETURN NULL; END $$");
  admin().run("CREATE TRIGGER gone AFTER DELETE ON " + space() +
              ".names FOR EACH ROW EXECUTE FUNCTION " + space() + ".count_gone()");
  std::array<std::atomic<int>, names> holders{};
  std::atomic<bool> stop = false;
  std::atomic<int> grants = 0;
  const std::shared_ptr<Backend> shared = open();
  test::run_threads(7, [&](std::size_t i) {
    if (i == 0) {
      const AtEnd end([&] { stop = true; });
      Session raw;
      for (int n = 0; n < 40; ++n) {
        const int before = grants;
        EXPECT_TRUE(eventually([&] { return grants > before; })) << "no progress";
        // As if all of them had been unused for more than an hour. One by one: two rows at once
        // could deadlock with the clients.
        for (std::size_t name = 0; name < names; ++name) {
          raw.run("UPDATE " + space() +
                  ".names SET last = sign(last) * (abs(last) - 4000000000) WHERE name = 'n" +
                  std::to_string(name) +
                  "' AND abs(last) > date_part('epoch', now() - interval '30 min') * 1000000");
        }
        EXPECT_TRUE(shared->sweep(soon()));
      }
      return;
    }
    Client mine(shared, "app" + std::to_string(i));
    for (std::size_t n = i; !stop; ++n) {
      const std::size_t a = n % names;
      const std::size_t b = (n + i) % names;
      test::Wanted wanted{write("n" + std::to_string(a))};
      if (a != b) wanted.push_back(write("n" + std::to_string(b)));
      const Result<AcquireOutcome> outcome = mine.ask(wanted);
      ASSERT_TRUE(outcome) << outcome.error().message;
      const Grant* const grant = std::get_if<Grant>(&*outcome);
      if (grant == nullptr) continue;
      EXPECT_EQ(++holders[a], 1);
      if (a != b) {
        EXPECT_EQ(++holders[b], 1);
      }
      // Time for the sweep to remove the row of a held name.
      test::linger(3ms);
      if (a != b) --holders[b];
      --holders[a];
      EXPECT_TRUE(mine.release(grant->stamp));
      ++grants;
    }
  });
  const std::int64_t gone = admin().number("SELECT last_value FROM " + space() + ".gone");
  EXPECT_GT(gone, 1) << "no row went";
  EXPECT_EQ(count("locks"), 0);
}

// strategy=advisory has no such rows.
INSTANTIATE_TEST_SUITE_P(Strategies, NameRows, testing::Values(std::string("serializable")),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace lockset::postgresql_tests
