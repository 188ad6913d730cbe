#include "tests/mutants/redis_store.h"

#include <algorithm>
#include <thread>

#include "tests/mutants/small_backend.h"
#include "tests/redis/raw_client.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

// KEYS: the names. ARGV: the lease in ms, and a stamp or ''. Returns 0 for busy.
constexpr const char* take_script = R"(
for _, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then return 0 end
end
local stamp = ARGV[2] ~= '' and tonumber(ARGV[2]) or redis.call('INCR', 'stamps')
for _, key in ipairs(KEYS) do
  redis.call('SET', key, stamp, 'PX', ARGV[1])
end
return stamp
)";

constexpr const char* release_script = R"(
local ended = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then ended = ended + redis.call('DEL', key) end
end
return ended
)";

// Time for something to go wrong.
void dawdle() { std::this_thread::sleep_for(1ms); }

class Redis final : public SmallBackend {
 public:
  Redis(const std::string& url, const RedisSteps& steps) : steps_(steps), client_(url) {}

 private:
  using Take = RedisSteps::Take;

  std::int64_t take(const Names& names, Duration lease) override {
    const std::string ms = std::to_string(lease / 1ms);
    switch (steps_.take) {
      case Take::look_first:
        return look_and_take(names, ms);
      case Take::one_by_one:
        return take_one_by_one(names, ms);
      case Take::stamp_first: {
        const std::string stamp = client_.text({"INCR", "stamps"});
        if (std::stoll(stamp) % 2 == 0) dawdle();
        return run(take_script, names, {ms, stamp});
      }
      case Take::script:
        break;
    }
    return run(take_script, names, {ms, ""});
  }

  std::int64_t look_and_take(const Names& names, const std::string& ms) {
    for (const std::string& name : names) {
      if (client_.number({"EXISTS", name}) == 1) return 0;
    }
    dawdle();
    const std::string stamp = client_.text({"INCR", "stamps"});
    for (const std::string& name : names) client_.say({"SET", name, stamp, "PX", ms});
    return std::stoll(stamp);
  }

  std::int64_t take_one_by_one(const Names& names, const std::string& ms) {
    const std::string stamp = client_.text({"INCR", "stamps"});
    for (const std::string& name : names) {
      if (!client_.say({"SET", name, stamp, "NX", "PX", ms}).is_nil) {
        dawdle();
        continue;
      }
      for (const std::string& taken : names) {
        if (taken == name) break;
        client_.say({"DEL", taken});
      }
      return 0;
    }
    return std::stoll(stamp);
  }

  bool give_back(const Names& names, std::int64_t stamp) override {
    if (steps_.release_compares) {
      return run(release_script, names, {std::to_string(stamp)}) > 0;
    }
    std::vector<std::string> command{"DEL"};
    command.insert(command.end(), names.begin(), names.end());
    return client_.number(command) > 0;
  }

  std::int64_t run(const char* script, const Names& keys, const std::vector<std::string>& values) {
    std::vector<std::string> command{"EVAL", script, std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), values.begin(), values.end());
    return client_.number(command);
  }

  const RedisSteps steps_;
  test::RawRedis client_;
};

}  // namespace

std::shared_ptr<Backend> open_redis_store(const std::string& url, const RedisSteps& steps) {
  return std::make_shared<Redis>(url, steps);
}

}  // namespace lockset::mutants
