#include "backends/zookeeper/waiting.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "backends/zookeeper/admission.h"

namespace lockset::zookeeper {
namespace {

// Bits of a ticket's signal.
constexpr unsigned own_bit = 1;    // our node was touched, or is gone: it may be our turn
constexpr unsigned queue_bit = 2;  // the waiter before us moved
constexpr unsigned name_bit = 4;   // a client took or released the name

// How long a look may take while its waiter has no deadline near.
constexpr Duration look_time = std::chrono::seconds(5);

// The number that the server gave, from "r-TOKEN-0000000012" or "w-...".
std::int32_t sequence_of(std::string_view child) {
  const std::string_view digits = child.substr(std::min(std::size_t{2 + 32 + 1}, child.size()));
  std::int32_t sequence = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), sequence);
  return sequence;
}

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
  const bool has_place = !ticket->node_.empty() && ticket->session_->alive() &&
                         ticket->name_ == wanted.name && ticket->mode_ == wanted.mode;
  ticket->permits_ = obstacle.permits;
  ticket->config_version_ = obstacle.config_version;
  if (!has_place) {
    leave(*ticket, by);
    ticket->name_ = wanted.name;
    ticket->mode_ = wanted.mode;
    if (Status entered = enter(*ticket, waiter, by); !entered) return entered.error();
  }
  const Result<Turn> turn = look(*ticket, by);
  if (!turn) return turn.error();
  if (*turn == Turn::go) ticket->signal_->raise(own_bit);
  return ticket;
}

Status Waiting::enter(Ticket& ticket, const Record& waiter, TimePoint by) {
  const std::string queue = space_.paths.queue(ticket.name_);
  while (true) {
    // If the answer is lost, the token finds the node.
    const std::string part = holder_part(ticket.mode_, Token::random().hex()) + "-";
    const std::string place = below(queue, part);
    Result<std::unique_ptr<Seat>> seat = space_.sessions.waiting_seat(place.size() + 14, by);
    if (!seat) return seat.error();
    const std::shared_ptr<Session> session = (*seat)->session();
    const auto late = [litter = litter_](const Replies& replies) {
      if (replies.front().ok()) litter->add(replies.front().text);
    };
    const Result<Replies> made =
        session->run({create(place, to_text(waiter), Lasting::ephemeral_sequential)}, by, late);
    if (!made) return made.error();
    const Reply& reply = made->front();
    if (leaves_doubt(reply.code)) {
      litter_->add({queue, part, BootClock::now() + 2 * space_.options.session_timeout});
    }
    if (reply.ok()) {
      ticket.node_ = reply.text;
      ticket.session_ = session;
      ticket.seat_ = *std::move(seat);
      ticket.armed_ = 0;
      ticket.may_be_first_ = false;
      ticket.seen_version_.reset();
      ticket.predecessor_.clear();
      ticket.signal_->lower(own_bit | queue_bit | name_bit);
      return {};
    }
    if (ends_session(reply.code)) continue;
    if (reply.code != ZNONODE) return error_from(reply.code, space_.where, Sent::reading);
    const Result<Replies> queued = session->run({create(queue, "", Lasting::persistent)}, by);
    if (!queued) return queued.error();
    const int code = queued->front().code;
    if (code != ZOK && code != ZNODEEXISTS && !ends_session(code)) {
      return error_from(code, space_.where, Sent::reading);
    }
  }
}

Result<Waiting::Turn> Waiting::look(Ticket& ticket, TimePoint by) {
  const auto failed = [&](int code) { return error_from(code, space_.where, Sent::reading); };
  const std::string own = part_of(ticket.node_);
  while (true) {
    if (ticket.node_.empty() || !ticket.session_->alive()) return Turn::go;
    Session& session = *ticket.session_;
    const std::string name = space_.paths.name(ticket.name_);
    const ConnectionNumber read_at = space_.sessions.connections();
    // In this order, and together: a client that is then first, and watches the name, misses
    // nothing.
    std::vector<Request> requests{children(space_.paths.queue(ticket.name_)),
                                  exists(space_.paths.config())};
    const bool watch_name = ticket.may_be_first_ && (ticket.armed_ & name_bit) == 0;
    requests.push_back(watch_name ? watched_children(name, ticket.signal_, name_bit)
                                  : children(name));
    const bool watch_own = (ticket.armed_ & own_bit) == 0;
    if (watch_own) requests.push_back(watched(ticket.node_, ticket.signal_, own_bit));
    Result<Replies> first = session.run(std::move(requests), by);
    if (!first) return first.error();
    const Reply& config_reply = (*first)[1];
    Reply& name_reply = (*first)[2];
    if (watch_name && name_reply.ok()) ticket.armed_ |= name_bit;
    if (!config_reply.ok()) return failed(config_reply.code);
    if (watch_own && first->back().ok()) ticket.armed_ |= own_bit;
    const std::vector<std::string> queue = sorted_queue(first->front());
    const auto place = std::find(queue.begin(), queue.end(), own);
    // Our node is gone, for whatever reason: the next attempt makes another.
    if (place == queue.end() || config_reply.stat.version != ticket.config_version_) {
      return Turn::go;
    }
    const bool is_first = place == queue.begin();
    ticket.may_be_first_ = is_first;
    std::string before;
    if (!is_first) before = space_.paths.queue(ticket.name_) + "/" + *std::prev(place);
    if (is_first ? (ticket.armed_ & name_bit) == 0
                 : (ticket.armed_ & queue_bit) == 0 || ticket.predecessor_ != before) {
      const Result<Replies> second =
          session.run({is_first ? watched_children(name, ticket.signal_, name_bit)
                                : watched(before, ticket.signal_, queue_bit)},
                      by);
      if (!second) return second.error();
      const Reply& reply = second->front();
      if (is_first) {
        name_reply = reply;
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
    if (in_the_way(holders, ticket.mode_, ticket.permits_) == nullptr) {
      space_.names.learn(ticket.name_,
                         {true, name_reply.stat.version, holders, ticket.config_version_, read_at});
      return Turn::go;
    }
    if (!is_first) return Turn::sleep;
    slow_down(ticket, name_reply.stat.version, by);
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
    const Result<Replies> raised =
        ticket.session_->run({set(space_.paths.name(ticket.name_), "", any_version)}, by);
    if (raised && raised->front().ok()) version = raised->front().stat.version;
  }
  ticket.seen_version_ = version;
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
    if (bits == 0 || (bits & own_bit) != 0 || stop.stop_requested()) return {};
    const TimePoint now = BootClock::now();
    const Result<Turn> turn = look(ticket, std::min(std::max(until, now), now + look_time));
    if (!turn) return turn.error();
    if (*turn == Turn::go) return {};
  }
}

void Waiting::leave(Ticket& ticket, TimePoint by) {
  if (ticket.node_.empty()) return;
  if (ticket.litter_ != litter_) return left(ticket);  // it went with its generation
  const std::string node = ticket.node_;
  left(ticket);
  if (!ticket.session_->alive()) return;
  const Result<Replies> removed = ticket.session_->run({remove(node)}, by);
  const int code = removed ? removed->front().code : ZCONNECTIONLOSS;
  if (code != ZOK && code != ZNONODE) litter_->add(node);
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
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const std::string& child) {
      return child.starts_with(perhaps[i].part);
    });
    if (found != queue.end()) {
      litter_->add(perhaps[i].queue + "/" + *found);
    } else if (BootClock::now() < perhaps[i].until) {
      litter_->add(std::move(perhaps[i]));
    }
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
