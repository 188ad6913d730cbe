#include "backends/redis/store.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/redis/doctor.h"
#include "backends/redis/record.h"
#include "backends/redis/rights.h"
#include "backends/server/retry.h"

namespace lockset::redis {
namespace {

using std::chrono::microseconds;

constexpr const Script* all_scripts[script_count] = {
    &scripts::acquire,    &scripts::find,         &scripts::release, &scripts::renew,
    &scripts::reregister, &scripts::resolve,      &scripts::expired, &scripts::remove,
    &scripts::end_wait,   &scripts::load,         &scripts::change,  &scripts::reclaim,
    &scripts::inspect,    &scripts::inspect_name, &scripts::restore, &scripts::init,
    &scripts::observe,    &scripts::unobserved,   &scripts::forget};

std::string text(std::int64_t number) { return std::to_string(number); }

// The fields and values of Keys::config and Keys::epochs.
std::vector<std::string> config_fields(const SpaceConfig& config) {
  std::vector<std::string> fields;
  const auto add = [&](const char* kind, const std::string& of, std::int64_t value) {
    fields.push_back(kind + of);
    fields.push_back(text(value));
  };
  for (const auto& [name, entry] : config.permits) {
    if (entry.read) add("r:", name, *entry.read);
    if (entry.write) add("w:", name, *entry.write);
  }
  if (config.max_overtakes != default_max_overtakes) add("overtakes", "", config.max_overtakes);
  for (const auto& [app, epoch] : config.epochs) add("e:", app, epoch);
  return fields;
}

}  // namespace

Store::Store(Options options)
    : options_(std::move(options)),
      keys_(options_.space),
      sentinels_(options_.sentinels.empty() ? nullptr : std::make_unique<Sentinels>(options_)),
      lanes_(
          options_.pool, [this] { return open_one(); }, options_.shown()) {
  const Duration grace = sentinels_ ? sentinel_trust : Duration::zero();
  for (const Script* const script : all_scripts) texts_[script->number] = script->text(grace);
}

Result<std::unique_ptr<Connection>> connect_safely(const Options& options,
                                                   server::SocketWatchdog& watchdog, TimePoint by,
                                                   Errc no_primary, Sentinels* sentinels) {
  Options there = options;
  std::unique_ptr<Sentinels> own;
  if (!options.sentinels.empty()) {
    if (sentinels == nullptr) {
      own = std::make_unique<Sentinels>(options);
      sentinels = own.get();
    }
    const Result<Place> primary = sentinels->primary(by);
    if (!primary) return primary.error();
    there.server = *primary;
    no_primary = Errc::unavailable;
  }
  Result<std::unique_ptr<Connection>> connection = Connection::connect(there, watchdog, by);
  if (!connection && sentinels != nullptr) sentinels->doubt();
  if (!connection) return connection;
  if (Status status = refuse_unsafe((*connection)->info(), there, no_primary); !status) {
    if (sentinels != nullptr) sentinels->doubt();
    return status.error();
  }
  return connection;
}

Result<std::unique_ptr<Connection>> Store::connect(TimePoint by) {
  return connect_safely(options_, watchdog_, by, no_primary(), sentinels_.get());
}

Result<std::unique_ptr<Connection>> Store::open_one() {
  const TimePoint by = BootClock::now() + options_.connect_timeout;
  return connect(std::min(by, open_by_.load()));
}

// A server that was replaced may go on granting to those that still reach it. So every call needs
// the word of a majority, which is at most sentinel_trust old before the call begins (ADR 0078).
Result<Store::Lanes::Lease> Store::take(Lane lane, TimePoint by) {
  for (;;) {
    Result<Lanes::Lease> lease = lanes_.take(lane, by);
    if (!lease || !sentinels_) return lease;
    const Result<Place> primary = sentinels_->primary(by);
    if (!primary) return primary.error();
    if (*primary == (*lease)->server()) return lease;
    lease->broken();
  }
}

bool Store::is_replaced(const Connection& connection) const {
  return sentinels_ && sentinels_->last() != connection.server();
}

std::string Store::server() const {
  if (!sentinels_) return {};
  Options there = options_;
  there.server = sentinels_->last().value_or(there.server);
  return there.shown();
}

Error Store::nonsense(std::string_view where) const {
  return Error{Errc::internal,
               options_.shown() + ": an answer to " + std::string(where) + " that makes no sense"};
}

Error Store::takes_an_operator() const {
  const std::string user = options_.user.empty() ? "default" : options_.user;
  return lockset::takes_an_operator(options_.shown(), "user '" + user + "'", user);
}

Error Store::other_schema(std::string_view schema) const {
  const bool newer = schema.size() > schema_version.size() || schema > schema_version;
  return Error{Errc::misconfigured,
               options_.shown() + ": the space has version " + std::string(schema) +
                   " of the schema, and this program serves version " +
                   std::string(schema_version) +
                   (newer ? ": use a newer program, or another space"
                          : ": use the program that made it, or another space")};
}

struct Store::Words {
  std::string count, version, stamp, process;
  Command command;
};

void Store::put(Words& words, const Connection& connection, const Script& script, const Call& call,
                const Marks& marks) const {
  words.count = text(static_cast<std::int64_t>(common_keys + call.keys.size() + 1));
  words.version = text(marks.version);
  words.stamp = text(marks.stamp);
  words.process = connection.run_id() + " " + text(marks.born) + " " + words.version;
  Command& command = words.command;
  command.reserve(4 + common_keys + common_arguments + call.keys.size() + call.arguments.size());
  for (const std::string_view word :
       {std::string_view("EVALSHA"), std::string_view(hashes_[script.number]),
        std::string_view(words.count), std::string_view(keys_.main), std::string_view(keys_.leases),
        std::string_view(keys_.waiters)}) {
    command.push_back(word);
  }
  for (const std::string& key : call.keys) command.push_back(key);
  command.push_back(keys_.here);
  for (const std::string* const word : {&words.process, &words.version, &words.stamp}) {
    command.push_back(*word);
  }
  for (const std::string& word : call.arguments) command.push_back(word);
}

Result<Reply> Store::run_once(Connection& connection, const Script& script, const Call& call,
                              const Marks& marks, TimePoint by) {
  Words words;
  put(words, connection, script, call, marks);
  Command& command = words.command;
  Result<Reply> reply = connection.call(command, script.sent, by);
  if (reply && reply->is_error() && is_noscript(reply->text())) {
    command[0] = "EVAL";
    command[1] = texts_[script.number];
    reply = connection.call(command, script.sent, by);
  }
  // The usual answers of the usual calls are not arrays, which would cost the server more.
  if (reply && !reply->is_error() &&
      (reply->is_nil() || (reply->is_array() && reply->size() == 0))) {
    return nonsense(script.name);
  }
  return reply;
}

Status Store::restore(Connection& connection, TimePoint by) {
  const Seen seen = memory_.get();
  if (!seen.config) {
    return Error{Errc::misconfigured,
                 options_.shown() +
                     ": there is no lock space of this name: run lockset init (if there was "
                     "one, the server has lost its state, and what it held with it)"};
  }
  Call call;
  call.keys = {keys_.epochs, keys_.kept};
  call.arguments = {text(std::chrono::duration_cast<microseconds>(seen.config->max_lease).count()),
                    text(seen.config->migration_phase), text(seen.config->stamp_base.value),
                    text(seen.longest_us)};
  for (std::string& field : config_fields(*seen.config)) {
    call.arguments.push_back(std::move(field));
  }
  const Result<Reply> reply = run_once(connection, scripts::restore, call,
                                       Marks{seen.version(), seen.stamp, seen.born}, by);
  if (!reply) return reply.error();
  if (reply->is_error()) {
    return refused(reply->text(), options_.shown(), Sent::reading, no_primary());
  }
  if ((*reply)[0].text() == "V") return other_schema((*reply)[1].text());
  memory_.lives_in((*reply)[1].number());
  return {};
}

Result<Reply> Store::run(const Script& script, const Call& call, TimePoint by, Lane lane) {
  return server::call_with_retries(
      script.sent, by, [&] { return take(lane, by); },
      [&](Lanes::Lease& lease, server::Attempt& attempt) -> Result<Reply> {
        for (int restorations = 0;; ++restorations) {
          Marks marks = memory_.marks();
          if (call.marks) {
            marks.version = call.marks->version;
            marks.stamp = call.marks->stamp;
          }
          Result<Reply> reply = run_once(*lease, script, call, marks, by);
          if (!reply) {
            attempt = server::Attempt::broken;
            if (sentinels_) sentinels_->doubt();
            return reply;
          }
          if (reply->is_error()) {
            const Error error = refused(reply->text(), options_.shown(), script.sent, no_primary());
            if (asks_for_another_server(reply->text())) {
              lease.broken();
              if (sentinels_) sentinels_->doubt();
            }
            return error;
          }
          const Reply kind = (*reply)[0];
          if (kind.text() == "V") return other_schema((*reply)[1].text());
          if (kind.text() != "L") return reply;
          if (restorations == 5) return nonsense("a restoration");
          if (Status status = restore(*lease, by); !status) {
            lease.broken();
            return status.error();
          }
        }
      });
}

Result<std::vector<Reply>> Store::run_all(const Script& script, const std::vector<Call>& calls,
                                          TimePoint by) {
  Result<Lanes::Lease> lease = take(Lane::common, by);
  if (!lease) return lease.error();
  const Marks marks = memory_.marks();
  std::vector<Words> words(calls.size());  // the commands refer into it
  std::vector<Command> commands;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    put(words[i], **lease, script, calls[i], marks);
    commands.push_back(words[i].command);
  }
  Result<std::vector<Reply>> replies = (*lease)->call_all(commands, script.sent, by);
  if (!replies) {
    lease->broken();
    return replies.error();
  }
  for (Reply& reply : *replies) {
    const std::string_view kind = reply[0].text();
    if (reply.is_error() || kind == "V" || kind == "L") reply = Reply();
  }
  return replies;
}

SpaceConfig Store::config_from(const Reply& reply) {
  SpaceConfig config;
  config.version = reply[1].number();
  config.max_lease = microseconds(reply[2].number());
  config.migration_phase = reply[3].number();
  config.stamp_base = Stamp{reply[4].number()};
  const Reply fields = reply[8];
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    const std::string_view field = fields[i].text();
    const std::int64_t value = fields[i + 1].number();
    if (field == "max_lease") config.max_lease = microseconds(value);
    if (field == "overtakes") config.max_overtakes = static_cast<std::uint32_t>(value);
    if (field == "phase") config.migration_phase = value;
    if (field == "base") config.stamp_base = Stamp{value};
    if (field.size() < 2) continue;
    const std::string of(field.substr(2));
    if (field.starts_with("r:")) config.permits[of].read = static_cast<std::uint32_t>(value);
    if (field.starts_with("w:")) config.permits[of].write = static_cast<std::uint32_t>(value);
  }
  const Reply epochs = reply[10];
  for (std::size_t i = 0; i + 1 < epochs.size(); i += 2) {
    const std::string_view field = epochs[i].text();
    if (field.starts_with("e:"))
      config.epochs[std::string(field.substr(2))] = epochs[i + 1].number();
  }
  memory_.saw(config, reply[5].number(), Stamp{reply[6].number()}, reply[9].number());
  return config;
}

Result<SpaceConfig> Store::load_config(TimePoint by) {
  Call call;
  call.keys = {keys_.epochs, keys_.kept};
  const Result<Reply> reply = run(scripts::load, call, by);
  if (!reply) return reply.error();
  if ((*reply)[0].text() != "C") return nonsense(scripts::load.name);
  return config_from(*reply);
}

Status Store::check(TimePoint by) {
  open_by_ = by;
  {
    Result<Lanes::Lease> lease = take(Lane::common, by);
    if (!lease) return lease.error();
    if (Status status = check_rights(**lease, options_, by); !status) return status.error();
    for (std::size_t i = 0; i < script_count; ++i) {
      const Result<Reply> hash = (*lease)->ask({"SCRIPT", "LOAD", texts_[i]}, Sent::reading, by);
      if (!hash) {
        lease->broken();
        return hash.error();
      }
      hashes_[i] = hash->text();
    }
  }
  const Result<SpaceConfig> config = load_config(by);
  if (!config) return config.error();
  // Renewals also have a connection from the start, so that neither lane is left without one if the
  // server accepts no more.
  if (const Result<Lanes::Lease> lease = lanes_.renewal.take(by); !lease) return lease.error();
  open_by_ = TimePoint::max();
  open_ = true;
  return {};
}

}  // namespace lockset::redis
