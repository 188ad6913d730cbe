#include "backends/redis/scripts.h"

#include "backends/redis/statements.h"

namespace lockset::redis {
namespace {

// While `calm` is set in the space, every check of beginning.lua would find nothing. Its value is
// ARGV 1 of the client that wrote it, under this schema, with no quarantine (ADR 0019). A step that
// changes the schema, the process, the version, the base of stamps or the quarantine also removes
// it. The last stamp is checked as well, and whether the state was loaded. It would cost too much
// to ask in each call whether the server was a replica meanwhile. So `seen` says when that was
// asked last, and it is asked again ten milliseconds later: another primary grants only after a
// quarantine of at least a second.
constexpr std::string_view disturb = "call('HDEL', M, 'calm')";

// A server that has reached maxmemory refuses a script if its first change could take memory, and
// accepts all changes after a first one. This first change takes no memory and changes nothing:
// operations that keep existing locks must go on.
constexpr std::string_view may_grow = "call('HDEL', M, '')";

// A script has its parts on lines of their own.
std::string lines(std::string_view statement) { return "\n" + std::string(statement) + "\n"; }

void replace(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

std::string Script::text(Duration grace) const {
  using namespace statements;
  const bool bare = number == scripts::init.number || number == scripts::restore.number;
  std::string text = bare ? std::string() : lines(opening_lua);
  if (!early.empty()) text += lines(early);
  if (!bare) text += lines(beginning_lua);
  replace(text, "@more@", more);
  if (ends) text += lines(end_of_hold_lua);
  if (wakes) text += lines(wake_lua);
  text += lines(body);
  replace(text, "@ending@", lines(end_of_hold_lua));
  replace(text, "@past@", lines(past_lost_stamps_lua));
  replace(text, "@state@", lines(state_lua));
  replace(text, "@refusing@", lines(refusing_lua));
  replace(text, "@adopting@", lines(adopting_lua));
  replace(text, "@trace@", lines(trace_lua));
  replace(text, "@replacing@", lines(replacing_lua));
  replace(text, "@wake@", lines(wake_lua));
  replace(text, "@wake_all@", lines(wake_all_lua));
  replace(text, "@answer_config@", lines(answer_config_lua));
  replace(text, "@may_grow@", may_grow);
  replace(text, "@disturb@", disturb);
  replace(text, "@grace@", std::to_string(grace / std::chrono::microseconds(1)));
  replace(text, "@schema@", schema_version);
  return text;
}

namespace scripts {

const Script acquire{.number = 0,
                     .name = "an acquire",
                     .more = ", 'base', 'lost', 'calm', 'seen'",
                     .body = statements::acquire_lua,
                     .ends = true,
                     .wakes = true,
                     .early = statements::acquire_early_lua};
const Script find{.number = 1,
                  .name = "a look-up of stamps",
                  .body = statements::find_lua,
                  .sent = Sent::reading};
const Script release{.number = 2,
                     .name = "a release",
                     .more = ", 'h:' .. stamp, 'max_lease', 'longest'",
                     .body = statements::release_lua,
                     .early = statements::release_early_lua};
const Script renew{.number = 3,
                   .name = "a renewal",
                   .more = ", 'max_lease'",
                   .body = statements::renew_lua,
                   .ends = true};
const Script reregister{.number = 4,
                        .name = "a re-registration",
                        .more = ", 'max_lease', 'longest'",
                        .body = statements::reregister_lua,
                        .ends = true};
const Script resolve{.number = 5,
                     .name = "a look-up",
                     .more = ", 't:' .. ARGV[4]",
                     .body = statements::resolve_lua,
                     .sent = Sent::reading};
const Script expired{.number = 6,
                     .name = "a look for what has expired",
                     .body = statements::expired_lua,
                     .sent = Sent::reading};
const Script remove{
    .number = 7, .name = "a sweep", .body = statements::remove_lua, .ends = true, .wakes = true};
const Script end_wait{
    .number = 8, .name = "a goodbye", .body = statements::end_wait_lua, .wakes = true};
const Script load{
    .number = 9, .name = "the configuration", .body = statements::load_lua, .sent = Sent::reading};
const Script change{
    .number = 10, .name = "a change of the configuration", .body = statements::change_lua};
const Script reclaim{.number = 11, .name = "a reclaim", .body = statements::reclaim_lua};
const Script inspect{
    .number = 12, .name = "an inspection", .body = statements::inspect_lua, .sent = Sent::reading};
const Script inspect_name{.number = 13,
                          .name = "an inspection of a name",
                          .body = statements::inspect_name_lua,
                          .sent = Sent::reading};
const Script restore{
    .number = 14, .name = "a restoration", .body = statements::restore_lua, .sent = Sent::reading};
const Script init{.number = 15, .name = "an initialisation", .body = statements::init_lua};
// What it changes may be changed twice.
const Script observe{.number = 16,
                     .name = "an observation",
                     .more = ", 'base', 'lost'",
                     .body = statements::observe_lua,
                     .ends = true,
                     .wakes = true,
                     .sent = Sent::reading};
const Script unobserved{.number = 17,
                        .name = "a look for traces",
                        .body = statements::unobserved_lua,
                        .sent = Sent::reading};
const Script forget{.number = 18, .name = "a sweep of traces", .body = statements::forget_lua};

}  // namespace scripts

}  // namespace lockset::redis
