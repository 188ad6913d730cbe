#include "backends/redis/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "backends/findings.h"
#include "backends/redis/keys.h"
#include "backends/redis/rights.h"
#include "backends/redis/scripts.h"
#include "backends/redis/sentinels.h"
#include "backends/server/lanes.h"
#include "backends/server/server_clock.h"

namespace lockset::redis {
namespace {

using namespace findings;

long number(const std::string& text) { return std::strtol(text.c_str(), nullptr, 10); }

constexpr const char* eviction_remedy =
    "set maxmemory-policy to noeviction: with any other the server may throw locks away that "
    "are held";

// All fields of INFO's text.
class Info {
 public:
  explicit Info(std::string_view text) : text_(text) {}
  [[nodiscard]] std::string get(std::string_view name) const { return info_field(text_, name); }
  [[nodiscard]] bool too_old() const { return number(get("redis_version")) < 5; }
  [[nodiscard]] bool evicts() const {
    const std::string policy = get("maxmemory_policy");
    return !policy.empty() && policy != "noeviction";
  }
  [[nodiscard]] bool is_sentinel() const { return mode_of(text_) == "sentinel"; }
  [[nodiscard]] bool limited() const { return number(get("maxmemory")) > 0; }

 private:
  std::string_view text_;
};

class Examination {
 public:
  Examination(Connection& connection, const Options& options, TimePoint by)
      : connection_(connection), options_(options), by_(by), info_(connection.info()) {}

  // `sentinels`: null without.
  Result<std::vector<Finding>> run(Sentinels* sentinels) {
    server();
    if (sentinels != nullptr) examine_sentinels(*sentinels);
    examine_encryption();
    eviction();
    persistence();
    replicas();
    capacity();
    if (Status fit = check_rights(connection_, options_, by_); !fit) {
      add(unsafe("rights", fit.error().message));
      return std::move(findings_);  // it could not read the space either
    }
    if (Status status = examine_rights(); !status) return status.error();
    if (Status status = clock(); !status) return status.error();
    if (Status status = space(); !status) return status.error();
    wake_ups();  // last: the connection only listens from then on
    return std::move(findings_);
  }

 private:
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  // A setting; "" if this user may not see it.
  std::string setting(const char* name) {
    const Result<Reply> reply = connection_.call({"CONFIG", "GET", name}, Sent::reading, by_);
    if (!reply || reply->size() != 2) return {};
    return std::string((*reply)[1].text());
  }

  void server() {
    add(good("version", "Redis " + info_.get("redis_version")));
    if (info_.get("cluster_enabled") == "1" && !options_.cluster) {
      add(warning(
          "cluster_enabled",
          "a node of a cluster: if another one serves the lock space some day, this address "
          "is wrong; write redis+cluster:// with all nodes"));
    }
  }

  // rediss: always verifies the certificate and its name.
  void examine_encryption() {
    add(encryption(!options_.tls && !options_.socket.empty(), options_.tls,
                   std::string("none: ") +
                       (has_tls() ? "use rediss: and ssl_ca" : "put a tunnel before the server") +
                       ", unless the network is trusted"));
  }

  void eviction() {
    const std::string policy = info_.get("maxmemory_policy");
    add(good_if(
        !info_.evicts(), info_.limited() ? Level::unsafe : Level::warning, "maxmemory_policy",
        policy + ": nothing is thrown away",
        policy + (info_.limited() ? "" : " (no maxmemory is set yet)") + ": " + eviction_remedy));
    if (number(info_.get("evicted_keys")) > 0) {
      add(warning("evicted_keys", info_.get("evicted_keys") +
                                      " keys were thrown away since the server started: locks may "
                                      "have been among them"));
    }
  }

  void persistence() {
    const bool logs = info_.get("aof_enabled") == "1";
    const std::string sync = setting("appendfsync");
    const std::string consequence =
        ": after a restart holds may be gone; nothing is granted then for the longest lease";
    if (!logs) {
      const std::string save = setting("save");
      add(warning("appendonly", std::string("no") + (save.empty() ? "" : ", save " + save) +
                                    consequence +
                                    "; set appendonly yes and appendfsync always to keep them"));
    } else if (sync.empty()) {
      add(unreadable(Level::warning, "appendfsync",
                     "this user may not see it (CONFIG GET); it should be always"));
    } else {
      add(good_if(sync == "always", Level::warning, "appendfsync",
                  "always: what was answered is on the disk",
                  sync + ": a crash may take the last grants with it" + consequence +
                      "; set appendfsync always"));
    }
  }

  // Whether a failover is possible, and every client would notice it.
  void examine_sentinels(Sentinels& sentinels) {
    const Place& primary = connection_.server();
    const std::string them = options_.cluster ? "nodes" : "sentinels";
    const std::string one = options_.cluster ? "node" : "sentinel";
    const std::string name = options_.cluster ? "" : in_quotes(options_.primary) + " ";
    add(good("primary", primary.shown() + ", " + name + "by the " + them));
    const std::vector<Result<SentinelAnswer>> answers = sentinels.ask_all(by_);
    std::size_t good_ones = 0;
    std::size_t known = answers.size();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Result<SentinelAnswer>& answer = answers[i];
      if (!answer) {
        add(warning(one, answer.error().message));
      } else if (answer->primary != primary) {
        add(warning(one, one + " " + options_.sentinels[i].shown() + " names " +
                             answer->primary.shown() + ": is a failover under way?"));
      } else {
        ++good_ones;
        known = std::max(known, answer->sentinels);
        quorum_ = std::max(quorum_, answer->quorum);
        replicas_ = std::max(replicas_, answer->replicas);
      }
    }
    const std::size_t majority = known / 2 + 1;
    add(good_if(
        good_ones == known && known >= 3, Level::warning, them,
        "all " + std::to_string(known) + " name it" +
            (options_.cluster ? "" : ", and " + std::to_string(quorum_) + " begin a failover"),
        std::to_string(good_ones) + " of " + std::to_string(known) + " name it, and " +
            std::to_string(majority) +
            " have to agree for anything to be granted: run three or five, and name all "
            "of them in the address"));
    if (replicas_ == 0) {
      add(warning("replicas", "none: nothing takes this server's place"));
    }
  }

  void replicas() {
    // What a cut-off primary grants is bounded by its clients' sentinels.
    if (!options_.sentinels.empty()) return;
    const long count = number(info_.get("connected_slaves"));
    const long least = number(setting("min-replicas-to-write"));
    if (count > 0 && least < 1) {
      add(warning("min-replicas-to-write",
                  "0, with " + std::to_string(count) +
                      " replicas: a primary that is cut off goes on granting beside the one "
                      "promoted in its place; set it to 1, and min-replicas-max-lag below half the "
                      "shortest lease"));
    }
  }

  void capacity() {
    const long most = number(info_.get("maxclients"));
    const long wanted = static_cast<long>(server::most_connections(options_.pool, true));
    if (most > 0) {
      add(room("maxclients", number(info_.get("connected_clients")), most, wanted));
    }
  }

  Status examine_rights() {
    const Result<bool> may = is_operator(connection_, options_, by_);
    if (!may) return may.error();
    const std::string user = in_quotes(options_.user.empty() ? "default" : options_.user);
    add(rights(user, *may ? Role::operators : Role::programs));
    return {};
  }

  Status clock() {
    const std::int64_t asked = server::calendar_us();
    const Result<Reply> time = connection_.ask({"TIME"}, Sent::reading, by_);
    if (!time) return time.error();
    findings_.push_back(server::examine_clock((*time)[0].number() * 1'000'000 + (*time)[1].number(),
                                              asked, server::calendar_us()));
    return {};
  }

  Status space() {
    const Keys keys(options_.space);
    const Result<Reply> reply =
        connection_.ask({"HMGET", keys.main, "schema", "quarantine", "run"}, Sent::reading, by_);
    if (!reply) return reply.error();
    const std::string schema((*reply)[0].text());
    if (schema.empty()) {
      add(no_space(Level::unsafe,
                   "there is no lock space " + options_.space +
                       ": run lockset init. If there was one, the server has lost it; init "
                       "declares it empty, so wait until the longest lease of before has ended"));
    } else {
      add(good_if(schema == schema_version, Level::unsafe, "space",
                  options_.space + ", version " + schema + " of the schema",
                  "version " + schema + " of the schema; this program serves version " +
                      std::string(schema_version)));
    }
    const std::int64_t left = (*reply)[1].number() - server::calendar_us();
    if (left > 0) {
      add(warning("quarantine", "the state was lost or may have been: no new grants for another " +
                                    format_duration(std::chrono::seconds(left / 1'000'000 + 1))));
    } else if (!schema.empty() && (*reply)[2].text() != connection_.run_id()) {
      add(warning("quarantine",
                  "the server is another process than the one that granted last: the next call "
                  "begins a quarantine of the longest lease"));
    }
    return {};
  }

  void wake_ups() {
    const std::string channel = Keys(options_.space).channel("doctor");
    const Result<Reply> heard = connection_.call({"SUBSCRIBE", channel}, Sent::reading, by_);
    if (heard && !heard->is_error()) return;
    add(warning("channels", "this user may not subscribe to " + Keys(options_.space).channel("*") +
                                ": waiters poll instead of being woken; grant it with &" +
                                Keys(options_.space).channel("*")));
  }

  Connection& connection_;
  const Options& options_;
  const TimePoint by_;
  const Info info_;
  std::size_t quorum_ = 0;
  std::size_t replicas_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

Status refuse_unsafe(std::string_view text, const Options& options, Errc no_primary) {
  const Info info(text);
  const auto misconfigured = [&](const std::string& why) {
    return Error{Errc::misconfigured, options.shown() + ": " + why};
  };
  if (info.too_old()) {
    return misconfigured("Redis " + info.get("redis_version") +
                         " is older than what Lockset works with: Redis 5");
  }
  if (info.get("loading") == "1") {
    return Error{Errc::unavailable, options.shown() + ": the server is loading its data"};
  }
  if (info.is_sentinel()) {
    return misconfigured("this is a sentinel, not a server with data: write redis+sentinel://" +
                         options.server.shown() + "/NAME");
  }
  if (info.get("role") == "slave") {
    const bool named = options.sentinels.empty();
    return Error{no_primary, options.shown() + ": the server is a replica of " +
                                 info.get("master_host") + ":" + info.get("master_port") + ": " +
                                 (named ? "name the primary in the address"
                                        : "the sentinels are late, or a failover is under way")};
  }
  if (info.evicts() && info.limited()) {
    return misconfigured("its maxmemory-policy is " + info.get("maxmemory_policy") + ": " +
                         eviction_remedy);
  }
  return {};
}

Result<std::vector<Finding>> examine(const Options& options, TimePoint by) {
  std::unique_ptr<Sentinels> sentinels;
  Options there = options;
  if (!options.sentinels.empty()) {
    sentinels = std::make_unique<Sentinels>(options);
    const Result<Place> primary = sentinels->primary(by);
    if (!primary) return primary.error();
    there.server = *primary;
  }
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(there, watchdog, by);
  if (!connection) return connection.error();
  // If open() would refuse the server for another reason than its eviction, nothing more is asked.
  if (Info info((*connection)->info());
      info.too_old() || info.get("role") == "slave" || info.is_sentinel()) {
    const Status status = refuse_unsafe((*connection)->info(), there);
    return std::vector<Finding>{
        unsafe(info.too_old() ? "version" : "role", status.error().message)};
  }
  return Examination(**connection, there, by).run(sentinels.get());
}

}  // namespace lockset::redis
