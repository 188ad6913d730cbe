// Observes names, and sweeps the traces of those that nobody observes any more.
#include <algorithm>
#include <utility>

#include "backends/mysql/backend.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"

namespace lockset::mysql {
namespace {

// The most traces that one call removes.
constexpr int removed_at_once = 500;

std::string names_json(std::span<const std::string> names) {
  std::string json = "[";
  for (const std::string& name : names) {
    json += (json.size() > 1 ? ",[" : "[") + json_string(name) + "]";
  }
  return json + "]";
}

}  // namespace

Result<ObserveOutcome> MysqlBackend::observe(const ObserveRequest& request) {
  const std::string call = CallText(store_->name("_observe"))
                               .number(request.config_version)
                               .utf8(names_json(request.names))
                               .number(us(trace_grain))
                               .str();
  for (;;) {
    // What it makes does no harm, however often it is applied.
    const Result<Reply> answer = store_->run(call, Sent::reading, request.by);
    if (!answer) return answer.error();
    if (answer->rows.empty()) return ObserveOutcome(Stale{});
    if (const auto left_us = answer->optional_number(5)) {
      return quarantine(std::chrono::microseconds(*left_us), "nothing is observed");
    }
    std::vector<Trace> traces;
    bool swept = false;
    for (std::size_t row = 0; row < answer->rows.size(); ++row) {
      const std::optional<std::int64_t> last_write = answer->optional_number(0, row);
      swept = swept || !last_write;
      traces.push_back({Stamp{last_write.value_or(0)}, answer->text(1, row),
                        answer->optional_number(2, row), answer->number(3, row) != 0});
    }
    wake(answer->text(4), request.by);
    // A sweep has removed one in that very moment: the next call makes it again.
    if (!swept) return ObserveOutcome(std::move(traces));
  }
}

Result<std::size_t> MysqlBackend::sweep_traces(Duration unobserved, TimePoint by) {
  const Result<Reply> done = store_->run(
      CallText(store_->name("_sweep_traces")).number(us(unobserved)).number(removed_at_once).str(),
      Sent::change, by);
  if (!done) return done.error();
  if (done->rows.size() != 1) return nonsense(*store_);
  return static_cast<std::size_t>(done->number(0));
}

}  // namespace lockset::mysql
