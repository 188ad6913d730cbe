#include "tests/mutants/postgresql_store.h"

#include <pqxx/pqxx>

#include "backends/postgresql/pqxx_versions.h"
#include "tests/mutants/small_backend.h"

namespace lockset::mutants {

const char* const right_postgresql_function = R"(
CREATE FUNCTION take(names text[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE drawn bigint; one text;
BEGIN
  FOREACH one IN ARRAY names LOOP
    PERFORM pg_advisory_xact_lock(hashtext(one));
  END LOOP;
  IF EXISTS (SELECT FROM holds WHERE name = ANY (names)) THEN RETURN 0; END IF;
  PERFORM pg_sleep(0.001);
  drawn := nextval('stamps');
  INSERT INTO holds SELECT unnest(names), drawn;
  RETURN drawn;
END $$;
)";

namespace {

constexpr const char* tables = R"(
CREATE TABLE holds(name text, stamp bigint, PRIMARY KEY (name, stamp));
CREATE SEQUENCE stamps;
)";

class Postgresql final : public SmallBackend {
 public:
  Postgresql(const std::string& url, const std::string& schema, std::string isolation,
             const std::string& settings)
      : isolation_(std::move(isolation)), connection_(url), quiet_(connection_) {
    run("SET search_path TO " + schema + ";" + settings);
  }

 private:
  pqxx::result run(const std::string& sql) {
    pqxx::nontransaction work(connection_);
    return work.exec(sql);
  }
  std::string array(const Names& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "'" : ",'") + name + "'";
    return "ARRAY[" + text + "]";
  }
  std::int64_t take(const Names& names, Duration) override {
    run("BEGIN ISOLATION LEVEL " + isolation_);
    const pqxx::result answer = run("SELECT take(" + array(names) + ")");
    run("COMMIT");
    return answer[0][0].as<std::int64_t>();
  }
  bool give_back(const Names&, std::int64_t stamp) override {
    return run("DELETE FROM holds WHERE stamp = " + std::to_string(stamp)).affected_rows() > 0;
  }

  const std::string isolation_;
  pqxx::connection connection_;
  postgresql::Quiet quiet_;
};

}  // namespace

void make_postgresql_store(const std::string& url, const std::string& name,
                           const std::string& function) {
  tell_postgresql(
      url, {"CREATE SCHEMA " + name + "; SET search_path TO " + name + ";" + tables + function});
}

std::shared_ptr<Backend> open_postgresql_store(const std::string& url, const std::string& name,
                                               const std::string& isolation,
                                               const std::string& settings) {
  return std::make_shared<Postgresql>(url, name, isolation, settings);
}

std::string tell_postgresql(const std::string& url, const std::vector<std::string>& statements) {
  pqxx::connection connection(url);
  pqxx::result answer;
  for (const std::string& sql : statements) {
    pqxx::nontransaction work(connection);
    answer = work.exec(sql);
  }
  return answer.empty() ? std::string() : answer[0][0].as<std::string>("");
}

}  // namespace lockset::mutants
