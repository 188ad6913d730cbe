// What the backend is made of: its statements, and what it can do.
#include "backends/postgresql/backend.h"

#include "backends/answers.h"

namespace lockset::postgresql {
namespace {

std::string acquire_call(const std::string& more = "") {
  return "@acquire_v2($1::pg_catalog.text[],$2::pg_catalog.\"char\"[],$3::pg_catalog.int4[],$4::"
         "pg_catalog.int8,$5::pg_catalog.int8,$6::pg_catalog.int8,"
         "$7::pg_catalog.uuid,$8::pg_catalog.text,$9::pg_catalog.text,$10::pg_catalog.int8,$11::"
         "pg_catalog.text,$12::pg_catalog.int8,$13::pg_catalog.bool,$14::pg_catalog.text,"
         "$15::pg_catalog.text,$16::pg_catalog.int8" +
         more + ")";
}

}  // namespace

PostgresqlBackend::PostgresqlBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)),
      listener_(listening(*store_)),
      acquire_(store_->statement("acquire", acquire_call(), Sent::change)),
      // A space made by an older program gets the rest with `lockset init`, as the error then says.
      // The same goes for change_config_at, for observing and for converting.
      acquire_unchanged_(store_->statement("acquire_unchanged",
                                           acquire_call(",$17::pg_catalog.int8[]"), Sent::change)),
      convert_(store_->statement(
          "convert",
          "@convert_v2($1::pg_catalog.text[],$2::pg_catalog.\"char\"[],$3::pg_catalog.int4[],"
          "$4::pg_catalog.int8,$5::pg_catalog.int8,$6::pg_catalog.int8,$7::pg_catalog.uuid,"
          "$8::pg_catalog.text,$9::pg_catalog.text,$10::pg_catalog.int8,$11::pg_catalog.text,"
          "$12::pg_catalog.int8,$13::pg_catalog.int8)",
          Sent::change)),
      // It does no harm, however often it is applied.
      know_(store_->statement("know", "@know_v2($1::pg_catalog.text[])", Sent::reading)),
      resolve_(store_->statement("resolve", "@resolve_v2($1::pg_catalog.uuid,$2::pg_catalog.text)",
                                 Sent::reading)),
      renew_(store_->statement(
          "renew",
          "* FROM @renew_v2($1::pg_catalog.text,$2::pg_catalog.int8[],$3::pg_catalog.int8[])",
          Sent::change)),
      reregister_(store_->statement(
          "reregister",
          "@reregister_v2($1::pg_catalog.text[],$2::pg_catalog.\"char\"[],$3::pg_catalog.int4[],"
          "$4::pg_catalog.int8,$5::pg_catalog.int8,$6::pg_catalog.int8,$7::pg_catalog.uuid,"
          "$8::pg_catalog.text,$9::pg_catalog.text,$10::pg_catalog.int8,$11::pg_catalog.text,"
          "$12::pg_catalog.int8)",
          Sent::change)),
      release_(store_->statement("release",
                                 "@release_v2($1::pg_catalog.int8,$2::pg_catalog.text,$3::pg_"
                                 "catalog.bool,$4::pg_catalog.bool)",
                                 Sent::change)),
      release_all_(store_->statement("release_all",
                                     "s, @release_v2(s,$2::pg_catalog.text,$3::pg_catalog.bool,"
                                     "$4::pg_catalog.bool) FROM "
                                     "pg_catalog.unnest($1::pg_catalog.int8[]) s",
                                     Sent::change)),
      break_(store_->statement("break", "@break_v2($1::pg_catalog.int8)", Sent::change,
                               Role::operators)),
      end_wait_(store_->statement(
          "end_wait", "@end_wait_v2($1::pg_catalog.int8,$2::pg_catalog.bool)", Sent::change)),
      inspect_(
          store_->statement("inspect",
                            "i.*, q.q FROM @quarantine_v2() q(q) LEFT JOIN "
                            "@inspect_v2($1::pg_catalog.\"char\",$2::pg_catalog.text) i ON true",
                            Sent::reading)),
      load_(store_->statement("load_config", "* FROM @load_config_v2()", Sent::reading)),
      change_(store_->statement("change_config",
                                "* FROM "
                                "@change_config_v2($1::pg_catalog.\"char\",$2::pg_catalog.text,$3::"
                                "pg_catalog.\"char\",$4::pg_catalog.int8)",
                                Sent::change, Role::operators)),
      change_at_(
          store_->statement("change_config_at",
                            "* FROM "
                            "@change_config_at_v2($1::pg_catalog.int8,'m'::pg_catalog.\"char\",''::"
                            "pg_catalog.text,''::pg_catalog.\"char\",$2::pg_catalog.int8)",
                            Sent::change, Role::operators)),
      reclaim_(store_->statement("reclaim", "@reclaim_v2($1::pg_catalog.text,$2::pg_catalog.int8)",
                                 Sent::change)),
      sweep_(store_->statement("sweep", "* FROM @sweep_v2($1::pg_catalog.int8,$2::pg_catalog.text)",
                               Sent::change)),
      // What it makes does no harm, however often it is applied.
      observe_(store_->statement("observe",
                                 "* FROM "
                                 "@observe_v2($1::pg_catalog.text[],$2::pg_catalog.int8,$3::pg_"
                                 "catalog.int8)",
                                 Sent::reading)),
      sweep_traces_(store_->statement("sweep_traces", "@sweep_traces_v2($1::pg_catalog.int8)",
                                      Sent::change)) {}

Traits PostgresqlBackend::traits() const {
  Traits traits;
  traits.push_wakeup = store_->options().listen;
  traits.queued_wakeup = store_->options().listen;
  // Only waiters that can be called stand in the line.
  traits.bounded_overtaking = store_->options().listen;
  traits.lists_waiters = store_->options().listen;
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  traits.observing = true;
  traits.converting = true;
  return traits;
}

Error PostgresqlBackend::nonsense(const std::string& where) const {
  return Error{Errc::internal, "PostgreSQL (" + store_->options().shown + "): an answer to " +
                                   where + " that makes no sense"};
}

Error PostgresqlBackend::quarantine(Duration left, std::string_view what) const {
  return in_quarantine("PostgreSQL (" + store_->options().shown + ")", {}, what, left);
}

}  // namespace lockset::postgresql
