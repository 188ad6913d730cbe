// A client that bypasses the backend and its library: lines of the text protocol over one socket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockset::test {

// Throws std::runtime_error if the connection fails. Not thread-safe.
class RawMemcached {
 public:
  explicit RawMemcached(std::uint16_t port);
  RawMemcached(const RawMemcached&) = delete;
  RawMemcached& operator=(const RawMemcached&) = delete;
  ~RawMemcached();

  // Sends a line, and reads one.
  std::string say(const std::string& line);
  struct Item {
    std::string value;
    std::uint64_t cas = 0;
  };
  std::optional<Item> get(const std::string& key);
  // "STORED", "EXISTS", "NOT_FOUND" ...: `command` is "set", "add" or "cas".
  std::string store(const std::string& command, const std::string& key, const std::string& value,
                    std::uint64_t cas = 0);

 private:
  void send(const std::string& bytes);
  std::string line();
  std::string bytes(std::size_t count);

  int fd_ = -1;
  std::string read_;
};

}  // namespace lockset::test
