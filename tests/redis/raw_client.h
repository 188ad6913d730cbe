// A connection to Redis that bypasses the backend under test, for looking and changing.
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

// Used by one thread at a time. Calls throw std::runtime_error if the connection fails.
class RawRedis {
 public:
  // `url`: redis://[user]:password@host:port[/db]; its parameters are ignored.
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

// The holds according to the space's keys, read by one script, so that it is one state of the
// store. Throws if a live hold is incomplete.
std::vector<conformance::RawHold> look_into(RawRedis& client, const std::string& space);

}  // namespace lockset::test
