// One node of a quorum: a lock space that is opened when it first answers, the threads that call
// it, and whether it is known to be down.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/quorum/lane.h"
#include "lockset/backend.h"

namespace lockset::quorum {

// Connects to the space. Any thread may call it, several at once too.
using OpenStore = std::function<Result<std::unique_ptr<Backend>>(TimePoint by)>;

struct NodeAddress {
  std::string name;  // for messages: "node 2 (redis://host/space)"
  OpenStore open;
  // Its stamp is exactly AcquireRequest::min_stamp, unless it has drawn a greater one before or its
  // clock is ahead. Only speed depends on it.
  bool exact = false;
};

// Thread-safe. No call under way when it is destroyed: close() sees to it.
class Node {
 public:
  // What a piece of work met; unset: the node answered.
  using Trouble = std::optional<Error>;
  using Work = std::function<Trouble(Result<Backend*> store)>;
  enum class Urgency : std::uint8_t {
    usual,
    renewal,  // not behind anything else
    probe,    // also to a node that is known to be down
  };

  // `went_down` is called when the node is found down, on any thread.
  Node(NodeAddress address, std::function<void()> went_down)
      : address_(std::move(address)), went_down_(std::move(went_down)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return address_.name; }
  [[nodiscard]] bool exact() const noexcept { return address_.exact; }

  // Runs `work` exactly once, on another thread, or at once on this one if the node is not asked:
  // it is known to be down (unless `even_if_down`), or can't keep up, or `by` has passed. Then the
  // store is Errc::unavailable. The work returns by `by`.
  void ask(TimePoint by, Urgency urgency, bool even_if_down, Work work);

  // Calls fail at once until a probe was answered: none of them waits for a node that is down.
  [[nodiscard]] bool is_down() const noexcept { return down_.load(); }
  // The store, if it has been opened; it lives as long as the node.
  [[nodiscard]] Backend* opened() const;
  // The error with the node's name.
  [[nodiscard]] Error named(Error error) const;

  // Ends all work. After it, ask() runs work at once.
  void close();

 private:
  Result<Backend*> store(TimePoint by);
  void run(TimePoint by, const Work& work);
  void note(const Trouble& trouble, Duration took);

  const NodeAddress address_;
  const std::function<void()> went_down_;
  mutable std::mutex mutex_;
  std::unique_ptr<Backend> store_;
  bool opened_ = false;
  int failures_ = 0;  // in a row
  Error why_down_;
  std::atomic<bool> down_ = false;
  Lane usual_{8};
  Lane renewals_{2};
};

}  // namespace lockset::quorum
