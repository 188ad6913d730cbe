#include "benchmarks/rivals/redis_link.h"

#include <unistd.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "backends/redis/open_socket.h"
#include "backends/redis/tls.h"

namespace lockset::bench::redis {
namespace {

[[noreturn]] void fail(std::string_view what) { throw std::runtime_error(std::string(what)); }

}  // namespace

Options options_of(const Url& url) {
  Result<Options> options = lockset::redis::parse_address(url);
  if (!options) fail(options.error().message);
  return *std::move(options);
}

Link::Link(const Options& options) {
  const Result<int> fd =
      lockset::redis::open_socket(options, BootClock::now() + options.connect_timeout);
  if (!fd) fail(fd.error().message);
  context_.reset(::redisConnectFd(*fd));
  if (!context_) {
    ::close(*fd);
    throw std::bad_alloc();
  }
  if (options.tls) {
    if (const Status status = lockset::redis::start_tls(*context_, options); !status) {
      fail(status.error().message);
    }
  }
  if (!options.password.empty()) {
    std::vector<std::string_view> words{"AUTH"};
    if (!options.user.empty()) words.push_back(options.user);
    words.push_back(options.password);
    call(words);
  }
  if (options.database != 0) call({"SELECT", std::to_string(options.database)});
}

void Link::put(std::span<const std::string_view> words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  texts.reserve(words.size());
  sizes.reserve(words.size());
  for (const std::string_view word : words) {
    texts.push_back(word.data() != nullptr ? word.data() : "");
    sizes.push_back(word.size());
  }
  if (::redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                               sizes.data()) != REDIS_OK) {
    fail(context_->errstr);
  }
}

Reply Link::take() {
  void* answer = nullptr;
  if (::redisGetReply(context_.get(), &answer) != REDIS_OK) fail(context_->errstr);
  Reply reply(answer);
  if (reply.is_error()) fail(reply.text());
  return reply;
}

Reply Link::call(std::span<const std::string_view> words) {
  put(words);
  return take();
}

std::string Link::load(std::string_view script) {
  return std::string(call({"SCRIPT", "LOAD", script}).text());
}

}  // namespace lockset::bench::redis
