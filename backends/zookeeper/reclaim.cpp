#include "backends/zookeeper/reclaim.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/answers.h"

namespace lockset::zookeeper {
namespace {

class Reclaim {
 public:
  Reclaim(OpenSpace& space, HoldList& list, std::string_view app, std::int64_t epoch, TimePoint by)
      : space_(space), list_(list), app_(app), epoch_(epoch), by_(by) {}

  Result<std::size_t> run() {
    while (true) {
      if (Status status = read(); !status) return status.error();
      const auto current = config_->stored.config.epochs.find(app_);
      const bool known = current != config_->stored.config.epochs.end();
      if (known && current->second > epoch_) {
        return newer_epoch(app_, std::to_string(current->second));
      }
      if (own_token_.empty()) {
        return no_live_epoch(app_, epoch_);
      }
      const bool begun = known && current->second == epoch_;
      if (begun && older_.empty()) return ended_;
      const Result<bool> done = step(begun);
      if (!done) return done.error();
    }
  }

 private:
  // Reads the present state: the configuration first, so that a hold made by it is in the list.
  Status read() {
    const Result<std::shared_ptr<const KnownConfig>> config = space_.config.load(by_);
    if (!config) return config.error();
    config_ = *config;
    Result<std::vector<Listed>> holds = list_.holds(by_);
    if (!holds) return holds.error();
    own_token_.clear();
    older_.clear();
    for (Listed& hold : *holds) {
      if (hold.record.owner.app != app_) continue;
      if (hold.stamp().value == epoch_) {
        own_token_ = hold.name;
      } else if (hold.record.owner.epoch < epoch_) {
        older_.push_back(std::move(hold));
      }
    }
    return {};
  }

  // Ends as many of them as fit, and begins the epoch if it has not begun.
  Result<bool> step(bool begun) {
    std::vector<Request> parts;
    parts.push_back(check(space_.paths.hold(own_token_), any_version));
    if (!begun) {
      StoredConfig wanted = config_->stored;
      wanted.config.epochs[app_] = epoch_;
      wanted.config.version = space_.config.version_after(wanted.config.version);
      parts.push_back(set(space_.paths.config(), to_text(wanted), config_->version));
    }
    std::size_t bytes = weight(multi(parts));
    std::size_t count = 0;
    for (const Listed& hold : older_) {
      const Request end = space_.end_of(hold.name, hold.record.items);
      if (count != 0 && bytes + weight(end) > most_weight / 2) break;
      bytes += weight(end);
      parts.insert(parts.end(), end.parts.begin(), end.parts.end());
      ++count;
    }
    if (count != 0) parts.push_back(space_.announcement());
    const Result<std::shared_ptr<Session>> session = space_.sessions.general(by_);
    if (!session) return session.error();
    std::vector<Request> requests;
    requests.push_back(multi(std::move(parts)));
    const Result<Replies> replies = (*session)->run(std::move(requests), by_);
    if (!replies) return replies.error();
    const int code = replies->front().code;
    if (code == ZOK) {
      ended_ += count;
      for (std::size_t i = 0; i < count; ++i) space_.own.forget(older_[i].name);
      return true;
    }
    // Something changed meanwhile: it starts again from the present state.
    if (code == ZBADVERSION || code == ZNONODE || ends_session(code)) return false;
    return error_from(code, space_.where, Sent::change);
  }

  OpenSpace& space_;
  HoldList& list_;
  const std::string app_;
  const std::int64_t epoch_;
  const TimePoint by_;
  std::shared_ptr<const KnownConfig> config_;
  std::string own_token_;
  std::vector<Listed> older_;
  std::size_t ended_ = 0;
};

}  // namespace

Result<std::size_t> reclaim_holds(OpenSpace& space, HoldList& list, std::string_view app,
                                  std::int64_t epoch, TimePoint by) {
  return Reclaim(space, list, app, epoch, by).run();
}

}  // namespace lockset::zookeeper
