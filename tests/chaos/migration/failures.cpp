#include "tests/chaos/migration/failures.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// Connections that were dropped meanwhile are opened again one by one, and a call that began during
// trouble still has its patience (recorded_locks.cpp).
constexpr Duration aftermath = 5s;

struct Trouble {
  TimePoint from;
  TimePoint to = TimePoint::max();
  std::string process;  // the process that it affects; empty: all
};

// Begins and ends of one kind of trouble, identified by a key.
class Book {
 public:
  void begin(const std::string& key, TimePoint at, const std::string& process) {
    open_[key] = all_.size();
    all_.push_back({.from = at, .process = process});
  }
  void end(const std::string& key, TimePoint at) {
    const auto found = open_.find(key);
    if (found != open_.end()) all_[found->second].to = at + aftermath;
  }
  std::vector<Trouble> all() && { return std::move(all_); }

 private:
  std::vector<Trouble> all_;
  std::map<std::string, std::size_t> open_;
};

std::vector<Trouble> troubles_of(const history::History& history, const std::vector<Span>& spans,
                                 bool stops_hinder_all) {
  Book book;
  for (const history::Log& log : history) {
    for (const history::Event& event : log.events) {
      if (const auto* stop = std::get_if<history::Stop>(&event.what)) {
        book.begin("stop " + stop->process, event.time, stops_hinder_all ? "" : stop->process);
      } else if (const auto* cont = std::get_if<history::Cont>(&event.what)) {
        book.end("stop " + cont->process, event.time);
      } else if (const auto* begun = std::get_if<history::FaultBegin>(&event.what)) {
        book.begin("fault " + begun->kind, event.time, "");
      } else if (const auto* ended = std::get_if<history::FaultEnd>(&event.what)) {
        book.end("fault " + ended->kind, event.time);
      }
    }
  }
  std::vector<Trouble> all = std::move(book).all();
  for (const Span& span : spans) {
    if (span.step) all.push_back({.from = span.from, .to = span.to + 1s, .process = {}});
  }
  return all;
}

std::optional<FailedCall> parse(std::string_view line, const std::string& process) {
  constexpr std::string_view beginning = "failed ";
  if (!line.starts_with(beginning)) return {};
  std::int64_t time = 0;
  const char* const end = line.data() + line.size();
  const auto [at, error] = std::from_chars(line.data() + beginning.size(), end, time);
  if (error != std::errc() || at == end) return {};
  return FailedCall{TimePoint(Duration(time)), process, std::string(at + 1, end), false};
}

}  // namespace

std::vector<FailedCall> failures_of(const std::filesystem::path& output,
                                    const history::History& history, const std::vector<Span>& spans,
                                    bool stops_hinder_all) {
  const std::vector<Trouble> troubles = troubles_of(history, spans, stops_hinder_all);
  std::vector<FailedCall> failures;
  for (const auto& each : std::filesystem::directory_iterator(output)) {
    std::ifstream lines(each.path());
    for (std::string line; std::getline(lines, line);) {
      auto failure = parse(line, each.path().stem().string());
      if (!failure) continue;
      failure->explained =
          std::any_of(troubles.begin(), troubles.end(), [&](const Trouble& trouble) {
            return trouble.from <= failure->time && failure->time <= trouble.to &&
                   (trouble.process.empty() || trouble.process == failure->process);
          });
      failures.push_back(*std::move(failure));
    }
  }
  return failures;
}

std::optional<std::string> too_many_lost(const std::vector<FailedCall>& failures,
                                         const history::History& history) {
  std::size_t acquires = 0;
  for (const history::Log& log : history) {
    acquires += static_cast<std::size_t>(
        std::count_if(log.events.begin(), log.events.end(), [](const history::Event& event) {
          return std::holds_alternative<history::Ask>(event.what);
        }));
  }
  const auto is_lost = [](const FailedCall& each) { return !each.explained; };
  const auto lost =
      static_cast<std::size_t>(std::count_if(failures.begin(), failures.end(), is_lost));
  if (lost * 100 <= acquires) return {};
  const auto first = std::find_if(failures.begin(), failures.end(), is_lost);
  return std::to_string(lost) + " of " + std::to_string(acquires) +
         " acquires failed for no reason that the run gave; the first, of " + first->process +
         ": " + first->text;
}

}  // namespace lockset::chaos
