// Statements for PostgreSQL that look right but are wrong, on a real server: the checker finds each
// one, and the right one of the same shape passes under the same load.
#include <gtest/gtest.h>

#include "tests/mutants/load.h"
#include "tests/mutants/postgresql_store.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

// Looks and takes without a lock.
constexpr const char* no_lock = R"(
CREATE FUNCTION take(names text[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE drawn bigint;
BEGIN
  IF EXISTS (SELECT FROM holds WHERE name = ANY (names)) THEN RETURN 0; END IF;
  PERFORM pg_sleep(0.001);
  drawn := nextval('stamps');
  INSERT INTO holds SELECT unnest(names), drawn;
  RETURN drawn;
END $$;
)";

// Excludes as it should; but the client that drew the smaller stamp may be granted later.
constexpr const char* stamp_before_the_lock = R"(
CREATE FUNCTION take(names text[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE drawn bigint := nextval('stamps'); one text;
BEGIN
  PERFORM pg_sleep(0.003 * random());
  FOREACH one IN ARRAY names LOOP
    PERFORM pg_advisory_xact_lock(hashtext(one));
  END LOOP;
  IF EXISTS (SELECT FROM holds WHERE name = ANY (names)) THEN RETURN 0; END IF;
  INSERT INTO holds SELECT unnest(names), drawn;
  RETURN drawn;
END $$;
)";

// Under the lock. But the holder may release the name between the stamp and the look, because a
// release takes no lock on the name: then the grant is younger than its stamp.
constexpr const char* stamp_before_the_look = R"(
CREATE FUNCTION take(names text[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE drawn bigint; one text;
BEGIN
  FOREACH one IN ARRAY names LOOP
    PERFORM pg_advisory_xact_lock(hashtext(one));
  END LOOP;
  drawn := nextval('stamps');
  PERFORM pg_sleep(0.01 * random());
  IF EXISTS (SELECT FROM holds WHERE name = ANY (names)) THEN RETURN 0; END IF;
  INSERT INTO holds SELECT unnest(names), drawn;
  RETURN drawn;
END $$;
)";

// One statement, so one snapshot: from before the wait for the lock.
constexpr const char* one_statement = R"(
CREATE FUNCTION take(names text[]) RETURNS bigint LANGUAGE sql VOLATILE AS $$
WITH locked AS MATERIALIZED (
  SELECT count(pg_advisory_xact_lock(hashtext(one))) AS n FROM unnest(names) AS one
), stamp AS MATERIALIZED (
  SELECT CASE WHEN pg_sleep(0.001) IS NOT NULL THEN nextval('stamps') END AS drawn FROM locked
  WHERE n > 0 AND NOT EXISTS (SELECT FROM holds WHERE name = ANY (names))
), taken AS (
  INSERT INTO holds SELECT unnest(names), drawn FROM stamp RETURNING stamp
)
SELECT coalesce(max(stamp), 0) FROM taken $$;
)";

struct Statements {
  const char* name;
  const char* function;
  const char* isolation;
  // Unset: nothing, because they are right.
  std::optional<Invariant> meant;
  std::vector<Invariant> also{};
  // Rare events need another load than the rest.
  Load load{.clients = 8, .round = 200ms, .reads = 0, .keep = 2ms};
  // So many the right ones have to make.
  std::uint64_t grants = 40;
};

constexpr auto exclusion = Invariant::exclusion;
constexpr auto fencing = Invariant::fencing;

const Load on_four_names{
    .clients = 8, .round = 200ms, .names = 4, .largest_set = 1, .reads = 0, .keep = 10ms};

const Statements all_statements[] = {
    {"right_one", right_postgresql_function, "READ COMMITTED", {}},
    {"right_on_four_names",
     right_postgresql_function,
     "READ COMMITTED",
     {},
     {},
     on_four_names,
     400},
    {"no_lock", no_lock, "READ COMMITTED", exclusion, {fencing}},
    {"stamp_before_the_lock", stamp_before_the_lock, "READ COMMITTED", fencing},
    {"stamp_before_the_look", stamp_before_the_look, "READ COMMITTED", fencing, {}, on_four_names},
    {"one_statement", one_statement, "READ COMMITTED", exclusion, {fencing}},
    // The right function, in a transaction whose snapshot is from before the lock.
    {"stale_snapshot", right_postgresql_function, "REPEATABLE READ", exclusion, {fencing}},
};

void PrintTo(const Statements& statements, std::ostream* out) { *out << statements.name; }

class PostgresqlMutants : public testing::TestWithParam<Statements> {};

TEST_P(PostgresqlMutants, AreFlagged) {
  if (!test::have_server("postgresql")) return;
  static test::PrivateServer server("postgresql");
  const Statements& statements = GetParam();
  make_postgresql_store(server.admin_url(), statements.name, statements.function);
  Scene scene;
  scene.connect = [&] {
    return open_postgresql_store(server.admin_url(), statements.name, statements.isolation);
  };
  scene.load = statements.load;
  scene.rules.least = {.grants = statements.grants, .overlaps = 40, .busy = 20, .faults = 0};
  if (statements.meant) {
    expect_flagged(scene, *statements.meant, statements.also);
  } else {
    expect_sound(scene);
  }
}

INSTANTIATE_TEST_SUITE_P(Statements, PostgresqlMutants, testing::ValuesIn(all_statements),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace lockset::mutants
