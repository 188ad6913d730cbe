#include "tests/chaos/migration/figures.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tests/chaos/migration/reason.h"

namespace lockset::chaos {
namespace {

// The span that contains a moment: the last one that had begun. Before the first span: the first.
std::size_t span_at(const std::vector<Span>& spans, TimePoint time) {
  const auto after = std::upper_bound(spans.begin(), spans.end(), time,
                                      [](TimePoint t, const Span& span) { return t < span.from; });
  return after == spans.begin() ? 0 : static_cast<std::size_t>(after - spans.begin()) - 1;
}

std::vector<TimePoint> grants_of(const history::History& history) {
  std::vector<TimePoint> times;
  for (const history::Log& log : history) {
    for (const history::Event& event : log.events) {
      if (std::holds_alternative<history::Granted>(event.what)) times.push_back(event.time);
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

Latency latency_of(std::vector<Duration>& all) {
  if (all.empty()) return {};
  std::sort(all.begin(), all.end());
  return {all.size(), all[all.size() / 2], all[all.size() * 99 / 100]};
}

using Tries = std::array<std::vector<Duration>, way_count>;

void add_tries(const history::Log& log, std::size_t way, const std::vector<Span>& spans,
               std::vector<Tries>& tries) {
  std::unordered_map<std::uint64_t, TimePoint> asked;
  for (const history::Event& event : log.events) {
    if (const auto* ask = std::get_if<history::Ask>(&event.what)) {
      if (ask->wait == Duration::zero()) asked[ask->op] = event.time;
    } else if (const auto* grant = std::get_if<history::Granted>(&event.what)) {
      const auto at = asked.find(grant->op);
      if (at == asked.end()) continue;
      tries[span_at(spans, event.time)][way].push_back(event.time - at->second);
    }
  }
}

}  // namespace

std::vector<Figures> figures_of(const history::History& history, const std::vector<Span>& spans,
                                const std::map<std::string, Way>& ways,
                                const std::vector<FailedCall>& failures) {
  std::vector<Figures> figures(spans.size());
  if (spans.empty()) return figures;
  const std::vector<TimePoint> grants = grants_of(history);
  for (std::size_t i = 0; i < grants.size(); ++i) {
    Figures& here = figures[span_at(spans, grants[i])];
    ++here.grants;
    if (i + 1 == grants.size()) break;
    here.longest_without_grant =
        std::max<Duration>(here.longest_without_grant, grants[i + 1] - grants[i]);
  }
  std::vector<Tries> tries(spans.size());
  for (const history::Log& log : history) {
    const auto way = ways.find(log.process);
    if (way != ways.end()) add_tries(log, static_cast<std::size_t>(way->second), spans, tries);
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    for (std::size_t way = 0; way < way_count; ++way) {
      figures[i].tries[way] = latency_of(tries[i][way]);
    }
  }
  for (const FailedCall& failure : failures) {
    Figures& here = figures[span_at(spans, failure.time)];
    ++here.failures[without_numbers(failure.text)];
    if (!failure.explained) ++here.unexplained;
  }
  return figures;
}

Duration longest_without_grant(const history::History& history) {
  const std::vector<TimePoint> grants = grants_of(history);
  Duration longest{};
  for (std::size_t i = 1; i < grants.size(); ++i) {
    longest = std::max<Duration>(longest, grants[i] - grants[i - 1]);
  }
  return longest;
}

}  // namespace lockset::chaos
