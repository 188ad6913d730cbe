#include "backends/quorum/caretaker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/wait_until.h"

namespace lockset::quorum {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration patience = seconds(2);
constexpr Duration longest_pause = seconds(5);
constexpr Duration first_probe = milliseconds(50);
constexpr Duration longest_probe = seconds(2);
constexpr Duration longest_goodbye = seconds(1);

Duration jittered(Duration pause) { return thread_random().between(pause * 3 / 4, pause * 5 / 4); }

}  // namespace

Caretaker::~Caretaker() = default;

void Caretaker::start() {
  thread_.start([this] { run(); });
}

void Caretaker::give_back(Loose loose) {
  const std::lock_guard lock(mutex_);
  loose_.push_back(std::move(loose));
  rung_ = true;
  changed_.notify_all();
}

void Caretaker::ring() {
  const std::lock_guard lock(mutex_);
  rung_ = true;
  changed_.notify_all();
}

void Caretaker::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    rung_ = false;
    const TimePoint now = BootClock::now();
    std::erase_if(loose_, [&](const Loose& each) { return each.until <= now; });
    const auto first_due = std::partition(loose_.begin(), loose_.end(),
                                          [&](const Loose& each) { return each.next > now; });
    std::vector<Loose> due(std::make_move_iterator(first_due),
                           std::make_move_iterator(loose_.end()));
    loose_.erase(first_due, loose_.end());
    std::vector<std::size_t> to_look;
    TimePoint next = TimePoint::max();
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      Probing& probing = probes_[seat];
      if (!nodes_[seat]->is_down()) {
        probing.pause = Duration::zero();
        continue;
      }
      if (probing.under_way) continue;
      if (probing.pause == Duration::zero()) {
        probing.pause = first_probe;
        probing.next = now + jittered(first_probe);
      }
      if (probing.next <= now) {
        probing.under_way = true;
        to_look.push_back(seat);
      } else {
        next = std::min(next, probing.next);
      }
    }
    for (const Loose& each : loose_) next = std::min(next, each.next);
    under_way_ += due.size();
    lock.unlock();
    for (Loose& each : due) send(std::move(each));
    for (const std::size_t seat : to_look) look(seat, now);
    lock.lock();
    wait_until(changed_, lock, next, [&] { return stopping_ || rung_; });
  }
}

void Caretaker::send(Loose loose) {
  const TimePoint by = BootClock::now() + patience;
  const auto shared = std::make_shared<Loose>(std::move(loose));
  nodes_[shared->seat]->ask(
      by, Node::Urgency::usual, false,
      [this, shared, by](const Result<Backend*>& store) -> Node::Trouble {
        if (!store) {
          sent(*shared, false);
          return store.error();
        }
        HoldRef part = ref_of(shared->part);
        // A request that is still on its way may be granted later, so "nothing" ends no search.
        const bool searched = !part.stamp;
        if (searched) {
          const Result<std::optional<Grant>> found = (*store)->resolve(part, by);
          if (!found || !*found) {
            sent(*shared, false);
            return found ? Node::Trouble() : found.error();
          }
          part.stamp = (*found)->stamp;
        }
        const Result<bool> ended = (*store)->release(part, shared->part.owner.app, by);
        sent(*shared, ended.ok());
        return ended ? Node::Trouble() : ended.error();
      });
}

void Caretaker::sent(Loose loose, bool done) {
  const std::lock_guard lock(mutex_);
  --under_way_;
  if (!done) {
    loose.next = BootClock::now() + jittered(loose.pause);
    loose.pause = std::min(loose.pause * 2, longest_pause);
    loose_.push_back(std::move(loose));
  }
  rung_ = true;
  changed_.notify_all();
}

void Caretaker::look(std::size_t seat, TimePoint now) {
  const TimePoint by = now + patience;
  nodes_[seat]->ask(by, Node::Urgency::probe, true,
                    [this, seat, by](const Result<Backend*>& store) -> Node::Trouble {
                      const Node::Trouble trouble =
                          store ? probe_(seat, **store, by) : Node::Trouble(store.error());
                      const std::lock_guard lock(mutex_);
                      Probing& probing = probes_[seat];
                      probing.under_way = false;
                      probing.next = BootClock::now() + jittered(probing.pause);
                      probing.pause = std::min(probing.pause * 2, longest_probe);
                      for (Loose& each : loose_) {
                        if (!trouble && each.seat == seat) each.next = TimePoint::min();
                      }
                      rung_ = true;
                      changed_.notify_all();
                      return trouble;
                    });
}

void Caretaker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::vector<Loose> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(loose_);
    std::erase_if(left, [](const Loose& each) { return !each.part.stamp; });
    under_way_ += left.size();
  }
  for (Loose& each : left) send(std::move(each));
  std::unique_lock lock(mutex_);
  wait_until(changed_, lock, BootClock::now() + longest_goodbye, [&] { return under_way_ == 0; });
}

}  // namespace lockset::quorum
