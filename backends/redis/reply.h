// The server's answer as a value.
#pragma once

#include <hiredis/hiredis.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace lockset::redis {

// Reading never fails: missing parts are empty. Movable; the outermost reply owns everything.
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
  // Refers to this reply.
  [[nodiscard]] Reply operator[](std::size_t index) const {
    Reply part;
    if (index < size()) part.reply_ = reply_->element[index];
    return part;
  }
  // For a string, status or error.
  [[nodiscard]] std::string_view text() const {
    if (is(REDIS_REPLY_STRING) || is(REDIS_REPLY_STATUS) || is_error()) {
      return {reply_->str, reply_->len};
    }
    return {};
  }
  // The value of an integer, or of a string that is a number; without decimals.
  [[nodiscard]] std::int64_t number() const {
    if (is(REDIS_REPLY_INTEGER)) return reply_->integer;
    const std::string_view digits = text();
    const char* const end = digits.data() + digits.size();
    std::int64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), end, value);
    // From 7.2 on, scores have the shortest form: "1.795e+15".
    double score = 0;
    const bool shorter = error == std::errc() && rest != end && (*rest == '.' || *rest == 'e');
    if (shorter && std::from_chars(digits.data(), end, score).ec == std::errc() &&
        std::abs(score) < 0x1p63) {
      return static_cast<std::int64_t>(score);
    }
    return value;
  }

 private:
  [[nodiscard]] bool is(int type) const { return reply_ != nullptr && reply_->type == type; }

  redisReply* reply_ = nullptr;
  bool owns_ = false;
};

}  // namespace lockset::redis
