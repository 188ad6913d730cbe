// A migration as the course of a run: leg by leg, with the steps in between, workers restarted one
// by one, and processes that have to be refused.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/chaos/course.h"
#include "tests/chaos/migration/journey.h"
#include "tests/chaos/migration/left_overs.h"
#include "tests/chaos/migration/pair_store.h"
#include "tests/chaos/migration/pilot.h"
#include "tests/chaos/migration/quarrel.h"
#include "tests/chaos/migration/span.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/store_trouble.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

class MigrationCourse final : public Course {
 public:
  // `length` is divided among the legs; a leg takes longer if its work does. All references outlive
  // this. `log`: a new file of the history, for the signals to the left-over processes. With a
  // quarrel (quarrel.h) at the end of each phase in which all processes follow the migration and
  // two people may disagree about the way, if there is such a phase.
  MigrationCourse(std::vector<Leg> legs, std::size_t processes, Duration length, PairStore& stores,
                  Helm helm, std::unique_ptr<Quarrel> quarrel, Progress& progress,
                  const std::string& log);

  void begin(TimePoint began, const Cast& cast) override;
  bool go_on(TimePoint now) override;
  std::optional<std::string> trouble() override;
  void end() override;
  [[nodiscard]] std::string state(TimePoint now) const override;

  // What it did, in order.
  [[nodiscard]] const std::vector<Span>& spans() const noexcept { return spans_; }
  [[nodiscard]] bool finished() const noexcept { return over_; }
  // The configuration of each process, by its name in the history.
  [[nodiscard]] std::map<std::string, Way> ways() const;
  // Moves of two people who steered at once.
  [[nodiscard]] std::size_t quarrelled() const { return quarrel_ ? quarrel_->moves() : 0; }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  [[nodiscard]] std::size_t refused_after_sleep() const { return refused_after_sleep_; }

 private:
  struct Faults {
    std::size_t of_old = 0;
    std::size_t of_new = 0;
  };
  [[nodiscard]] const Leg& leg() const { return legs_.at(at_); }
  [[nodiscard]] Faults count_faults() const;
  void begin_leg(TimePoint now);
  // Does the work of the leg that is due now; false once all is done and the leg's time is over.
  bool play_leg(TimePoint now);
  // Restarts one of the leg's workers; false if none is left, or one is being restarted.
  bool restart_next(TimePoint now);
  void note_ways();
  void end_leg(TimePoint now);
  void begin_quarrel();
  void begin_step();
  void close_span(TimePoint now);
  void fail(const std::string& what);

  const std::vector<Leg> legs_;
  const std::size_t processes_;
  const Duration of_leg_;
  PairStore& stores_;
  Progress& progress_;
  test::Recorder log_;
  Pilot pilot_;
  const std::unique_ptr<Quarrel> quarrel_;  // null: no quarrels
  std::optional<Cast> cast_;
  std::unique_ptr<LeftOvers> left_overs_;

  std::size_t at_ = 0;  // the present leg
  enum class Doing : std::uint8_t { leg, waiting_for_permits, quarrel, step } doing_ = Doing::leg;
  std::vector<Span> spans_;  // the last one is open
  Faults faults_before_;
  std::vector<std::pair<std::size_t, Way>> to_restart_;  // in reverse order
  Duration between_restarts_{};
  TimePoint restart_at_;
  std::optional<std::size_t> leaving_;
  std::map<std::string, Way> ways_;
  std::size_t refused_ = 0;
  std::size_t refused_after_sleep_ = 0;
  bool over_ = false;
  std::optional<std::string> trouble_;
};

}  // namespace lockset::chaos
