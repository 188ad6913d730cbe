#include "backends/quorum/node.h"

#include <chrono>
#include <utility>

namespace lockset::quorum {
namespace {

// A call that failed after so long was one to a node that hangs: the next one need not find out
// for itself. Quick failures are often single ones, such as connections that had died.
constexpr Duration hangs_after = std::chrono::milliseconds(200);
constexpr int most_quick_failures = 3;

Status fit_to_be_a_node(const Traits& traits) {
  if (traits.can_migrate && !traits.session_leases && traits.holds_outlive_connections) return {};
  return Error{Errc::unsupported,
               "its holds live in a session, or its configuration can't say that it is a node: "
               "it can't be a node of a quorum"};
}

}  // namespace

Error Node::named(Error error) const {
  error.message = address_.name + ": " + error.message;
  return error;
}

Backend* Node::opened() const {
  const std::lock_guard lock(mutex_);
  return store_.get();
}

Result<Backend*> Node::store(TimePoint by) {
  if (Backend* const store = opened()) return store;
  // Not under the mutex: nobody must wait for another caller's deadline.
  Result<std::unique_ptr<Backend>> fresh = address_.open(by);
  if (!fresh) return std::move(fresh).error();
  if (Status fit = fit_to_be_a_node((*fresh)->traits()); !fit) return std::move(fit).error();
  const std::lock_guard lock(mutex_);
  if (!store_) store_ = *std::move(fresh);
  opened_ = true;
  return store_.get();
}

void Node::ask(TimePoint by, Urgency urgency, bool even_if_down, Work work) {
  const bool probe = urgency == Urgency::probe;
  if (is_down() && !probe && !even_if_down) {
    Error why;
    {
      const std::lock_guard lock(mutex_);
      why = why_down_;
    }
    work(Error{Errc::unavailable, "known to be down: " + why.message});
    return;
  }
  const auto shared = std::make_shared<Work>(std::move(work));
  Lane& lane = urgency == Urgency::usual ? usual_ : renewals_;
  const bool added = lane.add([this, by, shared](bool closed) {
    if (closed || BootClock::now() >= by) {
      (*shared)(Error{Errc::unavailable, "it was not asked in time"});
    } else {
      run(by, *shared);
    }
  });
  if (!added) (*shared)(Error{Errc::unavailable, "it can't keep up with the calls"});
}

void Node::run(TimePoint by, const Work& work) {
  const TimePoint began = BootClock::now();
  const Trouble trouble = work(store(by));
  note(trouble, BootClock::now() - began);
}

void Node::note(const Trouble& trouble, Duration took) {
  const bool failed =
      trouble && (trouble->retryable() || trouble->may_have_applied() || opened() == nullptr);
  {
    const std::lock_guard lock(mutex_);
    if (!failed) {
      failures_ = 0;
      down_ = false;
      return;
    }
    ++failures_;
    if (took < hangs_after && failures_ < most_quick_failures && opened_) return;
    why_down_ = *trouble;
    if (down_.exchange(true)) return;
  }
  went_down_();
}

void Node::close() {
  usual_.close();
  renewals_.close();
}

}  // namespace lockset::quorum
