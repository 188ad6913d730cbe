#include "tests/support/tcp_link.h"

#include <algorithm>
#include <utility>

namespace lockset::test {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// A server that was silent for this long has finished its reply.
constexpr auto quiet = std::chrono::milliseconds(50);

}  // namespace

TcpLink::TcpLink(ProxyState& state, Socket client)
    : state_(state),
      client_(std::move(client)),
      server_(client_.get_executor()),
      silence_(client_.get_executor()),
      on_its_way_(client_.get_executor()),
      late_(client_.get_executor()) {}

void TcpLink::start(const tcp::endpoint& server) {
  server_.async_connect(server, [self = shared_from_this()](Error error) {
    if (error) return self->end(TcpProxy::Ending::reset);
    Error ignored;
    self->server_.set_option(tcp::no_delay(true), ignored);
    self->client_.set_option(tcp::no_delay(true), ignored);
    self->read(self->up_);
    self->read(self->down_);
  });
}

void TcpLink::deliver_held() {
  if (delivering_) return;
  delivering_ = true;
  auto late = std::make_shared<std::string>(std::exchange(held_, {}));
  asio::async_write(server_, asio::buffer(*late),
                    [self = shared_from_this(), late](Error error, std::size_t) {
                      self->delivering_ = false;
                      if (error) return self->end(TcpProxy::Ending::reset);
                      // After what has come meanwhile.
                      if (self->holds()) return self->deliver_held();
                      self->holding_ = false;
                      // Nobody is left to hear the answer: hang up once it has come.
                      if (!self->client_.is_open() && !self->asked_) self->end_when_silent();
                    });
}

void TcpLink::go_on() {
  for (Flow* flow : {&up_, &down_}) {
    if (flow->parked && !blocked(*flow)) {
      flow->parked = false;
      arrived(*flow, flow->parked_error, flow->size);
    }
  }
}

void TcpLink::end(TcpProxy::Ending ending) {
  if (cutting_) state_.caught = true;
  silence_.cancel();
  on_its_way_.cancel();
  late_.cancel();
  held_.clear();
  close(client_, ending);
  close(server_, ending);
}

void TcpLink::close(Socket& socket, TcpProxy::Ending ending) {
  Error ignored;
  if (ending != TcpProxy::Ending::close) {
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
  }
  socket.close(ignored);
}

bool TcpLink::blocked(const Flow& flow) const {
  return flow.to_server ? state_.blocked_to_server : state_.blocked_to_client;
}

void TcpLink::read(Flow& flow) {
  Socket& from = flow.to_server ? client_ : server_;
  from.async_read_some(asio::buffer(flow.buffer),
                       [self = shared_from_this(), &flow](Error error, std::size_t size) {
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

void TcpLink::arrived(Flow& flow, Error error, std::size_t size) {
  flow.size = size;
  if (error) return ended(flow, error);
  if (flow.to_server) {
    from_client(flow);
  } else {
    from_server(flow);
  }
}

// One side has closed its connection.
void TcpLink::ended(const Flow& flow, Error error) {
  const auto ending = error == asio::error::eof ? TcpProxy::Ending::close : TcpProxy::Ending::reset;
  // A request on its way does not notice that.
  if (flow.to_server && holding_) return close(client_, ending);
  end(ending);
}

void TcpLink::from_client(Flow& flow) {
  const bool tempting = std::string_view(flow.buffer.data(), flow.size).starts_with(state_.bait);
  if (state_.trap && exposed_ && !holding_ && !cutting_ && tempting) {
    const ProxyState::Trap trap = *state_.trap;
    state_.trap.reset();
    holding_ = state_.caught = trap.kind == ProxyState::Trap::Kind::hold_request;
    if (trap.kind == ProxyState::Trap::Kind::cut_reply) cutting_ = trap;
    if (trap.kind == ProxyState::Trap::Kind::change_reply) changing_ = trap.pass;
  }
  if (!holding_ && !cutting_ && caught_by_weather()) return;
  asked_ = true;
  if (holding_) {
    held_.append(flow.buffer.data(), flow.size);
    return read(flow);
  }
  write(flow, server_, flow.size);
}

// Whether the connection ends here.
bool TcpLink::caught_by_weather() {
  if (!state_.weather) return false;
  const TcpProxy::Weather& weather = *state_.weather;
  double left = std::uniform_real_distribution<double>(0, 1)(state_.dice);
  const auto falls = [&left](double share) { return (left -= share) < 0; };
  if (falls(weather.reset)) {
    ++state_.hits;
    end(TcpProxy::Ending::reset);
    return true;
  }
  if (falls(weather.cut)) {
    const std::size_t pass =
        std::uniform_int_distribution<std::size_t>(0, weather.most_passed)(state_.dice);
    cutting_ = ProxyState::Trap{.kind = ProxyState::Trap::Kind::cut_reply, .pass = pass};
  } else if (falls(weather.hold)) {
    holding_ = true;
    late_.expires_after(std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(
        weather.shortest_hold.count(), weather.longest_hold.count())(state_.dice)));
    late_.async_wait([self = shared_from_this()](Error error) {
      if (!error) self->deliver_held();
    });
  } else if (falls(weather.half_close)) {
    if (state_.dice() % 2 == 0) {
      tell_server_end_ = true;
    } else {
      client_told_end_ = true;
      Error ignored;
      client_.shutdown(Socket::shutdown_send, ignored);
    }
  } else {
    return false;
  }
  ++state_.hits;
  return false;
}

void TcpLink::from_server(Flow& flow) {
  if (std::exchange(asked_, false)) ++round_trips_;
  std::size_t size = client_told_end_ ? 0 : flow.size;
  if (changing_ && *changing_ < size) {
    flow.buffer[*changing_] ^= 1;
    changing_.reset();
    state_.caught = true;
  }
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
  on_its_way_.async_wait([self = shared_from_this(), &flow, size](Error error) {
    if (error) return;
    self->asked_ = false;  // anything that the client has sent meanwhile needed no answer
    self->write(flow, self->client_, size);
  });
}

void TcpLink::write(Flow& flow, Socket& to, std::size_t size) {
  asio::async_write(to, asio::buffer(flow.buffer, size),
                    [self = shared_from_this(), &flow](Error error, std::size_t) {
                      if (error) return self->end(TcpProxy::Ending::reset);
                      if (flow.to_server && std::exchange(self->tell_server_end_, false)) {
                        Error ignored;
                        self->server_.shutdown(Socket::shutdown_send, ignored);
                      }
                      self->read(flow);
                    });
}

void TcpLink::end_when_silent() {
  silence_.expires_after(quiet);
  silence_.async_wait([self = shared_from_this()](Error error) {
    if (error) return;  // the server spoke again
    const auto ending = self->cutting_ ? self->cutting_->ending : TcpProxy::Ending::close;
    if (ending == TcpProxy::Ending::reset_all) return self->state_.reset_all();
    self->end(ending);
  });
}

}  // namespace lockset::test
