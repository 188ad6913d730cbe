// A lock space of an odd number of independent ones: a hold is granted by a majority of them. It
// knows backends, and nothing about their kinds. ADR 0073 describes the protocol and proves it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/quorum/book.h"
#include "backends/quorum/caretaker.h"
#include "backends/quorum/gather.h"
#include "backends/quorum/node.h"
#include "backends/quorum/quorum_time.h"
#include "backends/quorum/view.h"
#include "core/lease_clock.h"
#include "lockset/backend.h"

namespace lockset::quorum {

// Opens the nodes; those that do not answer are opened later, as long as a majority does.
// Errc::misconfigured if the nodes are not those of one quorum: `init_nodes` makes them that.
Result<std::unique_ptr<Backend>> open_quorum_backend(std::vector<NodeAddress> nodes, TimePoint by);

class QuorumBackend final : public Backend {
 public:
  explicit QuorumBackend(std::vector<NodeAddress> nodes);
  ~QuorumBackend() override;

  // Opens what answers and reads the configurations. Call it once, before everything else.
  Status open(TimePoint by);

  [[nodiscard]] Traits traits() const override { return traits_; }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  bool has_changed(WaitTicket& ticket, TimePoint since) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  using Now = std::shared_ptr<const View>;
  using Seats = std::vector<bool>;
  using Urgency = Node::Urgency;
  struct Attempt;   // acquire.cpp
  struct Ticket;    // waiting.cpp
  struct Renewing;  // holds.cpp
  struct Sighting;  // a hold as the nodes show it, inspection.cpp

  // Asks these nodes at once, each on a thread of its own. `call` gets the seat and the store, owns
  // what it uses, and may run after this call has returned. Nodes that are known to be down are
  // asked only if `even_if_down`, or if no majority is up.
  template <class T, class Call>
  std::shared_ptr<Gather<T>> ask(const Seats& seats, TimePoint by, Urgency urgency, Call call,
                                 bool even_if_down = false);
  [[nodiscard]] Seats all_seats() const { return Seats(nodes_.size(), true); }
  // Those that count by the view.
  [[nodiscard]] static Seats counting(const View& view);
  // A majority is up; otherwise nodes that are down are asked all the same.
  [[nodiscard]] bool majority_is_up() const;
  [[nodiscard]] std::size_t majority() const { return majority_of(nodes_.size()); }
  // The error where fewer than a majority answered: what the nodes said.
  template <class T>
  Error no_majority(const typename Gather<T>::Answers& answers) const;
  // Gives the part back in the background.
  void tidy(std::size_t seat, KnownHold part, TimePoint until);

  // --- config.cpp ---
  [[nodiscard]] Now now() const;
  // Reads one node's configuration, and takes it over.
  Result<NodeConfig> read_config(std::size_t seat, Backend& store, TimePoint by);
  Result<Now> refresh(TimePoint by);
  Result<SpaceConfig> change_all(const ConfigChange& change, const View& view, TimePoint by);

  // --- acquire.cpp ---
  enum class Split : std::uint8_t { no, yes };
  std::pair<Result<AcquireOutcome>, Split> attempt(const AcquireRequest& request, const View& view,
                                                   const Token& token, int round);
  void send(const std::shared_ptr<Attempt>& attempt, const View& view,
            const AcquireRequest& request, std::optional<std::size_t> lead);
  void late(Attempt& attempt, std::size_t seat, Result<AcquireOutcome> outcome);
  // Draws a stamp of at least `level` in each of these nodes, so that all later ones are greater.
  // Returns how many confirmed it; does not wait for more than `wanted`.
  std::size_t raise(const Attempt& attempt, const View& view, const Seats& seats, Stamp level,
                    std::size_t wanted);
  Result<AcquireOutcome> granted(Attempt& attempt, const AcquireRequest& request, Stamp whole);
  // Gives all parts back. Returns how many nodes may still have one.
  std::size_t give_back(Attempt& attempt, TimePoint by);
  std::pair<Result<AcquireOutcome>, Split> refused(const std::shared_ptr<Attempt>& attempt,
                                                   const AcquireRequest& request, const View& view,
                                                   std::optional<std::size_t> lead, int round);
  // The stamp to ask for: above all that this client has seen, and a little ahead of the calendar.
  Stamp propose(Stamp at_least);
  // A node gave this stamp, asked for that one.
  void saw(Stamp part, Stamp proposal);

  // --- holds.cpp ---
  using End = std::function<Result<bool>(Backend& store, const HoldRef& part, TimePoint by)>;
  // `app`: whose hold it is; empty: anybody's.
  Result<bool> end(const HoldRef& whole, std::string_view app, TimePoint by, const End& how);
  // Also for a hold that another process took; unset: there is no such hold.
  Result<std::optional<Held>> parts_of(Stamp whole, TimePoint by);
  [[nodiscard]] static KnownHold part_of(const HoldRef& whole, const Held& held, std::size_t seat,
                                         std::string_view app);

  // --- inspection.cpp ---
  struct Seen;  // what an inspection of all nodes showed
  enum class Patience : std::uint8_t {
    for_most,
    for_all,   // whoever ends a hold has to know which of its parts decides
    for_each,  // also for one that is taken to be down, until the deadline
  };
  Result<Seen> look(const InspectQuery& query, TimePoint by, Patience patience);
  Result<Inspection> show(const InspectQuery& query, TimePoint by, Patience patience);
  void name_stamp(Sighting& sighting, const View& view, std::size_t missing);
  Result<std::optional<Held>> look_for(Stamp whole, TimePoint by);
  Result<std::optional<Held>> look_for(Stamp whole, TimePoint by, Patience patience);
  Result<std::optional<Grant>> look_for_attempt(const Token& token, const InspectQuery& query,
                                                TimePoint by);

  std::vector<std::unique_ptr<Node>> nodes_;  // a seat is an index of it
  Traits traits_;
  LeaseClock clock_;
  Book book_;
  QuorumTime time_;
  std::unique_ptr<Caretaker> caretaker_;

  mutable std::mutex mutex_;
  std::vector<std::optional<NodeConfig>> configs_;
  Now now_;
  std::int64_t last_version_ = 0;
  // How holds are called that this client has seen.
  struct Name {
    Stamp whole;
    bool certain = false;
  };
  static constexpr std::size_t most_names = 10'000;
  std::map<Token, Name> names_;
  Stamp seen_;       // the greatest stamp that any node gave this client, unless it is far ahead
  Duration lead_{};  // by how much proposals are ahead of the calendar
};

// --- templates ---

template <class T, class Call>
std::shared_ptr<Gather<T>> QuorumBackend::ask(const Seats& seats, TimePoint by, Urgency urgency,
                                              Call call, bool even_if_down) {
  auto gather = std::make_shared<Gather<T>>(nodes_.size());
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    if (seats[seat]) gather->expect();
  }
  even_if_down = even_if_down || !majority_is_up();
  for (std::size_t seat = 0; seat < seats.size(); ++seat) {
    if (!seats[seat]) continue;
    nodes_[seat]->ask(by, urgency, even_if_down,
                      [gather, seat, call](const Result<Backend*>& store) -> Node::Trouble {
                        Result<T> answer = store ? call(seat, **store) : Result<T>(store.error());
                        Node::Trouble trouble;
                        if (!answer) trouble = answer.error();
                        gather->put(seat, std::move(answer));
                        return trouble;
                      });
  }
  return gather;
}

template <class T>
Error QuorumBackend::no_majority(const typename Gather<T>::Answers& answers) const {
  std::string text = "no majority of the quorum answered: ";
  std::optional<Errc> code;
  bool first = true;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    const auto& answer = answers[seat];
    if (answer && answer->ok()) continue;
    const Error why =
        answer ? answer->error() : Error{Errc::unavailable, "it did not answer in time"};
    text += (first ? "" : "; ") + nodes_[seat]->named(why).message;
    first = false;
    // What a person has to put right, if that is all there is.
    if (!code) code = why.code;
    if (*code != why.code) code = Errc::unavailable;
  }
  const bool permanent = code && (*code == Errc::misconfigured || *code == Errc::invalid ||
                                  *code == Errc::unsupported);
  return {permanent ? *code : Errc::unavailable, text};
}

}  // namespace lockset::quorum
