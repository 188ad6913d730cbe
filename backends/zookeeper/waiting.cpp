#include "backends/zookeeper/waiting.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/zookeeper/admission.h"

namespace lockset::zookeeper {
namespace {

// Bits of a ticket's signal.
constexpr unsigned own_bit = 1;      // our node was touched, or is gone: it may be our turn
constexpr unsigned queue_bit = 2;    // the waiter before us moved
constexpr unsigned name_bit = 4;     // a client took or released the name
constexpr unsigned call_bit = 8;     // somebody waits for us to come
constexpr unsigned keeper_bit = 16;  // the waiter that the name is kept for is gone

// So many of a queue, the longest waiting, watch the waiter that keeps the name from them.
constexpr std::ptrdiff_t keeper_watchers = 4;

// How long a look may take while its waiter has no deadline near.
constexpr Duration look_time = std::chrono::seconds(5);

std::string part_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

// Longest wait first. Only the order matters, and only in one life of the queue's node: the numbers
// begin again after it was removed (which happens when it is empty).
std::vector<std::string> Waiting::sorted_queue(const Reply& reply) const {
  std::vector<std::string> queue;
  for (const std::string& child : reply.children) {
    if (holder_of(child)) queue.push_back(child);
  }
  std::sort(queue.begin(), queue.end(), [](const std::string& one, const std::string& other) {
    return sequence_of(one) < sequence_of(other);
  });
  return queue;
}

Result<std::shared_ptr<Ticket>> Waiting::queue_up(std::shared_ptr<Ticket> ticket,
                                                  const Obstacle& obstacle, const Record& waiter,
                                                  TimePoint by) {
  tidy(by);
  if (!ticket) ticket = std::make_shared<Ticket>(litter_);
  const LockRequest& wanted = obstacle.wanted;
  if (ticket->line_session_ && !ticket->line_session_->alive()) left_line(*ticket);
  const bool in_line = !ticket->line_nodes_.empty();
  const bool has_place = !ticket->node_.empty() && ticket->session_->alive() &&
                         (in_line || !obstacle.bounded) && ticket->name_ == wanted.name &&
                         ticket->mode_ == wanted.mode;
  ticket->permits_ = obstacle.permits;
  ticket->config_version_ = obstacle.config_version;
  ticket->keeper_ = obstacle.keeper;
  if (!has_place) {
    leave_queue(*ticket, by);
    ticket->name_ = wanted.name;
    ticket->mode_ = wanted.mode;
    if (Status entered = enter(*ticket, waiter, obstacle, by); !entered) {
      return entered.error();
    }
  }
  // In a crowd most have nothing to look at: they hear of it when the one before them leaves.
  constexpr unsigned enough = own_bit | queue_bit;
  const bool hears = has_place && ticket->is_far_ && !ticket->may_be_first_ && !ticket->called_ &&
                     (ticket->armed_ & enough) == enough && !ticket->signal_->raised();
  if (hears) return ticket;
  const Result<Turn> turn = look(*ticket, by);
  if (!turn) return turn.error();
  if (*turn == Turn::go) ticket->signal_->raise(own_bit);
  return ticket;
}

// Into the queue of the name that blocks it, and once into the lines of all names of its set, in
// one step: so of two waiters the same one came first everywhere.
Status Waiting::enter(Ticket& ticket, const Record& waiter, const Obstacle& obstacle,
                      TimePoint by) {
  const std::string queue = space_.paths.queue(ticket.name_);
  const bool into_line = obstacle.bounded && ticket.line_nodes_.empty();
  // They should tell already that somebody may be in line.
  std::vector<std::string> marked;
  for (const LockRequest& item : waiter.items) {
    const auto& unmarked = obstacle.unmarked;
    const bool is_marked = std::find(unmarked.begin(), unmarked.end(), item.name) == unmarked.end();
    if (into_line && is_marked) marked.push_back(item.name);
  }
  while (true) {
    // If the answer is lost, the token finds the nodes.
    const std::string token = Token::random().hex();
    std::vector<Request> parts;
    if (into_line) parts = line_request(token, waiter, obstacle.unmarked);
    const std::string part = holder_part(ticket.mode_, token) + "-";
    parts.push_back(create(below(queue, part), to_text(waiter), Lasting::ephemeral_sequential));
    std::size_t bytes = 0;
    for (const Request& each : parts) {
      if (each.kind == Kind::create) bytes += each.path.size() + 14;
    }
    Result<std::unique_ptr<Seat>> seat = space_.sessions.waiting_seat(bytes, by);
    if (!seat) return seat.error();
    const std::shared_ptr<Session> session = (*seat)->session();
    std::vector<std::string> nodes;
    if (into_line) nodes = {space_.paths.waiter(token), space_.paths.call(token)};
    const auto late = [litter = litter_, nodes](const Replies& replies) {
      if (!replies.front().ok()) return;
      for (const std::string& node : nodes) litter->add(node);
      for (const Reply& made : replies.front().parts) {
        if (!made.text.empty()) litter->add(made.text);
      }
    };
    std::vector<Request> requests;
    requests.push_back(multi(std::move(parts)));
    for (const std::string& name : marked) requests.push_back(exists(space_.paths.name(name)));
    const Result<Replies> made = session->run(std::move(requests), by, late);
    if (!made) return made.error();
    const Reply& reply = made->front();
    if (leaves_doubt(reply.code)) {
      const TimePoint until = BootClock::now() + 2 * space_.options.session_timeout;
      litter_->add({queue, part, until});
      if (into_line) {
        litter_->add({space_.paths.waiters(), token, until});
        for (const LockRequest& item : waiter.items) {
          litter_->add({space_.paths.queue(item.name), line_part(item.mode, token), until});
        }
      }
    }
    if (reply.ok()) {
      for (const Reply& each : reply.parts) {
        if (each.stat.changed != 0) space_.config.saw(each.stat.changed, each.stat.changed_ms);
        if (!each.text.empty()) nodes.push_back(each.text);
      }
      ticket.node_ = std::move(nodes.back());
      nodes.pop_back();
      ticket.session_ = session;
      if (into_line) {
        ticket.token_ = token;
        ticket.line_nodes_ = std::move(nodes);
        ticket.line_session_ = session;
        ticket.line_seat_ = *std::move(seat);
      } else {
        ticket.seat_ = *std::move(seat);
      }
      ticket.armed_ = 0;
      ticket.may_be_first_ = false;
      ticket.is_far_ = false;
      ticket.seen_version_.reset();
      ticket.predecessor_.clear();
      ticket.signal_->lower(own_bit | queue_bit | name_bit);
      if (into_line) ticket.signal_->lower(call_bit | keeper_bit);
      return mark_names(*session, marked, std::span(*made).subspan(1), by);
    }
    if (ends_session(reply.code)) continue;
    if (reply.code != ZNONODE) return error_from(reply.code, space_.where, Sent::reading);
    if (Status parents = make_parents(*session, ticket.name_, into_line ? &waiter : nullptr, by);
        !parents) {
      return parents;
    }
  }
}

// What names were found when the waiter was in line. If one does not tell of a line any more, it
// is told so again.
Status Waiting::mark_names(Session& session, const std::vector<std::string>& names,
                           std::span<const Reply> found, TimePoint by) {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Reply& reply = found[i];
    if (!reply.ok() && reply.code != ZNONODE && !ends_session(reply.code)) {
      return error_from(reply.code, space_.where, Sent::reading);
    }
    if (reply.ok() && reply.stat.data_bytes != 0) continue;
    const std::string name = space_.paths.name(names[i]);
    requests.push_back(create(name, "", Lasting::persistent));
    requests.push_back(set(name, std::string(in_line_mark), any_version));
  }
  if (requests.empty()) return {};
  const Result<Replies> told = session.run(std::move(requests), by);
  if (!told) return told.error();
  for (std::size_t i = 1; i < told->size(); i += 2) {
    const int code = (*told)[i].code;
    if (code != ZOK && !ends_session(code)) return error_from(code, space_.where, Sent::reading);
  }
  return {};
}

// Raises the version of each name that does not tell yet that somebody may be in line: from now on
// a request for it has to know this waiter. For the others it has to read the line in any case, and
// who read it before this step asked before. The version of a queue says that somebody came.
std::vector<Request> Waiting::line_request(const std::string& token, const Record& waiter,
                                           const std::vector<std::string>& unmarked) const {
  std::vector<Request> parts{
      create(space_.paths.waiter(token), waiter.owner.label, Lasting::ephemeral),
      create(space_.paths.call(token), "", Lasting::ephemeral)};
  for (const LockRequest& item : waiter.items) {
    parts.push_back(create(below(space_.paths.queue(item.name), line_part(item.mode, token)), "",
                           Lasting::ephemeral_sequential));
    parts.push_back(set(space_.paths.queue(item.name), "", any_version));
    if (std::find(unmarked.begin(), unmarked.end(), item.name) == unmarked.end()) continue;
    parts.push_back(set(space_.paths.name(item.name), std::string(in_line_mark), any_version));
  }
  return parts;
}

// What a waiter's nodes are below of; with `in_line`, also those for the lines of its names.
Status Waiting::make_parents(Session& session, const std::string& name, const Record* in_line,
                             TimePoint by) {
  std::vector<Request> requests{create(space_.paths.queue(name), "", Lasting::persistent)};
  if (in_line != nullptr) {
    requests.push_back(create(space_.paths.waiters(), "", Lasting::persistent));
    for (const LockRequest& item : in_line->items) {
      requests.push_back(create(space_.paths.queue(item.name), "", Lasting::persistent));
      requests.push_back(create(space_.paths.name(item.name), "", Lasting::persistent));
    }
  }
  const Result<Replies> made = session.run(std::move(requests), by);
  if (!made) return made.error();
  for (const Reply& reply : *made) {
    const int code = reply.code;
    if (code != ZOK && code != ZNODEEXISTS && !ends_session(code)) {
      return error_from(code, space_.where, Sent::reading);
    }
  }
  return {};
}

Result<Waiting::Turn> Waiting::look(Ticket& ticket, TimePoint by) {
  const auto failed = [&](int code) { return error_from(code, space_.where, Sent::reading); };
  const std::string own = part_of(ticket.node_);
  while (true) {
    if (ticket.node_.empty() || !ticket.session_->alive()) return Turn::go;
    Session& session = *ticket.session_;
    const std::string name = space_.paths.name(ticket.name_);
    const ConnectionNumber read_at = space_.sessions.connections();
    // The queue after the name, which is watched: a client that is then first misses nothing, and
    // nobody who was in the line when the name was read is missing.
    const bool watch_name = ticket.may_be_first_ && (ticket.armed_ & name_bit) == 0;
    std::vector<Request> requests{
        exists(space_.paths.config()),
        watch_name ? watched_children(name, ticket.signal_, name_bit) : children(name),
        children(space_.paths.queue(ticket.name_))};
    const bool watch_own = (ticket.armed_ & own_bit) == 0;
    if (watch_own) requests.push_back(watched(ticket.node_, ticket.signal_, own_bit));
    const std::size_t more = requests.size();
    const bool in_line = !ticket.line_nodes_.empty();
    if (in_line) add_line_requests(ticket, requests);
    const std::string keeper =
        ticket.keeper_.empty() ? std::string() : space_.paths.waiter(ticket.keeper_);
    if (!keeper.empty()) requests.push_back(get(keeper));
    Result<Replies> first = session.run(std::move(requests), by);
    if (!first) return first.error();
    const Reply& config_reply = (*first)[0];
    Reply& name_reply = (*first)[1];
    const Reply& queue_reply = (*first)[2];
    if (watch_name && name_reply.ok()) ticket.armed_ |= name_bit;
    if (!config_reply.ok()) return failed(config_reply.code);
    std::optional<Line> line;
    if (ticket.may_be_first_) line = line_of(queue_reply);
    if (watch_own && (*first)[3].ok()) ticket.armed_ |= own_bit;
    if (in_line) come(ticket, (*first)[more + (ticket.called_ ? 1 : 0)], by);
    const bool is_kept = !keeper.empty() && first->back().ok();
    const std::vector<std::string> queue = sorted_queue(queue_reply);
    const auto place = std::find(queue.begin(), queue.end(), own);
    // Our node is gone, for whatever reason: the next attempt makes another.
    if (place == queue.end()) lost(ticket);
    if (place == queue.end() || config_reply.stat.version != ticket.config_version_) {
      return Turn::go;
    }
    const bool is_first = place == queue.begin();
    ticket.may_be_first_ = is_first;
    ticket.is_far_ = place - queue.begin() >= keeper_watchers;
    std::string before;
    if (!is_first) before = space_.paths.queue(ticket.name_) + "/" + *std::prev(place);
    const bool watch_place =
        is_first ? (ticket.armed_ & name_bit) == 0
                 : (ticket.armed_ & queue_bit) == 0 || ticket.predecessor_ != before;
    // The end of a waiter concerns those who are soon woken in any case, not a crowd.
    const bool watch_keeper =
        is_kept && place - queue.begin() < keeper_watchers &&
        ((ticket.armed_ & keeper_bit) == 0 || ticket.watched_keeper_ != ticket.keeper_);
    if (watch_place || watch_keeper) {
      std::vector<Request> missing{!watch_place ? exists(space_.paths.config())
                                   : is_first   ? watched_children(name, ticket.signal_, name_bit)
                                                : watched(before, ticket.signal_, queue_bit)};
      missing.push_back(watch_keeper ? watched(keeper, ticket.signal_, keeper_bit)
                                     : exists(space_.paths.config()));
      if (watch_place && is_first) missing.push_back(children(space_.paths.queue(ticket.name_)));
      const Result<Replies> second = session.run(std::move(missing), by);
      if (!second) return second.error();
      if (watch_keeper && (*second)[1].code == ZNONODE) continue;  // it has just left
      if (watch_keeper && (*second)[1].ok()) {
        ticket.armed_ |= keeper_bit;
        ticket.watched_keeper_ = ticket.keeper_;
      }
      const Reply& reply = second->front();
      if (!watch_place) {
        // Only the other waiter was looked at.
      } else if (is_first) {
        name_reply = reply;
        line = line_of(second->back());
        if (reply.ok()) ticket.armed_ |= name_bit;
      } else if (reply.code == ZNONODE) {  // that waiter left between the two
        ticket.may_be_first_ = true;
        continue;
      } else if (!reply.ok()) {
        return failed(reply.code);
      } else {
        ticket.armed_ |= queue_bit;
        ticket.predecessor_ = before;
      }
    }
    if (name_reply.code == ZNONODE) return Turn::go;
    if (!name_reply.ok()) return failed(name_reply.code);
    const std::vector<Holder> holders = holders_of(name_reply.children);
    const bool is_free = in_the_way(holders, ticket.mode_, ticket.permits_) == nullptr;
    if (is_free && !is_kept) {
      NameState name = state_of(name_reply, ticket.config_version_, read_at);
      name.line = std::move(line);
      space_.names.learn(ticket.name_, std::move(name));
      return Turn::go;
    }
    if (!is_first) return Turn::sleep;
    if (is_free && line) wake_older(ticket, session, *line, queue, by);
    if (!in_line) slow_down(ticket, name_reply.stat.version, by);
    // There may be room for others while there is none for us: the readers behind a writer.
    const Mode other = ticket.mode_ == Mode::write ? Mode::read : Mode::write;
    const std::shared_ptr<const KnownConfig> config = space_.config.seen();
    const std::uint32_t permits = config->stored.config.permits_of(ticket.name_).of(other);
    if (in_the_way(holders, other, permits) == nullptr) {
      const auto next = std::find_if(queue.begin(), queue.end(), [&](const std::string& child) {
        return holder_of(child)->mode == other;
      });
      if (next != queue.end()) {
        touch(session, space_.paths.queue(ticket.name_) + "/" + *next, by);
      }
    }
    return Turn::sleep;
  }
}

// Another client was let in while we were first. It may have given the name back and taken it again
// by the version that it left there, which is faster than we can be. With another version it has to
// read first, as we do.
void Waiting::slow_down(Ticket& ticket, std::int32_t version, TimePoint by) {
  if (ticket.seen_version_ && *ticket.seen_version_ != version) {
    const std::string mark(in_line_mark);  // wrong at worst for a moment
    const Result<Replies> raised =
        ticket.session_->run({set(space_.paths.name(ticket.name_), mark, any_version)}, by);
    if (raised && raised->front().ok()) version = raised->front().stat.version;
  }
  ticket.seen_version_ = version;
}

// Asks whether somebody called. If it is known, answers that first.
void Waiting::add_line_requests(const Ticket& ticket, std::vector<Request>& requests) const {
  const std::string call = space_.paths.call(ticket.token_);
  if (ticket.called_) requests.push_back(set(call, "", any_version));
  requests.push_back((ticket.armed_ & call_bit) != 0 ? get(call)
                                                     : watched(call, ticket.signal_, call_bit));
}

// Somebody may have called, to see whether this waiter lives and takes what is kept for it.
void Waiting::come(Ticket& ticket, const Reply& call, TimePoint by) {
  ticket.called_ = false;
  if (!call.ok()) return;
  ticket.armed_ |= call_bit;
  if (call.text.empty()) return;
  ticket.signal_->lower(call_bit);
  const std::string path = space_.paths.call(ticket.token_);
  static_cast<void>(
      ticket.line_session_
          ->run({set(path, "", any_version), watched(path, ticket.signal_, call_bit)}, by)
          .ok());
}

// The name is free, and kept from the first in the queue. It may be our turn to wake a waiter that
// came before the one that it is kept for.
void Waiting::wake_older(const Ticket& ticket, Session& session, const Line& line,
                         const std::vector<std::string>& queue, TimePoint by) {
  const std::vector<InLine> older = line.before(ticket.keeper_);
  const auto next = std::find_if(queue.begin(), queue.end(), [&](const std::string& child) {
    return std::any_of(older.begin(), older.end(),
                       [&](const InLine& waiter) { return waiter.token == token_of(child); });
  });
  if (next != queue.end()) touch(session, space_.paths.queue(ticket.name_) + "/" + *next, by);
}

void Waiting::touch(Session& session, const std::string& node, TimePoint by) {
  const Result<Replies> read = session.run({get(node)}, by);
  if (!read || !read->front().ok()) return;
  static_cast<void>(
      session.run({set(node, read->front().text, read->front().stat.version)}, by).ok());
}

std::shared_ptr<Ticket> Waiting::own(const std::shared_ptr<WaitTicket>& ticket) const {
  std::shared_ptr<Ticket> ours = std::dynamic_pointer_cast<Ticket>(ticket);
  if (ours && ours->litter_ != litter_) ours.reset();
  return ours;
}

Status Waiting::await(Ticket& ticket, TimePoint until, const std::stop_token& stop) {
  if (ticket.litter_ != litter_) return {};  // of a generation that is over: time to ask again
  while (true) {
    const unsigned bits = ticket.signal_->take(until, stop);
    ticket.armed_ &= ~bits;
    if ((bits & queue_bit) != 0) ticket.may_be_first_ = true;
    if ((bits & call_bit) != 0) ticket.called_ = true;
    if (bits == 0 || (bits & (own_bit | call_bit)) != 0 || stop.stop_requested()) return {};
    const TimePoint now = BootClock::now();
    const Result<Turn> turn = look(ticket, std::min(std::max(until, now), now + look_time));
    if (!turn) return turn.error();
    if (*turn == Turn::go) return {};
  }
}

void Waiting::leave(Ticket& ticket, TimePoint by) {
  if (ticket.litter_ != litter_) return left(ticket);  // it went with its generation
  if (ticket.session_ != ticket.line_session_) leave_queue(ticket, by);
  const std::vector<std::string> nodes = ticket.nodes();
  const std::shared_ptr<Session> session =
      ticket.line_session_ ? ticket.line_session_ : ticket.session_;
  left(ticket);
  if (nodes.empty() || !session->alive()) return;
  std::vector<Request> parts;
  parts.reserve(nodes.size());
  for (const std::string& node : nodes) parts.push_back(remove(node));
  std::vector<Request> requests;
  requests.push_back(multi(std::move(parts)));
  const Result<Replies> removed = session->run(std::move(requests), by);
  if (removed && removed->front().ok()) return;
  for (const std::string& node : nodes) litter_->add(node);
}

void Waiting::leave_queue(Ticket& ticket, TimePoint by) {
  if (ticket.node_.empty()) return;
  const std::string node = ticket.node_;
  left_queue(ticket);
  if (!ticket.session_->alive()) return;
  const Result<Replies> removed = ticket.session_->run({remove(node)}, by);
  const int code = removed ? removed->front().code : ZCONNECTIONLOSS;
  if (code != ZOK && code != ZNONODE) litter_->add(node);
}

void Waiting::lost(Ticket& ticket) {
  for (std::string& node : ticket.nodes()) litter_->add(std::move(node));
  left(ticket);
}

void Waiting::tidy(TimePoint by) {
  Litter::Found found = litter_->take();
  if (!found.perhaps.empty()) find_litter(std::move(found.perhaps), by);
  std::vector<std::string>& paths = found.paths;
  if (paths.empty()) return;
  std::vector<Request> requests;
  requests.reserve(paths.size());
  for (const std::string& path : paths) requests.push_back(remove(path));
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  const Result<Replies> replies =
      session ? (*session)->run(std::move(requests), by) : Result<Replies>(session.error());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const int code = replies ? (*replies)[i].code : ZCONNECTIONLOSS;
    if (code != ZOK && code != ZNONODE) litter_->add(std::move(paths[i]));
  }
}

void Waiting::find_litter(std::vector<Litter::Perhaps> perhaps, TimePoint by) {
  std::vector<Request> requests;
  requests.reserve(perhaps.size());
  for (const Litter::Perhaps& one : perhaps) requests.push_back(children(one.queue));
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  const Result<Replies> replies =
      session ? (*session)->run(std::move(requests), by) : Result<Replies>(session.error());
  for (std::size_t i = 0; i < perhaps.size(); ++i) {
    const Reply nothing;
    const std::vector<std::string>& queue = (replies ? (*replies)[i] : nothing).children;
    bool found = false;
    for (const std::string& child : queue) {
      if (!child.starts_with(perhaps[i].part)) continue;
      litter_->add(below(perhaps[i].queue, child));
      found = true;
    }
    if (!found && BootClock::now() < perhaps[i].until) litter_->add(std::move(perhaps[i]));
  }
}

void Waiting::permits_grew(std::string_view name, TimePoint by) {
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  if (!session) return;
  std::vector<std::string> queues;
  if (name != default_permits_name) {
    queues.push_back(space_.paths.queue(name));
  } else {
    const Result<Replies> all = (*session)->run({children(space_.paths.queues())}, by);
    if (!all) return;
    for (const std::string& child : all->front().children) {
      queues.push_back(space_.paths.queues() + "/" + child);
    }
  }
  std::vector<Request> requests;
  requests.reserve(queues.size());
  for (const std::string& queue : queues) requests.push_back(children(queue));
  const Result<Replies> replies = (*session)->run(std::move(requests), by);
  if (!replies) return;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const std::vector<std::string> queue = sorted_queue((*replies)[i]);
    if (!queue.empty()) touch(**session, queues[i] + "/" + queue.front(), by);
  }
}

}  // namespace lockset::zookeeper
