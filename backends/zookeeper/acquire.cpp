#include "backends/zookeeper/acquire.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/conversion.h"
#include "backends/line_times.h"
#include "backends/server/retry.h"
#include "backends/zookeeper/admission.h"
#include "backends/zookeeper/traces.h"

namespace lockset::zookeeper {
namespace {

// A grant counts for this many of the waiters that it overtakes, the longest waiting: more of them
// might not fit into a request.
constexpr std::size_t most_overtaken = 1000;

// As many of each line are asked at first. Of many waiters, mostly one of the longest waiting keeps
// the name, so that nobody need ask the others.
constexpr std::size_t first_asked = 4;

// So often an attempt begins again because somebody left the line. (A part of who left may stay for
// a while.)
constexpr int most_left = 3;

// A name's data: whether somebody may be in line for it.
std::string mark(bool marked) { return marked ? std::string(in_line_mark) : std::string(); }

bool all_known(const Shares& shares) {
  return std::all_of(shares.begin(), shares.end(),
                     [](const auto& version) { return version.has_value(); });
}

}  // namespace

Acquire::Acquire(OpenSpace& space, HoldList& list, Reaper& reaper, Waiting& waiting,
                 const AcquireRequest& request)
    : space_(space),
      list_(list),
      reaper_(reaper),
      waiting_(waiting),
      request_(request),
      token_(request.token.hex()),
      items_(request.set->items()),
      ticket_(waiting.own(request.ticket)),
      all_shares_(items_.size(), false),
      steps_(items_.size(), Step::alone),
      wanted_lease_(request.lease) {
  path_bytes_ = space_.paths.hold(token_).size() + 4;
  for (const LockRequest& item : items_)
    path_bytes_ += space_.paths.holder(item, token_).size() + 4;
}

Result<AcquireOutcome> Acquire::run() {
  while (true) {
    Round done = round();
    if (!done) return done.error();
    if (*done) return *std::move(*done);
    if (BootClock::now() >= request_.by) return too_late();
  }
}

Error Acquire::too_late() const {
  return {Errc::unavailable,
          space_.where + ": others were faster until the deadline; nothing was applied"};
}

Acquire::Round Acquire::round() {
  if (request_.replaces != nullptr) {
    const Result<bool> found = find_replaced();
    if (!found) return found.error();
    if (!*found) return gone();
  }
  if (Status ready = get_ready(); !ready) {
    if (replaced_ && seat_ && !seat_->session()->alive()) return again();
    return ready.error();
  }
  if (config_->stored.config.version != request_.config_version) {
    const Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
    if (!now) return now.error();
    config_ = *now;
    if (config_->stored.config.version != request_.config_version) {
      return std::optional<AcquireOutcome>(Stale{});
    }
  }
  const bool cached = may_use_cache_ && take_from_cache();
  may_use_cache_ = false;
  if (!cached) {
    const Result<bool> read = read_names();
    if (!read) return read.error();
    if (!*read) return again();
    if (changed_) return changed();
    if (!leave_out_replaced()) return replaced_has_ended();
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Holder* holder = in_the_way(names_[i].holders, items_[i].mode, request_.permits[i]);
    if (holder != nullptr) return busy(i, *holder);
  }
  overtaken_.clear();
  if (bounded()) {
    Status read = read_lines();
    Round kept = read ? look_at_lines(cached) : Round(read.error());
    if (!kept && !seat_->session()->alive()) return again();
    if (!kept || *kept || looks_again_) return kept;
  }
  if (!knows_shares()) return again();
  return ask();
}

// False: it is not live, and never will be again.
Result<bool> Acquire::find_replaced() {
  replaced_.reset();
  const Stamp stamp = request_.replaces->stamp;
  if (const std::optional<OwnHolds::Known> own = space_.own.find(stamp)) {
    if (own->hold->app != request_.owner->app) return false;
    if (!own->live()) {
      // What can't be removed now is left to the reaper's thread.
      static_cast<void>(reaper_.remove(own->hold, request_.by).ok());
      return false;
    }
    wanted_lease_ = std::max(request_.lease, own->hold->lease);
    replaced_ = Replaced{own->hold->token, own->hold->items, own->hold};
    return true;
  }
  Result<std::vector<Listed>> holds = list_.holds(request_.by);
  if (!holds) return holds.error();
  for (Listed& hold : *holds) {
    if (hold.stamp() != stamp) continue;
    if (hold.record.owner.app != request_.owner->app) return false;
    wanted_lease_ = std::max(request_.lease, hold.record.lease);
    replaced_ = Replaced{std::move(hold.name), std::move(hold.record.items), nullptr};
    return true;
  }
  return false;
}

Acquire::Round Acquire::gone() {
  const Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
  if (!now) return now.error();
  const bool stale = (*now)->stored.config.version != request_.config_version;
  return std::optional<AcquireOutcome>(stale ? AcquireOutcome(Stale{}) : AcquireOutcome(Gone{}));
}

// It does not count. False: it is not on all of its names, so it has ended.
bool Acquire::leave_out_replaced() {
  if (!replaced_) return true;
  bool whole = true;
  for (NameState& name : names_) {
    const auto is_it = [&](const Holder& holder) { return holder.token == replaced_->token; };
    if (std::erase_if(name.holders, is_it) == 0) whole = false;
  }
  return whole;
}

Acquire::Round Acquire::replaced_has_ended() {
  for (const LockRequest& item : replaced_->items) {
    space_.names.ended(item.name, replaced_->token);
  }
  space_.own.forget(replaced_->token);
  return std::optional<AcquireOutcome>(Gone{});
}

// A hold that takes the place of one of this client lives in the same session: the end of that
// session ends whichever of the two is there, and what is asked there later comes after this step.
Status Acquire::take_seat() {
  if (keeps_session()) {
    seat_ = replaced_->own->seat;
    if (Status ready = seat_->session()->ready(request_.by); !ready) return ready;
    connection_ = seat_->session()->connection();
    return {};
  }
  if (seat_ && (!seat_->session()->alive() || seat_->session()->stuck())) seat_.reset();
  while (true) {
    if (seat_) {
      connection_ = seat_->session()->connection();
      // Looked at last: then that was its first connection.
      if (!seat_->session()->was_cut()) return {};
      seat_.reset();
    }
    Result<std::unique_ptr<Seat>> seat =
        space_.sessions.seat(wanted_lease_, path_bytes_, request_.by);
    if (!seat) return seat.error();
    seat_ = *std::move(seat);
  }
}

bool Acquire::keeps_session() const { return replaced_ && replaced_->own; }

// Gets the session, and the configuration that the request is made with.
Status Acquire::get_ready() {
  if (Status taken = take_seat(); !taken) return taken;
  config_ = space_.config.seen();
  if (!config_) {
    Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
    if (!now) return now.error();
    config_ = *std::move(now);
  }
  Result<std::shared_ptr<const KnownConfig>> stamping =
      space_.config.for_stamp(config_, request_.min_stamp, request_.by);
  if (!stamping) return stamping.error();
  config_ = *std::move(stamping);
  return {};
}

// The oldest connection in which the step's knowledge was read.
ConnectionNumber Acquire::made_from() const {
  ConnectionNumber oldest = config_->read_at;
  for (const NameState& name : names_) oldest = std::min(oldest, name.read_at);
  return oldest;
}

// True if the cached state of all names lets the set in.
bool Acquire::take_from_cache() {
  names_.clear();
  if (config_->read_at < connection_) return false;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    std::optional<NameState> name =
        space_.names.find(items_[i].name, config_->version, connection_);
    if (!name || name->version == any_version) return false;
    // Only a waiter that has just looked at its queue knows who is in line.
    if (bounded() && name->marked && !(ticket_ && name->line)) return false;
    // A reader's share is seldom that of the last one.
    const bool alone = items_[i].mode == Mode::write || replaced_;
    if (name->split && !(alone && all_known(name->shares))) return false;
    names_.push_back(*std::move(name));
  }
  if (!leave_out_replaced()) return false;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::vector<Holder>& holders = names_[i].holders;
    if (in_the_way(holders, items_[i].mode, request_.permits[i]) != nullptr) return false;
  }
  return std::all_of(request_.unchanged_since.begin(), request_.unchanged_since.end(),
                     [&](const Expected& expected) {
                       const std::optional<Stamp> last = names_[expected.item].last_write;
                       return last && value_of(*last, config_->stored) == expected.last_write;
                     });
}

// False: the whole attempt starts again.
Result<bool> Acquire::read_names() {
  std::vector<Request> requests{sync(space_.paths.root()), exists(space_.paths.config())};
  // Before the names: a reader who came since then is among the holders, or has raised a version.
  struct Asked {
    std::size_t item;
    std::size_t share;
  };
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!all_shares_[i] && !space_.names.was_split(items_[i].name)) continue;
    for (std::size_t share = 0; share < share_count; ++share) {
      if (one_share_suffices(i) && share != share_of(token_)) continue;
      asked.push_back({i, share});
      requests.push_back(exists(space_.paths.share(items_[i].name, share)));
    }
  }
  const std::size_t first_name = requests.size();
  for (const LockRequest& item : items_) requests.push_back(children(space_.paths.name(item.name)));
  // Where somebody was in line the last time, the line is read, too: one round trip less.
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; bounded() && i < items_.size(); ++i) {
    // Who is in line already asks again because time has passed, and mostly meets a hold.
    if (ticket_ || !space_.names.was_marked(items_[i].name)) continue;
    lines.push_back(i);
    requests.push_back(children(space_.paths.queue(items_[i].name)));
  }
  // After the names: as long as those have the versions that are read here, so do the traces.
  const std::size_t first_trace = requests.size();
  for (const Expected& expected : request_.unchanged_since) {
    requests.push_back(get(space_.paths.trace(items_[expected.item].name)));
  }
  // The hold's first renewal then need not look for it.
  const bool ask_breaks = !space_.own.knows_breaks(connection_);
  if (ask_breaks) requests.push_back(exists(space_.paths.holds()));
  const ConnectionNumber read_at = space_.sessions.connections();
  const Result<Replies> replies = seat_->session()->run(std::move(requests), request_.by);
  if (!replies) return replies.error();
  if (ask_breaks && replies->back().ok()) {
    space_.own.saw(replies->back().stat.changed, read_at);
  }
  names_.clear();
  for (std::size_t i = 0; i < first_name + items_.size(); ++i) {
    const Reply& reply = (*replies)[i];
    if (ends_session(reply.code)) return false;
    if (!reply.ok() && (i < 2 || reply.code != ZNONODE)) {
      return error_from(reply.code, space_.where, Sent::reading);
    }
    if (i >= first_name) names_.push_back(state_of(reply, config_->version, read_at));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Reply& reply = (*replies)[2 + i];
    if (!reply.ok() || !names_[asked[i].item].split) continue;
    const std::string& name = items_[asked[i].item].name;
    if (reply.stat.version == any_version) {
      Status lifted = lift(space_.paths.share(name, asked[i].share), "");
      if (!lifted) return lifted.error();
      return false;
    }
    names_[asked[i].item].shares.at(asked[i].share) = reply.stat.version;
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    space_.names.read(items_[i].name, names_[i]);
    if (!names_[i].exists || names_[i].version != any_version) continue;
    Status lifted = lift(space_.paths.name(items_[i].name), in_line_mark);
    if (!lifted) return lifted.error();
    return false;
  }
  if (!config_->is_of((*replies)[1].stat)) {
    const Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
    if (!now) return now.error();
    return false;
  }
  if (config_->read_at < connection_) config_ = space_.config.confirm(*config_, read_at);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Reply& reply = (*replies)[first_name + items_.size() + i];
    if (reply.ok() || reply.code == ZNONODE) names_[lines[i]].line = line_of(reply);
  }
  return judge_condition(std::span(*replies).subspan(first_trace));
}

// Whether a request for this name may know no more than its own share.
bool Acquire::one_share_suffices(std::size_t item) const {
  return items_[item].mode == Mode::read && !all_shares_[item] && !replaced_;
}

// It is marked, and nobody is in line for it.
bool Acquire::takes_mark_away(std::size_t item) const {
  const NameState& name = names_[item];
  return name.marked && name.line && name.line->waiters.empty();
}

// Whether the grant raises the version of a share instead of the name's.
bool Acquire::reads_beside_others(std::size_t item) const {
  const NameState& name = names_[item];
  return name.split && items_[item].mode == Mode::read && !replaced_ && !takes_mark_away(item) &&
         share_has_room(name.holders, share_of(token_), request_.permits[item]);
}

// Other readers were faster again and again. Those who read beside others are faster in future.
bool Acquire::splits(std::size_t item) const {
  constexpr std::uint32_t often = 2;
  constexpr std::size_t few = 8;  // the request must not become too large
  return items_[item].mode == Mode::read && !replaced_ && names_[item].exists &&
         !names_[item].split && !names_[item].holders.empty() && collisions_ >= often &&
         items_.size() <= few &&
         may_split(space_.paths.name(items_[item].name), request_.permits[item]);
}

// False: versions of shares are missing that the request compares. The next read asks for them.
bool Acquire::knows_shares() {
  bool known = true;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const NameState& name = names_[i];
    if (!name.split) continue;
    const bool beside = reads_beside_others(i);
    if (beside ? name.shares.at(share_of(token_)).has_value() : all_known(name.shares)) continue;
    if (!beside) all_shares_[i] = true;
    known = false;
  }
  return known;
}

// Whether the traces, as they were read, meet the condition. False: the whole attempt starts again.
Result<bool> Acquire::judge_condition(std::span<const Reply> replies) {
  changed_.reset();
  for (std::size_t i = 0; i < request_.unchanged_since.size(); ++i) {
    const Reply& reply = replies[i];
    if (ends_session(reply.code)) return false;
    if (!reply.ok() && reply.code != ZNONODE) {
      return error_from(reply.code, space_.where, Sent::reading);
    }
    const Expected& expected = request_.unchanged_since[i];
    NameState& name = names_[expected.item];
    Trace trace;
    if (const std::optional<SeenTrace> seen = seen_trace(reply)) {
      name.last_write = seen->last_write;
      trace = trace_of(*seen, config_->stored, space_.config.server_now_us());
    }
    if (trace.last_write && trace.last_write == expected.last_write) continue;
    trace.being_written = being_written(name.holders);
    changed_ = Changed{expected.item, std::move(trace)};
    break;
  }
  return true;
}

// A broken condition ends a wait as a grant does.
Acquire::Round Acquire::changed() {
  if (ticket_) waiting_.leave(*ticket_, request_.by);
  ticket_.reset();
  return std::optional<AcquireOutcome>(*std::move(changed_));
}

bool Acquire::bounded() const noexcept {
  return request_.max_overtakes != unlimited_overtakes && !is_downgrade(request_);
}

// Reads the lines that are not known. Who comes later raises a name's version, so that the request
// is refused.
Status Acquire::read_lines() {
  std::vector<std::size_t> unread;
  std::vector<Request> requests;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!names_[i].marked || names_[i].line) continue;
    unread.push_back(i);
    requests.push_back(children(space_.paths.queue(items_[i].name)));
  }
  if (unread.empty()) return {};
  const Result<Replies> replies = read(std::move(requests));
  if (!replies) return replies.error();
  for (std::size_t i = 0; i < unread.size(); ++i) {
    names_[unread[i]].line = line_of((*replies)[i]);
  }
  return {};
}

// An error if one of them has another answer than the node, or that there is none.
Result<Replies> Acquire::read(std::vector<Request> requests) {
  Result<Replies> replies = seat_->session()->run(std::move(requests), request_.by);
  if (!replies) return replies;
  for (const Reply& reply : *replies) {
    if (!reply.ok() && reply.code != ZNONODE) {
      return error_from(reply.code, space_.where, Sent::reading);
    }
  }
  return replies;
}

// A waiter that was overtaken often enough: towards all who came later it counts as a hold.
struct Acquire::Keeper {
  std::string token;
  std::string label;
  bool called = false;
  std::int32_t call_version = 0;
  Duration silent{};  // since it was called, or else since it was heard of
};

// Nothing: no name is kept from this request, which overtakes `overtaken_`. REQUIRES: no hold is in
// the way.
Acquire::Round Acquire::look_at_lines(bool cached) {
  looks_again_ = false;
  const std::string own = ticket_ ? ticket_->token() : std::string();
  std::vector<std::vector<InLine>> before(items_.size());
  std::vector<std::string> longest;  // the first of each line
  std::vector<std::string> others;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!names_[i].line) continue;
    before[i] = names_[i].line->before(own);
    for (std::size_t place = 0; place < before[i].size(); ++place) {
      (place < first_asked ? longest : others).push_back(before[i][place].token);
    }
  }
  std::vector<Keeper> keepers;
  for (std::vector<std::string>* tokens : {&longest, &others}) {
    std::sort(tokens->begin(), tokens->end());
    tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
    std::erase_if(*tokens, [&](const std::string& token) {
      return tokens == &others && std::binary_search(longest.begin(), longest.end(), token);
    });
    if (tokens->empty()) continue;
    // The line was read in another session, whose server may be ahead.
    const bool behind = cached && tokens == &longest;
    if (Status asked = ask_waiters(*tokens, behind, keepers); !asked) return asked.error();
    if (looks_again_) return again();
    Round kept = who_keeps(before, keepers, cached);
    if (!kept || *kept || looks_again_) return kept;
  }
  return std::optional<AcquireOutcome>();
}

// How often these were overtaken, and which of them keep their names. The rest is overtaken.
Status Acquire::ask_waiters(const std::vector<std::string>& tokens, bool behind,
                            std::vector<Keeper>& keepers) {
  std::vector<Request> requests;
  requests.reserve(2 * tokens.size() + 1);
  if (behind) requests.push_back(sync(space_.paths.root()));
  for (const std::string& token : tokens) requests.push_back(get(space_.paths.waiter(token)));
  const bool few = tokens.size() <= first_asked;  // one round trip less
  if (few) {
    for (const std::string& token : tokens) requests.push_back(exists(space_.paths.call(token)));
  }
  Result<Replies> replies = read(std::move(requests));
  if (!replies) return replies.error();
  const std::span<Reply> answers = std::span(*replies).subspan(behind ? 1 : 0);
  std::vector<Keeper> due;
  std::vector<Reply> calls;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Reply& reply = answers[i];
    if (!reply.ok()) {  // it has just left, perhaps with a grant: then the request would fail
      looks_again_ = looks_again_ || ++left_ <= most_left;
      continue;
    }
    const auto times = static_cast<std::uint32_t>(reply.stat.version);
    const bool is_due = times >= request_.max_overtakes;
    if (!is_due && overtaken_.size() < most_overtaken) {
      overtaken_.push_back({tokens[i], reply.text, reply.stat.version});
    }
    if (!is_due && !(request_.will_wait && is_woken(tokens[i]))) continue;
    due.push_back({tokens[i], std::move(reply.text)});
    if (few) calls.push_back(std::move(answers[tokens.size() + i]));
  }
  if (due.empty()) return {};
  if (!few) {
    requests.clear();
    for (const Keeper& keeper : due) requests.push_back(exists(space_.paths.call(keeper.token)));
    Result<Replies> found = read(std::move(requests));
    if (!found) return found.error();
    calls = *std::move(found);
  }
  those_who_come(std::move(due), calls, keepers);
  return {};
}

// Refused, if one of these keeps a name from the request.
Acquire::Round Acquire::who_keeps(const std::vector<std::vector<InLine>>& before,
                                  std::vector<Keeper>& keepers, bool cached) {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    std::size_t own_mode = names_[i].holders.size();
    bool other_mode = false;
    Keeper* first = nullptr;
    for (const InLine& waiter : before[i]) {
      const auto keeper = std::find_if(keepers.begin(), keepers.end(), [&](const Keeper& one) {
        return one.token == waiter.token;
      });
      if (keeper == keepers.end()) continue;
      if (first == nullptr) first = &*keeper;
      if (waiter.mode == items_[i].mode) {
        ++own_mode;
      } else {
        other_mode = true;
      }
    }
    if (first == nullptr || (!other_mode && own_mode + 1 <= request_.permits[i])) continue;
    if (cached) {  // only what was read after a sync justifies a refusal
      looks_again_ = true;
      return again();
    }
    const Mode other = items_[i].mode == Mode::read ? Mode::write : Mode::read;
    const std::size_t between = before[i].size() - std::min(before[i].size(), first_asked);
    return kept(i, other_mode ? other : items_[i].mode, std::move(*first), between);
  }
  return std::optional<AcquireOutcome>();
}

// Without those who were called and did not come.
void Acquire::those_who_come(std::vector<Keeper> due, const std::vector<Reply>& calls,
                             std::vector<Keeper>& keepers) const {
  for (std::size_t i = 0; i < due.size(); ++i) {
    const Reply& reply = calls[i];
    if (!reply.ok()) continue;  // it has just left
    Keeper& keeper = due[i];
    keeper.called = reply.stat.data_bytes != 0;
    keeper.call_version = reply.stat.version;
    keeper.silent =
        std::chrono::microseconds(space_.config.server_now_us() - reply.stat.changed_ms * 1000);
    if (keeper.called && keeper.silent >= comes_within) continue;
    keepers.push_back(std::move(keeper));
  }
}

// Refused: the name is kept for a waiter. If that was not heard of lately, or if no release wakes
// it, it is called. Of many, those who came first ask again first, so that a waiter that is dead
// keeps the name no longer for that, and a crowd does not ask all the time.
Acquire::Round Acquire::kept(std::size_t item, Mode mode, Keeper keeper, std::size_t between) {
  const bool woken = names_[item].line->next == keeper.token;
  // The release that wakes it may just have been: the next attempt tells.
  const bool may_come = request_.will_wait && woken && !waited_for(keeper);
  if (!keeper.called && !may_come &&
      (keeper.silent >= prod_after || (request_.will_wait && !woken))) {
    const Result<Replies> called = seat_->session()->run(
        {set(space_.paths.call(keeper.token), "?", keeper.call_version)}, request_.by);
    if (!called) return called.error();
    const Reply& reply = called->front();
    if (reply.ok()) {
      space_.config.saw(reply.stat.changed, reply.stat.changed_ms);
      keeper.called = true;
      keeper.silent = Duration::zero();
    }
  }
  Busy busy{items_[item].name, mode, {}, "the queue, for " + keeper.label, {}, {}, collisions_};
  const Duration counts = keeper.called ? comes_within : prod_after + comes_within;
  const Duration least = may_come ? comes_within / 2 : std::chrono::milliseconds(1);
  busy.retry_after =
      std::max<Duration>(counts - keeper.silent, least) + (between / first_asked) * comes_within;
  if (Status queued = queue_up(busy, item, keeper.token); !queued) return queued.error();
  return std::optional<AcquireOutcome>(std::move(busy));
}

// The node's version is the one that means "any" in a comparison, so this moves on to the next. The
// mark of a name is wrong at worst for a moment.
Status Acquire::lift(const std::string& node, std::string_view data) {
  const Result<Replies> replies =
      seat_->session()->run({set(node, std::string(data), any_version)}, request_.by);
  if (!replies) return replies.error();
  const int code = replies->front().code;
  if (code == ZOK || code == ZNONODE || ends_session(code)) return {};
  return error_from(code, space_.where, Sent::reading);
}

Acquire::Round Acquire::busy(std::size_t item, const Holder& holder) {
  const LockRequest& wanted = items_[item];
  Busy busy{wanted.name, holder.mode, {}, {}, {}, {}, collisions_};
  const std::optional<OwnHolds::Known> own = space_.own.find(holder.token);
  if (own && !own->live()) {
    // Our own hold, past its deadline: it is removed.
    if (Status removed = reaper_.remove(own->hold, request_.by); !removed) return removed.error();
    return again();
  }
  if (own && own->stamp) {
    busy.holder = own->stamp;
    busy.holder_label = own->hold->label;
    busy.retry_after = std::max(own->deadline - BootClock::now(), Duration::zero());
  } else {
    const Result<Replies> replies =
        seat_->session()->run({get(space_.paths.hold(holder.token))}, request_.by);
    if (!replies) return replies.error();
    const Reply& reply = replies->front();
    if (reply.code == ZNONODE || ends_session(reply.code)) return again();  // it has just ended
    if (!reply.ok()) return error_from(reply.code, space_.where, Sent::reading);
    const std::optional<Record> record = record_from(reply.text);
    if (record) {
      busy.holder = Stamp{record->base + reply.stat.created};
      busy.holder_label = record->owner.label;
    }
  }
  if (Status queued = queue_up(busy, item, ""); !queued) return queued.error();
  return std::optional<AcquireOutcome>(std::move(busy));
}

// If the caller waits. `keeper`: the waiter that the name is kept for; "": a hold is in the way.
Status Acquire::queue_up(Busy& busy, std::size_t item, const std::string& keeper) {
  if (!request_.will_wait) return {};
  Record waiter;
  waiter.owner = *request_.owner;
  waiter.items.assign(items_.begin(), items_.end());
  std::vector<std::string> unmarked;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (!names_[i].marked) unmarked.push_back(items_[i].name);
  }
  Result<std::shared_ptr<Ticket>> ticket =
      waiting_.queue_up(ticket_,
                        {items_[item], request_.permits[item], config_->version, bounded(), keeper,
                         std::move(unmarked)},
                        waiter, request_.by);
  if (!ticket) return ticket.error();
  busy.ticket = *std::move(ticket);
  return {};
}

// It came first of those whom the last release of one of the names woke. Whoever waits in any case
// does not race with it: one of two requests would be repeated, and that takes longer than a turn.
bool Acquire::is_woken(const std::string& token) const {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const NameState& name) { return name.line && name.line->next == token; });
}

// It kept a name from this waiter at the last look, too.
bool Acquire::waited_for(const Keeper& keeper) const {
  return ticket_ && ticket_->keeper() == keeper.token;
}

Duration Acquire::effective_lease() const {
  return std::min(wanted_lease_, safe_part(seat_->session()->timeout()));
}

std::string Acquire::record() const {
  Record record;
  record.base = config_->stored.base;
  record.lease = effective_lease();
  record.owner = *request_.owner;
  record.items.assign(items_.begin(), items_.end());
  return to_text(record);
}

Request Acquire::grant_request(std::size_t& first_set) {
  std::vector<Request> parts{check(space_.paths.config(), config_->version)};
  if (replaced_) {
    // It is live if it can be removed.
    Request end = space_.end_of(replaced_->token, replaced_->items);
    std::move(end.parts.begin(), end.parts.end(), std::back_inserter(parts));
    after_replaced_ = parts.size();
    if (!replaced_->own) parts.push_back(space_.announcement());
  }
  first_set = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const std::string path = space_.paths.name(items_[i].name);
    if (!names_[i].exists) parts.push_back(create(path, "", Lasting::persistent));
    NameState& name = names_[i];
    steps_[i] = reads_beside_others(i) ? Step::beside_others
                : splits(i)            ? Step::splits
                                       : Step::alone;
    if (steps_[i] == Step::beside_others) {
      const std::size_t share = share_of(token_);
      parts.push_back(check(path, name.version));
      if (first_set == 0) first_set = parts.size();
      parts.push_back(set(space_.paths.share(items_[i].name, share), "", *name.shares.at(share)));
      continue;
    }
    for (std::size_t share = 0; name.split && share < share_count; ++share) {
      parts.push_back(check(space_.paths.share(items_[i].name, share), *name.shares.at(share)));
    }
    if (takes_mark_away(i)) {
      // Who comes into the line of a marked name does not change the name: it changes the queue.
      const std::string queue = space_.paths.queue(items_[i].name);
      if (name.line->version) {
        parts.push_back(check(queue, *name.line->version));
      } else {
        parts.push_back(create(queue, "", Lasting::persistent));
      }
      name.marked = false;
    }
    if (first_set == 0) first_set = parts.size();
    parts.push_back(set(path, mark(name.marked), name.exists ? name.version : 0));
    if (steps_[i] == Step::splits) {
      parts.push_back(create(space_.paths.shares(items_[i].name), "", Lasting::persistent));
      for (std::size_t share = 0; share < share_count; ++share) {
        const std::string node = space_.paths.share(items_[i].name, share);
        parts.push_back(create(node, "", Lasting::persistent));
      }
    }
    if (name.observed && items_[i].mode == Mode::write) {
      const TraceRecord written{config_->stored.base, request_.owner->label};
      parts.push_back(set(space_.paths.trace(items_[i].name), to_text(written), any_version));
    }
  }
  for (const LockRequest& item : items_) {
    parts.push_back(create(space_.paths.holder(item, token_), "", Lasting::ephemeral));
  }
  parts.push_back(create(space_.paths.hold(token_), record(), Lasting::ephemeral));
  for (const Overtaken& waiter : overtaken_) {
    parts.push_back(set(space_.paths.waiter(waiter.token), waiter.label, waiter.times));
  }
  first_remove_ = parts.size();
  if (ticket_) {
    for (const std::string& node : ticket_->nodes()) parts.push_back(remove(node));
  }
  return multi(std::move(parts));
}

Acquire::Round Acquire::ask() {
  std::size_t first_set = 0;
  Request request = grant_request(first_set);
  if (weight(request) > most_weight) {
    return Error{Errc::invalid, space_.where + ": the set is too large for one request (" +
                                    std::to_string(weight(request)) + " bytes, the most are " +
                                    std::to_string(most_weight) + "): take fewer or shorter names"};
  }
  const std::shared_ptr<Session> session = seat_->session();
  space_.sessions.give_acl(*session);
  const Duration lease = lease_ = effective_lease();
  const std::int64_t base = config_->stored.base;
  const std::shared_ptr<OwnHold> hold(new OwnHold{token_,
                                                  {items_.begin(), items_.end()},
                                                  request_.owner->app,
                                                  request_.owner->label,
                                                  base,
                                                  lease,
                                                  std::move(seat_),
                                                  made_from(),
                                                  keeps_session() ? replaced_->token : ""});
  // The reaper ends the hold if it is granted when nobody waits for it any more.
  if (Status ready = reaper_.start(); !ready) return ready.error();
  space_.own.ask(hold, BootClock::now() + lease, connection_);
  const auto late = [own = &space_.own, token = token_, base, first_set](const Replies& replies) {
    const Reply& reply = replies.front();
    if (!own->done_in(token, reply.connection)) return;
    if (reply.ok()) {
      own->granted(token, Stamp{base + reply.parts[first_set].stat.changed});
    } else if (!leaves_doubt(reply.code)) {
      own->expire(token);
    }
  };
  std::vector<Request> requests;
  requests.push_back(std::move(request));
  // What was read may have taken several connections. Then a grant would have to be given back: it
  // would count as a write of what is observed, and the hold whose place it took would be lost.
  const Result<Replies> replies = session->run_in(connection_, std::move(requests), request_.by,
                                                  late, [this] { space_.own.sent(token_); });
  if (!replies) {
    space_.own.forget(token_);
    if (session->connection() != connection_) return again();
    return replies.error();
  }
  const Reply& reply = replies->front();
  // Between the request and the answer, the store may have been restored.
  const bool in_time = space_.own.done_in(token_, reply.connection);
  if (reply.ok() && !in_time && keeps_session()) return unusable("the connection broke meanwhile");
  if (reply.ok() && !in_time) {
    const Status removed = reaper_.remove(hold, request_.by);
    // Everyone could see the hold for a moment, or still can: the step did do something.
    return Error{
        Errc::indeterminate,
        removed ? space_.where + ": the connection broke meanwhile; what was granted is given back"
                : removed.error().message};
  }
  if (reply.ok()) return granted(reply, first_set);
  if (leaves_doubt(reply.code)) {
    for (const LockRequest& item : items_) space_.names.forget(item.name);
    return error_from(reply.code, space_.where, Sent::change);
  }
  space_.own.forget(token_);
  return refused(reply);
}

Acquire::Round Acquire::granted(const Reply& reply, std::size_t first_set) {
  const NodeStat& made = reply.parts[first_set].stat;
  Grant grant;
  grant.stamp = Stamp{config_->stored.base + made.changed};
  grant.store_time_us = made.changed_ms * 1000;
  grant.lease = lease_;
  grant.collisions = collisions_;
  space_.config.saw(made.changed, made.changed_ms);
  if (keeps_session() && ConfigNode::too_low(grant.stamp, made.changed_ms, request_.min_stamp)) {
    space_.own.refuse(token_);
    return unusable("its stamp is too low");
  }
  space_.own.granted(token_, grant.stamp);
  const std::optional<OwnHolds::Known> own = space_.own.find(token_);
  const bool others_wait = ticket_ != nullptr;  // perhaps
  if (ticket_) {
    Waiting::left(*ticket_);
    ticket_.reset();
  }
  if (own && ConfigNode::too_low(grant.stamp, made.changed_ms, request_.min_stamp)) {
    if (Status removed = reaper_.remove(own->hold, request_.by); !removed) {
      space_.own.expire(token_);
      return Error{Errc::indeterminate, removed.error().message};
    }
    if (Status raised = space_.config.raise_base(request_.min_stamp.value, request_.by); !raised) {
      return Error{Errc::unavailable, raised.error().message};
    }
    return again();
  }
  for (std::size_t i = 0; i < items_.size(); ++i) {
    NameState& name = names_[i];
    if (steps_[i] == Step::beside_others) {
      space_.names.missed(items_[i].name);
      continue;
    }
    name.version =
        name.exists ? static_cast<std::int32_t>(static_cast<std::uint32_t>(name.version) + 1) : 1;
    name.exists = true;
    if (steps_[i] == Step::splits) {
      name.split = true;
      name.shares.fill(0);
    }
    if (name.observed && items_[i].mode == Mode::write) name.last_write = grant.stamp;
    name.line.reset();
    name.holders.push_back({items_[i].mode, token_});
    space_.names.put(items_[i].name, std::move(name));
    // A client that gives the name back must not come before those who waited with it, only because
    // it knows more.
    if (others_wait) space_.names.missed(items_[i].name);
  }
  return std::optional<AcquireOutcome>(std::move(grant));
}

// What was granted can't be given back at once: the hold whose place it took has ended, and is
// valid for this client until it learns that. So it stays until its deadline, which is no sooner.
Error Acquire::unusable(const std::string& why) const {
  return {Errc::indeterminate,
          space_.where + ": " + why + ", so what was granted is of no use, and the hold is lost"};
}

// The hold was certainly not granted. This finds out why, and what to do now.
Acquire::Round Acquire::refused(const Reply& reply) {
  if (ends_session(reply.code)) return again();
  std::size_t culprit = 0;
  while (culprit < reply.parts.size() &&
         (reply.parts[culprit].code == ZOK || reply.parts[culprit].code == ZRUNTIMEINCONSISTENCY)) {
    ++culprit;
  }
  if (culprit == reply.parts.size()) return error_from(reply.code, space_.where, Sent::reading);
  const int code = reply.parts[culprit].code;
  if (code != ZBADVERSION && code != ZNONODE && code != ZNODEEXISTS) {
    return error_from(code, space_.where, Sent::reading);
  }
  if (culprit == 0) {  // the configuration
    const Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
    if (!now) return now.error();
    return again();
  }
  if (culprit < after_replaced_) return replaced_has_ended();
  // The place in the queue ended with its session.
  if (culprit >= first_remove_ && ticket_) waiting_.lost(*ticket_);
  for (const LockRequest& item : items_) space_.names.missed(item.name);
  if (!server::pause_after(++collisions_, request_.by)) return too_late();
  return again();
}

Acquire::Round Acquire::again() { return std::optional<AcquireOutcome>(); }

}  // namespace lockset::zookeeper
