#include "tests/redis/raw_client.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <stdexcept>

#include "lockset/url.h"

namespace lockset::test {
namespace {

RawReply copied(const redisReply& reply) {
  RawReply copy;
  copy.is_nil = reply.type == REDIS_REPLY_NIL;
  copy.is_error = reply.type == REDIS_REPLY_ERROR;
  if (reply.type == REDIS_REPLY_INTEGER) copy.text = std::to_string(reply.integer);
  if (reply.str != nullptr) copy.text.assign(reply.str, reply.len);
  for (std::size_t i = 0; i < reply.elements; ++i) copy.list.push_back(copied(*reply.element[i]));
  return copy;
}

// Returns {stamp, end, record, in how many of its places it is, whether it is live}. Reads the keys
// and records independently, so that a mistake in the backend's own reading shows.
const std::string looking = R"(
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local all = {}
local stamps = redis.call('ZRANGE', KEYS[1] .. ':leases', 0, -1, 'WITHSCORES')
for i = 1, #stamps, 2 do
  -- 0: ended for good; only its keys are still to be tidied up. Below: nothing of it is left but its
  -- stamp, so that it is not registered again.
  local stamp = stamps[i]
  if tonumber(stamps[i + 1]) < 0 then
    if redis.call('HEXISTS', KEYS[1], 'h:' .. stamp) == 1 then error('a record of ' .. stamp) end
  elseif stamps[i + 1] ~= '0' then
  local record = redis.call('HGET', KEYS[1], 'h:' .. stamp) or error('no record of ' .. stamp)
  local at = string.find(record, ';', 1, true) + 33
  local function number(till)
    local to = string.find(record, till, at, true)
    local value = tonumber(string.sub(record, at, to - 1))
    at = to + 1
    return value
  end
  local function text()
    local size = number(':')
    local value = string.sub(record, at, at + size - 1)
    at = at + size
    return value
  end
  local one = {stamp, stamps[i + 1], 0, 0, tonumber(stamps[i + 1]) > now and 1 or 0}
  local count = number(',')
  one[6] = text()
  number(';')
  text()
  text()
  one[3] = count
  for n = 1, count do
    local mode = string.sub(record, at, at)
    at = at + 1
    local name = text()
    one[#one + 1] = mode
    one[#one + 1] = name
    local value = redis.call('GET', KEYS[1] .. ':name:' .. name)
    local score = redis.call('ZSCORE', KEYS[1] .. ':shared:' .. name, stamp)
    if mode == 'w' and value == stamp then
      if not score then one[4] = one[4] + 1 end
    elseif score == (mode == 'w' and '-' or '') .. stamp then
      one[4] = one[4] + 1
    end
  end
  all[#all + 1] = one
  end
end
return all
)";

}  // namespace

RawRedis::RawRedis(const std::string& text) {
  const Url url = Url::parse(text).value();
  const std::size_t colon = url.hosts.rfind(':');
  context_ =
      ::redisConnect(url.hosts.substr(0, colon).c_str(), std::stoi(url.hosts.substr(colon + 1)));
  if (context_ == nullptr || context_->err != 0) {
    if (context_ != nullptr) ::redisFree(context_);
    throw std::runtime_error("no connection to " + url.hosts);
  }
  if (!url.password.empty()) {
    std::vector<std::string> login{"AUTH"};
    if (!url.user.empty()) login.push_back(url.user);
    login.push_back(url.password);
    say(login);
  }
  if (url.path.size() > 1 && url.path != "/0")
    say({"SELECT", url.path.substr(1)});  // sentinels can't
}

RawRedis::~RawRedis() { ::redisFree(context_); }

RawReply RawRedis::ask(const std::vector<std::string>& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const std::string& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  auto* reply = static_cast<redisReply*>(
      ::redisCommandArgv(context_, static_cast<int>(words.size()), words.data(), sizes.data()));
  if (reply == nullptr) throw std::runtime_error(std::string("Redis: ") + context_->errstr);
  RawReply copy = copied(*reply);
  ::freeReplyObject(reply);
  return copy;
}

RawReply RawRedis::say(const std::vector<std::string>& command) {
  RawReply reply = ask(command);
  if (reply.is_error) throw std::runtime_error(command.front() + ": " + reply.text);
  return reply;
}

std::string RawRedis::info(const std::string& name) {
  const std::string all = "\n" + text({"INFO"});
  const std::size_t at = all.find("\n" + name + ":");
  if (at == std::string::npos) return {};
  const std::size_t from = at + name.size() + 2;
  return all.substr(from, all.find_first_of("\r\n", from) - from);
}

std::vector<conformance::RawHold> look_into(RawRedis& client, const std::string& space) {
  std::vector<conformance::RawHold> holds;
  for (const RawReply& one : client.say({"EVAL", looking, "1", "{" + space + "}"}).list) {
    conformance::RawHold hold;
    hold.stamp = Stamp{std::stoll(one.list.at(0).text)};
    hold.app = one.list.at(5).text;
    if (one.list.at(4).text == "1" && one.list.at(2).text != one.list.at(3).text) {
      throw std::runtime_error("of the " + one.list.at(2).text + " names of hold " +
                               one.list.at(0).text + " " + one.list.at(3).text + " are held");
    }
    for (std::size_t i = 6; i + 1 < one.list.size(); i += 2) {
      hold.items.push_back(
          {one.list[i + 1].text, one.list[i].text == "r" ? Mode::read : Mode::write});
    }
    holds.push_back(std::move(hold));
  }
  std::sort(holds.begin(), holds.end(),
            [](const auto& a, const auto& b) { return a.stamp < b.stamp; });
  return holds;
}

}  // namespace lockset::test
