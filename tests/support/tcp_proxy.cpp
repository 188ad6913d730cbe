#include "tests/support/tcp_proxy.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/tcp_link.h"

namespace lockset::test {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

const asio::ip::address loopback = asio::ip::address_v4::loopback();

}  // namespace

struct TcpProxy::Impl {
  explicit Impl(const tcp::endpoint& to) : server(to) {
    state.reset_all = [this] {
      for (const auto& link : links) link->end(Ending::reset);
    };
    acceptor = bound(0);
    port = acceptor->local_endpoint().port();
    acceptor->listen();
    accept();
    thread = std::jthread([this] { context.run(); });
  }

  // Bound to the port, but not listening: connections to it are refused.
  std::unique_ptr<tcp::acceptor> bound(std::uint16_t to_port) {
    auto made = std::make_unique<tcp::acceptor>(context, tcp::v4());
    // So that the next one can be bound before this one is closed, and nobody else gets the port in
    // between.
    const int on = 1;
    if (setsockopt(made->native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
      throw std::runtime_error("SO_REUSEPORT is refused");
    }
    made->bind({loopback, to_port});
    return made;
  }

  void accept() {
    acceptor->async_accept([this](error_code error, tcp::socket client) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        links.push_back(std::make_shared<TcpLink>(state, std::move(client)));
        ++accepted;
        links.back()->start(server);
      }
      accept();
    });
  }

  // Runs `action` on the proxy's thread, and returns after it.
  template <class Action>
  auto on_thread(Action action) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto done = task.get_future();
    asio::post(context, std::ref(task));
    return done.get();
  }

  void set_trap(ProxyState::Trap trap) {
    state.trap = trap;
    state.caught = false;
    for (const auto& link : links) link->expose(link->open());
  }

  tcp::endpoint server;
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::unique_ptr<tcp::acceptor> acceptor;
  std::uint16_t port = 0;
  ProxyState state;
  bool refusing = false;
  std::size_t accepted = 0;
  std::vector<std::shared_ptr<TcpLink>> links;
  std::jthread thread;
};

TcpProxy::TcpProxy(std::uint16_t server_port, const std::string& address)
    : impl_(std::make_unique<Impl>(tcp::endpoint(asio::ip::make_address(address), server_port))) {}

TcpProxy::~TcpProxy() {
  cut_all();
  impl_->context.stop();
}

std::uint16_t TcpProxy::port() const noexcept { return impl_->port; }

std::size_t TcpProxy::round_trips() const {
  std::size_t all = 0;
  for (const std::size_t one : round_trips_by_connection()) all += one;
  return all;
}

std::vector<std::size_t> TcpProxy::round_trips_by_connection() const {
  return impl_->on_thread([this] {
    std::vector<std::size_t> result;
    for (const auto& link : impl_->links) result.push_back(link->round_trips());
    return result;
  });
}

std::size_t TcpProxy::connections() const {
  return impl_->on_thread([this] { return impl_->accepted; });
}

std::size_t TcpProxy::open_connections() const {
  return impl_->on_thread([this] {
    return static_cast<std::size_t>(std::count_if(impl_->links.begin(), impl_->links.end(),
                                                  [](const auto& link) { return link->open(); }));
  });
}

void TcpProxy::reset_counts() {
  impl_->on_thread([this] {
    std::erase_if(impl_->links, [](const auto& link) { return !link->open(); });
    for (const auto& link : impl_->links) link->reset_count();
    impl_->accepted = 0;
  });
}

void TcpProxy::forward_to(std::uint16_t server_port, const std::string& address) {
  impl_->on_thread([&] { impl_->server = {asio::ip::make_address(address), server_port}; });
}

void TcpProxy::far(std::chrono::milliseconds delay) {
  impl_->on_thread([&] { impl_->state.delay = delay; });
}

void TcpProxy::catch_only(std::string_view beginning) {
  impl_->on_thread([&] { impl_->state.bait = beginning; });
}

void TcpProxy::cut_next_reply(std::size_t pass, Ending ending) {
  impl_->on_thread([&] { impl_->set_trap({ProxyState::Trap::Kind::cut_reply, pass, ending}); });
}

void TcpProxy::change_next_reply(std::size_t pass) {
  impl_->on_thread(
      [&] { impl_->set_trap({.kind = ProxyState::Trap::Kind::change_reply, .pass = pass}); });
}

void TcpProxy::hold_next_request() {
  impl_->on_thread([this] { impl_->set_trap({.kind = ProxyState::Trap::Kind::hold_request}); });
}

std::size_t TcpProxy::deliver_held() {
  return impl_->on_thread([this] {
    std::size_t count = 0;
    for (const auto& link : impl_->links) {
      if (!link->holds()) continue;
      link->deliver_held();
      ++count;
    }
    return count;
  });
}

bool TcpProxy::caught() const {
  return impl_->on_thread([this] { return impl_->state.caught; });
}

void TcpProxy::black_hole(Way way) {
  impl_->on_thread([&] {
    impl_->state.blocked_to_server = way != Way::to_client;
    impl_->state.blocked_to_client = way != Way::to_server;
  });
}

void TcpProxy::refuse() {
  impl_->on_thread([this] {
    if (std::exchange(impl_->refusing, true)) return;
    impl_->acceptor = impl_->bound(impl_->port);
  });
}

void TcpProxy::weather(const Weather& weather) {
  impl_->on_thread([&] {
    impl_->state.weather = weather;
    impl_->state.dice.seed(weather.seed);
    impl_->state.hits = 0;
  });
}

std::size_t TcpProxy::hits() const {
  return impl_->on_thread([this] { return impl_->state.hits; });
}

std::size_t TcpProxy::holding() const {
  return impl_->on_thread([this] {
    return static_cast<std::size_t>(std::count_if(impl_->links.begin(), impl_->links.end(),
                                                  [](const auto& link) { return link->holds(); }));
  });
}

void TcpProxy::heal() {
  impl_->on_thread([this] {
    impl_->state.weather.reset();
    impl_->state.delay = {};
    impl_->state.blocked_to_server = impl_->state.blocked_to_client = false;
    for (const auto& link : impl_->links) link->go_on();
    if (!std::exchange(impl_->refusing, false)) return;
    impl_->acceptor->listen();
    impl_->accept();
  });
}

void TcpProxy::cut_all() {
  impl_->on_thread([this] { impl_->state.reset_all(); });
}

}  // namespace lockset::test
