// One background thread of a quorum: gives back parts that belong to no hold, until that is
// confirmed or their leases have ended, and looks whether nodes that are down came back.
//
// It calls nobody itself: the nodes' own threads do.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/quorum/node.h"
#include "core/known_hold.h"
#include "core/machine.h"

namespace lockset::quorum {

// A part whose token is not known is known by its stamp alone.
inline HoldRef ref_of(const KnownHold& part) {
  return part.token == Token() ? HoldRef(part.stamp) : part.ref();
}

// Thread-safe, except start() and stop().
class Caretaker {
 public:
  // A part of no hold. Without a stamp: an attempt of unknown outcome, to be ended if it was
  // granted.
  struct Loose {
    std::size_t seat;
    KnownHold part;
    TimePoint until;  // its lease has ended by then
    TimePoint next = TimePoint::min();
    Duration pause = std::chrono::milliseconds(50);
  };
  // Reads the node's configuration: true if it answered.
  using Probe = std::function<Node::Trouble(std::size_t seat, Backend& store, TimePoint by)>;

  Caretaker(const std::vector<std::unique_ptr<Node>>& nodes, Probe probe)
      : nodes_(nodes), probe_(std::move(probe)), probes_(nodes.size()) {}
  Caretaker(const Caretaker&) = delete;
  Caretaker& operator=(const Caretaker&) = delete;
  ~Caretaker();  // REQUIRES: stopped

  // Throws std::system_error if the system has no thread left.
  void start();
  // Tries once more, for a second at most, to give back what it can.
  void stop();

  void give_back(Loose loose);
  // A node went down.
  void ring();

 private:
  struct Probing {
    TimePoint next = TimePoint::min();
    Duration pause{};
    bool under_way = false;
  };

  void run();
  void send(Loose loose);
  void sent(Loose loose, bool done);
  void look(std::size_t seat, TimePoint now);

  const std::vector<std::unique_ptr<Node>>& nodes_;
  const Probe probe_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Loose> loose_;
  std::size_t under_way_ = 0;
  std::vector<Probing> probes_;
  bool rung_ = false;
  bool stopping_ = false;
  Thread thread_;
};

}  // namespace lockset::quorum
