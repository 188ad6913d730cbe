// A connection to Redis past the backend under test, for looking and meddling.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/harness.h"

struct redisContext;

namespace lockset::test {

// An answer: a text (numbers too) or a list; nil is an empty text.
struct RawReply {
  std::string text;
  std::vector<RawReply> list;
  bool is_nil = false;
  bool is_error = false;
};

// Used by one thread at a time. Calls throw std::runtime_error when the connection fails.
class RawRedis {
 public:
  // `url`: redis://[user]:password@host:port[/db]; its parameters are of no account.
  explicit RawRedis(const std::string& url);
  RawRedis(const RawRedis&) = delete;
  RawRedis& operator=(const RawRedis&) = delete;
  ~RawRedis();

  RawReply ask(const std::vector<std::string>& command);
  // The same; throws for an error reply.
  RawReply say(const std::vector<std::string>& command);
  std::string text(const std::vector<std::string>& command) { return say(command).text; }
  std::int64_t number(const std::vector<std::string>& command) {
    return std::stoll(say(command).text);
  }
  // One line of INFO.
  std::string info(const std::string& name);

 private:
  redisContext* context_ = nullptr;
};

// What the space's keys say is held, by one script, so that it is one state of the store;
// throws if a live hold is not whole.
std::vector<conformance::RawHold> look_into(RawRedis& client, const std::string& space);

}  // namespace lockset::test
