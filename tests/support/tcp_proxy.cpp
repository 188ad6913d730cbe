#include "tests/support/tcp_proxy.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace lockset::test {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// A server that has been silent for this long has said all that it had to say.
constexpr auto quiet = std::chrono::milliseconds(50);

const asio::ip::address loopback = asio::ip::address_v4::loopback();

// What the proxy is told to do to the next request.
struct Trap {
  enum class Kind : std::uint8_t { cut_reply, hold_request };
  Kind kind;
  std::size_t pass = 0;
  TcpProxy::Ending ending = TcpProxy::Ending::reset;
};

// Of the whole proxy; touched by its thread alone.
struct State {
  std::optional<Trap> trap;
  bool caught = false;
  bool blocked_to_server = false;
  bool blocked_to_client = false;
  std::chrono::milliseconds delay{0};  // of what the server says
  std::function<void()> reset_all;
};

// One client's connection and the one to the server that belongs to it.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(State& state, tcp::socket client)
      : state_(state),
        client_(std::move(client)),
        server_(client_.get_executor()),
        silence_(client_.get_executor()),
        on_its_way_(client_.get_executor()) {}

  void start(std::uint16_t server_port) {
    server_.async_connect({loopback, server_port}, [self = shared_from_this()](error_code error) {
      if (error) return self->end(TcpProxy::Ending::reset);
      error_code ignored;
      self->server_.set_option(tcp::no_delay(true), ignored);
      self->client_.set_option(tcp::no_delay(true), ignored);
      self->read(self->up_);
      self->read(self->down_);
    });
  }

  [[nodiscard]] bool open() const { return client_.is_open() || server_.is_open(); }
  [[nodiscard]] std::size_t round_trips() const { return round_trips_; }
  void reset_count() { round_trips_ = 0; }
  void expose(bool to_trap) { exposed_ = to_trap; }
  [[nodiscard]] bool holds() const { return !held_.empty(); }

  void deliver_held() {
    auto late = std::make_shared<std::string>(std::exchange(held_, {}));
    holding_ = false;
    asio::async_write(server_, asio::buffer(*late),
                      [self = shared_from_this(), late](error_code error, std::size_t) {
                        if (error) return self->end(TcpProxy::Ending::reset);
                        // Nobody is there to hear the answer: hear it out, then hang up.
                        if (!self->client_.is_open()) self->end_when_silent();
                      });
  }

  // After a block is lifted.
  void go_on() {
    for (Flow* flow : {&up_, &down_}) {
      if (flow->parked && !blocked(*flow)) {
        flow->parked = false;
        arrived(*flow, flow->parked_error, flow->size);
      }
    }
  }

  void end(TcpProxy::Ending ending) {
    if (cutting_) state_.caught = true;
    silence_.cancel();
    on_its_way_.cancel();
    close(client_, ending);
    close(server_, ending);
  }

 private:
  struct Flow {
    bool to_server;
    std::array<char, 16384> buffer{};
    std::size_t size = 0;  // of the buffer's content
    bool parked = false;   // it came while the way was blocked
    error_code parked_error{};
  };

  static void close(tcp::socket& socket, TcpProxy::Ending ending) {
    error_code ignored;
    if (ending != TcpProxy::Ending::close) {
      socket.set_option(asio::socket_base::linger(true, 0), ignored);
    }
    socket.close(ignored);
  }

  [[nodiscard]] bool blocked(const Flow& flow) const {
    return flow.to_server ? state_.blocked_to_server : state_.blocked_to_client;
  }

  void read(Flow& flow) {
    tcp::socket& from = flow.to_server ? client_ : server_;
    from.async_read_some(asio::buffer(flow.buffer),
                         [self = shared_from_this(), &flow](error_code error, std::size_t size) {
                           if (error == asio::error::operation_aborted) return;
                           if (self->blocked(flow)) {
                             flow.parked = true;
                             flow.parked_error = error;
                             flow.size = size;
                             return;
                           }
                           self->arrived(flow, error, size);
                         });
  }

  void arrived(Flow& flow, error_code error, std::size_t size) {
    flow.size = size;
    if (error) return ended(flow, error);
    if (flow.to_server) {
      from_client(flow);
    } else {
      from_server(flow);
    }
  }

  // One side has closed its connection.
  void ended(const Flow& flow, error_code error) {
    const auto ending =
        error == asio::error::eof ? TcpProxy::Ending::close : TcpProxy::Ending::reset;
    // The request on its way knows nothing of it.
    if (flow.to_server && holding_) return close(client_, ending);
    end(ending);
  }

  void from_client(Flow& flow) {
    if (state_.trap && exposed_ && !holding_ && !cutting_) {
      const Trap trap = *state_.trap;
      state_.trap.reset();
      holding_ = state_.caught = trap.kind == Trap::Kind::hold_request;
      if (!holding_) cutting_ = trap;
    }
    asked_ = true;
    if (holding_) {
      held_.append(flow.buffer.data(), flow.size);
      return read(flow);
    }
    write(flow, server_, flow.size);
  }

  void from_server(Flow& flow) {
    if (std::exchange(asked_, false)) ++round_trips_;
    std::size_t size = flow.size;
    if (cutting_) {
      size = std::min(size, cutting_->pass);
      cutting_->pass -= size;
      end_when_silent();
    }
    if (size == 0 || !client_.is_open()) {
      if (!client_.is_open()) end_when_silent();
      return read(flow);
    }
    if (state_.delay.count() == 0) return write(flow, client_, size);
    on_its_way_.expires_after(state_.delay);
    on_its_way_.async_wait([self = shared_from_this(), &flow, size](error_code error) {
      if (error) return;
      self->asked_ = false;  // what the client has sent meanwhile needed no answer
      self->write(flow, self->client_, size);
    });
  }

  void write(Flow& flow, tcp::socket& to, std::size_t size) {
    asio::async_write(to, asio::buffer(flow.buffer, size),
                      [self = shared_from_this(), &flow](error_code error, std::size_t) {
                        if (error) return self->end(TcpProxy::Ending::reset);
                        self->read(flow);
                      });
  }

  void end_when_silent() {
    silence_.expires_after(quiet);
    silence_.async_wait([self = shared_from_this()](error_code error) {
      if (error) return;  // it spoke again
      const auto ending = self->cutting_ ? self->cutting_->ending : TcpProxy::Ending::close;
      if (ending == TcpProxy::Ending::reset_all) return self->state_.reset_all();
      self->end(ending);
    });
  }

  State& state_;
  tcp::socket client_;
  tcp::socket server_;
  asio::steady_timer silence_;
  asio::steady_timer on_its_way_;
  Flow up_{.to_server = true};
  Flow down_{.to_server = false};
  bool exposed_ = false;         // to the trap
  std::optional<Trap> cutting_;  // its reply
  bool holding_ = false;
  std::string held_;
  bool asked_ = false;  // the client spoke last
  std::size_t round_trips_ = 0;
};

}  // namespace

struct TcpProxy::Impl {
  explicit Impl(std::uint16_t to_port) : server_port(to_port) {
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
    // So that the next one can be bound before this one is closed, and nobody else
    // gets the port between.
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
        links.push_back(std::make_shared<Link>(state, std::move(client)));
        ++accepted;
        links.back()->start(server_port);
      }
      accept();
    });
  }

  // Runs `action` on the proxy's thread, and returns when it is done.
  template <class Action>
  auto on_thread(Action action) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto done = task.get_future();
    asio::post(context, std::ref(task));
    return done.get();
  }

  void set_trap(Trap trap) {
    state.trap = trap;
    state.caught = false;
    for (const auto& link : links) link->expose(link->open());
  }

  const std::uint16_t server_port;
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::unique_ptr<tcp::acceptor> acceptor;
  std::uint16_t port = 0;
  State state;
  bool refusing = false;
  std::size_t accepted = 0;
  std::vector<std::shared_ptr<Link>> links;
  std::jthread thread;
};

TcpProxy::TcpProxy(std::uint16_t server_port) : impl_(std::make_unique<Impl>(server_port)) {}

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

void TcpProxy::far(std::chrono::milliseconds delay) {
  impl_->on_thread([&] { impl_->state.delay = delay; });
}

void TcpProxy::cut_next_reply(std::size_t pass, Ending ending) {
  impl_->on_thread([&] { impl_->set_trap({Trap::Kind::cut_reply, pass, ending}); });
}

void TcpProxy::hold_next_request() {
  impl_->on_thread([this] { impl_->set_trap({.kind = Trap::Kind::hold_request}); });
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

void TcpProxy::heal() {
  impl_->on_thread([this] {
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
