// What the server answered, as a value.
#pragma once

#include <hiredis/hiredis.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace lockset::redis {

// Reads, and never fails: what is not there is empty. Movable; owned by its outermost.
class Reply {
 public:
  Reply() = default;
  explicit Reply(void* reply) : reply_(static_cast<redisReply*>(reply)), owns_(true) {}
  Reply(Reply&& other) noexcept
      : reply_(std::exchange(other.reply_, nullptr)), owns_(std::exchange(other.owns_, false)) {}
  Reply& operator=(Reply&& other) noexcept {
    std::swap(reply_, other.reply_);
    std::swap(owns_, other.owns_);
    return *this;
  }
  ~Reply() {
    if (owns_) freeReplyObject(reply_);
  }

  [[nodiscard]] bool is_error() const { return is(REDIS_REPLY_ERROR); }
  [[nodiscard]] bool is_array() const { return is(REDIS_REPLY_ARRAY); }
  [[nodiscard]] bool is_nil() const { return reply_ == nullptr || is(REDIS_REPLY_NIL); }

  [[nodiscard]] std::size_t size() const { return is_array() ? reply_->elements : 0; }
  // Refers into this one.
  [[nodiscard]] Reply operator[](std::size_t index) const {
    Reply part;
    if (index < size()) part.reply_ = reply_->element[index];
    return part;
  }
  // Of a string, status or error.
  [[nodiscard]] std::string_view text() const {
    if (is(REDIS_REPLY_STRING) || is(REDIS_REPLY_STATUS) || is_error()) {
      return {reply_->str, reply_->len};
    }
    return {};
  }
  // Of an integer, or of a string that is one.
  [[nodiscard]] std::int64_t number() const {
    if (is(REDIS_REPLY_INTEGER)) return reply_->integer;
    const std::string_view digits = text();
    std::int64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }

 private:
  [[nodiscard]] bool is(int type) const { return reply_ != nullptr && reply_->type == type; }

  redisReply* reply_ = nullptr;
  bool owns_ = false;
};

}  // namespace lockset::redis
