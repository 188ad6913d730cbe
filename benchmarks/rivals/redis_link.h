// A bare connection to the Redis server of an address, for the floor and the natives: with the same
// client library and the same kind of socket as Lockset's own.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/redis/address.h"
#include "backends/redis/reply.h"
#include "lockset/url.h"

namespace lockset::bench::redis {

using lockset::redis::Options;
using lockset::redis::Reply;

// Throws std::runtime_error.
Options options_of(const Url& url);

// Used by one thread at a time. Calls throw std::runtime_error with one line.
class Link {
 public:
  explicit Link(const Options& options);

  // Throws error replies.
  Reply call(std::span<const std::string_view> words);
  Reply call(std::initializer_list<std::string_view> words) {
    return call(std::span(words.begin(), words.size()));
  }
  // Several at once: put() each, then take() that many answers.
  void put(std::span<const std::string_view> words);
  void put(std::initializer_list<std::string_view> words) {
    put(std::span(words.begin(), words.size()));
  }
  Reply take();

  // The hash of a script, for EVALSHA.
  std::string load(std::string_view script);

 private:
  struct Free {
    void operator()(redisContext* context) const { ::redisFree(context); }
  };
  std::unique_ptr<redisContext, Free> context_;
};

// --- redis_fill.cpp ---
void fill(const Url& url, std::uint64_t count);

}  // namespace lockset::bench::redis
