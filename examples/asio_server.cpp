// A lock server for clients that speak a line: any number of them wait, and one thread serves all.
//
//   asio_server [URL]      URL is the store, by default memory:
//
// A client connects, sends the name that it wants and a newline, and gets the stamp once it is
// granted. It has the name until it closes the connection. Here fifty clients in the same program
// do so.
#include <lockset/asio.h>
#include <lockset/lockset.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

asio::awaitable<void> serve(std::shared_ptr<tcp::socket> client, lockset::Locks& locks) {
  const auto executor = co_await asio::this_coro::executor;
  error_code error;
  std::string line;
  co_await asio::async_read_until(*client, asio::dynamic_buffer(line, 300), '\n',
                                  asio::redirect_error(use_awaitable, error));
  if (error) co_return;
  line.pop_back();

  std::vector wanted{lockset::write(line)};
  lockset::Error why;
  lockset::Hold hold =
      co_await lockset::async_acquire(executor, locks, std::move(wanted), {.wait = 30s}, why,
                                      asio::redirect_error(use_awaitable, error));
  const std::string answer = error ? "error: " + why.message : std::to_string(hold.stamp().value);
  const std::string reply = answer + "\n";
  co_await asio::async_write(*client, asio::buffer(reply),
                             asio::redirect_error(use_awaitable, error));

  // Until the client closes the connection. If the hold is lost before, it must hear of that.
  lockset::async_wait_lost(executor, hold, [client](error_code ended) {
    error_code ignored;
    if (!ended) client->close(ignored);
  });
  std::array<char, 16> rest{};
  while (!error) {
    co_await client->async_read_some(asio::buffer(rest),
                                     asio::redirect_error(use_awaitable, error));
  }
  co_await lockset::async_release(executor, std::move(hold),
                                  asio::redirect_error(use_awaitable, error));
  if (error && error != lockset::Errc::not_held) std::cerr << error.message() << "\n";
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, lockset::Locks& locks, int how_many) {
  for (int i = 0; i < how_many; ++i) {
    auto client = std::make_shared<tcp::socket>(co_await acceptor.async_accept(use_awaitable));
    asio::co_spawn(acceptor.get_executor(), serve(std::move(client), locks), asio::detached);
  }
}

struct Served {
  int inside = 0;
  int granted = 0;
  bool twice = false;
};

asio::awaitable<void> be_client(tcp::endpoint server, Served& served) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, use_awaitable);
  const std::string name = "printer\n";
  co_await asio::async_write(socket, asio::buffer(name), use_awaitable);
  std::string stamp;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(stamp), '\n', use_awaitable);
  if (stamp.starts_with("error")) throw std::runtime_error(stamp);
  if (++served.inside > 1) served.twice = true;
  ++served.granted;
  // Others could come in here, if they were let.
  co_await asio::post(co_await asio::this_coro::executor, use_awaitable);
  --served.inside;
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr int clients = 50;
  lockset::Locks locks = lockset::open(argc > 1 ? argv[1] : "memory:").value();
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  asio::co_spawn(context, accept(acceptor, locks, clients), asio::detached);
  Served served;
  for (int i = 0; i < clients; ++i) {
    asio::co_spawn(context, be_client(acceptor.local_endpoint(), served), asio::detached);
  }
  context.run();
  std::cout << served.granted << " were served" << (served.twice ? ", two at a time\n" : "\n");
  return served.granted == clients && !served.twice ? 0 : 1;
} catch (const std::exception& error) {  // of .value(), for example if the store is away
  std::cerr << error.what() << "\n";
  return 2;
}
