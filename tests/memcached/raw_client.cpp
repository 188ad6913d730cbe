#include "tests/memcached/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

namespace lockset::test {

RawMemcached::RawMemcached(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd_);
    throw std::runtime_error("memcached does not answer");
  }
}

RawMemcached::~RawMemcached() { ::close(fd_); }

void RawMemcached::send(const std::string& bytes) {
  if (::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("memcached's connection is gone");
  }
}

std::string RawMemcached::bytes(std::size_t count) {
  while (read_.size() < count) {
    char buffer[4096];
    const ssize_t size = ::recv(fd_, buffer, sizeof buffer, 0);
    if (size <= 0) throw std::runtime_error("memcached's connection is gone");
    read_.append(buffer, static_cast<std::size_t>(size));
  }
  std::string result = read_.substr(0, count);
  read_.erase(0, count);
  return result;
}

std::string RawMemcached::line() {
  std::size_t end = 0;
  while ((end = read_.find("\r\n")) == std::string::npos) {
    read_ = bytes(read_.size() + 1) + read_;
  }
  std::string result = bytes(end);
  bytes(2);
  return result;
}

std::string RawMemcached::say(const std::string& text) {
  send(text + "\r\n");
  return line();
}

std::optional<RawMemcached::Item> RawMemcached::get(const std::string& key) {
  std::istringstream words(say("gets " + key));
  std::string word;
  words >> word;
  if (word != "VALUE") return {};
  std::string flags;
  std::size_t size = 0;
  Item item;
  words >> word >> flags >> size >> item.cas;
  item.value = bytes(size);
  bytes(2);
  line();
  return item;
}

std::string RawMemcached::store(const std::string& command, const std::string& key,
                                const std::string& value, std::uint64_t cas) {
  const std::string unique = command == "cas" ? " " + std::to_string(cas) : "";
  return say(command + " " + key + " 0 0 " + std::to_string(value.size()) + unique + "\r\n" +
             value);
}

}  // namespace lockset::test
