#include "backends/zookeeper/session.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/server/sigpipe_guard.h"
#include "backends/zookeeper/descriptors.h"
#include "backends/zookeeper/refusal.h"
#include "core/shortage.h"
#include "core/signals_blocked.h"

namespace lockset::zookeeper {
namespace {

// The client library does not tell when a server has accepted its connection.
constexpr Duration handshake_poll = std::chrono::milliseconds(250);

// The digits that a server adds to the path of a sequential node, at most.
constexpr std::size_t longest_sequence = 11;

// Its messages would go to stderr; the errors report what matters.
void ignore_log(const char*) {}

NodeStat stat_of(const Stat* stat) {
  if (stat == nullptr) return {};
  return {stat->czxid,          stat->mzxid,       stat->ctime, stat->mtime,     stat->version,
          stat->ephemeralOwner, stat->numChildren, stat->pzxid, stat->dataLength};
}

int mode_of(Lasting lasting) {
  switch (lasting) {
    case Lasting::persistent:
      break;
    case Lasting::ephemeral:
      return ZOO_EPHEMERAL;
    case Lasting::ephemeral_sequential:
      return ZOO_EPHEMERAL_SEQUENTIAL;
  }
  return ZOO_PERSISTENT;
}

// Requests that were sent together, until the last reply.
struct Batch {
  std::mutex mutex;
  std::condition_variable changed;
  Replies replies;
  std::size_t missing = 0;
  bool given_up = false;
  Session::Late late;
  std::shared_ptr<std::atomic<int>> overdue;  // the session's count of batches given up

  void done(std::size_t index, Reply reply) {
    Session::Late tell;
    {
      const std::lock_guard lock(mutex);
      replies[index] = std::move(reply);
      if (--missing != 0) return;
      if (given_up) {
        --*overdue;
        tell = std::move(late);
      }
    }
    changed.notify_one();     // a woken thread finds the mutex free
    if (tell) tell(replies);  // no other thread reads them any more
  }
};

}  // namespace

struct Session::Native {
  // There is one for all that watch the same of a node. The client library knows it by its address,
  // and keeps a watch until it fires: waiters that give up must not pile up there. Guarded by
  // `mutex`.
  struct Watch {
    Native* native;
    std::pair<Kind, std::string> what;
    std::vector<std::pair<std::weak_ptr<Signal>, unsigned>> signals;
    std::size_t under_way = 0;  // requests that set it
    bool set = false;           // the client library has it

    void raise(std::unique_lock<std::mutex> lock) {
      const auto all = signals;
      lock.unlock();
      for (const auto& [weak, bit] : all) {
        if (const std::shared_ptr<Signal> signal = weak.lock()) signal->raise(bit);
      }
    }
  };

  zhandle_t* handle = nullptr;
  const ACL_vector* usual_acl = &ZOO_OPEN_ACL_UNSAFE;
  std::shared_ptr<const Acl> given_acl;  // guarded by `mutex`
  std::shared_ptr<std::atomic<int>> overdue = std::make_shared<std::atomic<int>>(0);
  Session::Connections connections;
  std::string identity;     // "user:password"; empty: no user
  bool identified = false;  // the client library knows it; guarded by `mutex`
  // Changed by the thread that also calls for each reply, in the order of events.
  std::atomic<ConnectionNumber> connection = 0;

  std::mutex mutex;
  std::condition_variable changed;
  int state = 0;       // ZOO_..._STATE; 0: none yet
  int timeout_ms = 0;  // 0: never connected yet
  bool ignored = false;
  bool cut = false;
  std::int64_t id = 0;
  std::map<std::pair<Kind, std::string>, Watch> watches;

  // An ACL in the client library's form; the library copies it in the call.
  class LibraryAcl {
   public:
    explicit LibraryAcl(const Acl& acl) {
      for (const AclEntry& entry : acl) {
        entries_.push_back(
            {entry.rights,
             {const_cast<char*>(entry.scheme.c_str()), const_cast<char*>(entry.id.c_str())}});
      }
      vector_ = {static_cast<std::int32_t>(entries_.size()), entries_.data()};
    }
    LibraryAcl(const LibraryAcl&) = delete;
    LibraryAcl& operator=(const LibraryAcl&) = delete;
    [[nodiscard]] ACL_vector* get() noexcept { return &vector_; }

   private:
    std::vector<ACL> entries_;
    ACL_vector vector_{};
  };

  // What one request needs until its completion.
  struct Pending {
    Native* native;
    std::shared_ptr<Batch> batch;
    std::size_t index;
    Request request;
    Watch* watch = nullptr;
    std::vector<zoo_op_t> ops{};
    std::vector<zoo_op_result_t> results{};
    std::vector<Stat> stats{};
    std::vector<std::string> paths{};  // room for those of sequential nodes
  };

  static void on_session(zhandle_t* handle, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto* native = static_cast<Native*>(context);
    const std::lock_guard lock(native->mutex);
    // Until the session has identified itself, it does not count as connected.
    if (state == ZOO_CONNECTED_STATE && !native->identify(handle)) state = ZOO_CONNECTING_STATE;
    native->state = state;
    if (state != ZOO_CONNECTED_STATE && native->timeout_ms != 0) native->cut = true;
    if (state == ZOO_CONNECTED_STATE) {
      native->connection = ++*native->connections;
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      auto* const address = reinterpret_cast<sockaddr*>(&peer);
      if (zookeeper_get_connected_host(handle, address, &length) != nullptr) {
        sockets_close_on_exec(address, length);
      }
      native->timeout_ms = zoo_recv_timeout(handle);
      native->id = zoo_client_id(handle)->client_id;
    }
    native->changed.notify_all();
  }

  // The library identifies itself first in each connection once it knows the identity. Between
  // connections it does not accept it (3.8.0: ZINVALIDSTATE after a refused one). So it learns it
  // in the first connection; requests made there come after it. `mutex` is held.
  bool identify(zhandle_t* connected) {
    if (!identity.empty() && !identified) {
      identified = zoo_add_auth(connected, "digest", identity.data(),
                                static_cast<int>(identity.size()), nullptr, nullptr) == ZOK;
    }
    return identity.empty() || identified;
  }

  static void on_watch(zhandle_t*, int type, int state, const char*, void* context) {
    auto* watch = static_cast<Watch*>(context);
    std::unique_lock lock(watch->native->mutex);
    if (type == ZOO_SESSION_EVENT) {
      // All watches see this event and stay; only the session's end matters to a waiter.
      if (state == ZOO_EXPIRED_SESSION_STATE) watch->raise(std::move(lock));
      return;
    }
    Watch fired = *watch;
    watch->signals.clear();
    watch->set = false;  // it fires once
    watch->native->forget_unless_used(*watch);
    fired.raise(std::move(lock));
  }

  static void finish(const void* data, Reply reply) {
    const std::unique_ptr<Pending> pending(static_cast<Pending*>(const_cast<void*>(data)));
    // In the order in which the client library set the watch and saw it fire.
    if (pending->watch != nullptr) pending->native->answered(*pending->watch, reply.ok());
    reply.connection = pending->native->connection;
    pending->batch->done(pending->index, std::move(reply));
  }
  static void on_void(int code, const void* data) { finish(data, {.code = code}); }
  static void on_stat(int code, const Stat* stat, const void* data) {
    finish(data, {.code = code, .stat = code == ZOK ? stat_of(stat) : NodeStat()});
  }
  static void on_data(int code, const char* value, int length, const Stat* stat, const void* data) {
    Reply reply{.code = code};
    if (code == ZOK) {
      reply.stat = stat_of(stat);
      if (value != nullptr && length > 0)
        reply.text.assign(value, static_cast<std::size_t>(length));
    }
    finish(data, std::move(reply));
  }
  static void on_children(int code, const String_vector* strings, const Stat* stat,
                          const void* data) {
    Reply reply{.code = code};
    if (code == ZOK) {
      reply.stat = stat_of(stat);
      reply.children.assign(strings->data, strings->data + strings->count);
    }
    finish(data, std::move(reply));
  }
  static void on_string(int code, const char* value, const void* data) {
    Reply reply{.code = code};
    if (code == ZOK && value != nullptr) reply.text = value;
    finish(data, std::move(reply));
  }
  static void on_multi(int code, const void* data) {
    const auto* pending = static_cast<const Pending*>(data);
    Reply reply{.code = code};
    for (std::size_t i = 0; i < pending->results.size(); ++i) {
      Reply& part = reply.parts.emplace_back();
      part.code = pending->results[i].err;
      if (code == ZOK) part.stat = stat_of(&pending->stats[i]);
      if (code == ZOK) part.text = pending->paths[i].c_str();
    }
    finish(data, std::move(reply));
  }

  static void on_acl(int code, ACL_vector* acl, Stat*, const void* data) {
    Reply reply{.code = code};
    for (std::int32_t i = 0; code == ZOK && i < acl->count; ++i) {
      const ACL& entry = acl->data[i];
      reply.acl.push_back({entry.perms, entry.id.scheme, entry.id.id});
    }
    finish(data, std::move(reply));
  }

  void add_op(const Request& part, const ACL_vector* acl, zoo_op_t& op, Stat& stat,
              std::string& path) const {
    const int length = static_cast<int>(part.data.size());
    switch (part.kind) {
      case Kind::create:
        if (part.lasting == Lasting::ephemeral_sequential) {
          path.resize(part.path.size() + longest_sequence + 1);
        }
        zoo_create_op_init(&op, part.path.c_str(), part.data.data(), length, acl,
                           mode_of(part.lasting), path.empty() ? nullptr : path.data(),
                           static_cast<int>(path.size()));
        break;
      case Kind::set:
        zoo_set_op_init(&op, part.path.c_str(), part.data.data(), length, part.version, &stat);
        break;
      case Kind::remove:
        zoo_delete_op_init(&op, part.path.c_str(), part.version);
        break;
      default:
        zoo_check_op_init(&op, part.path.c_str(), part.version);
        break;
    }
  }

  // Returns the client library's code; if that is ZOK, the library owns `pending`.
  int submit(Pending* pending) {
    std::shared_ptr<const Acl> given;
    {
      const std::lock_guard lock(mutex);
      given = given_acl;
    }
    if (!given) return submit(pending, usual_acl);
    LibraryAcl acl(*given);
    return submit(pending, acl.get());
  }

  int submit(Pending* pending, const ACL_vector* acl) {
    const Request& request = pending->request;
    const char* path = request.path.c_str();
    const int length = static_cast<int>(request.data.size());
    switch (request.kind) {
      case Kind::sync:
        return zoo_async(handle, path, on_string, pending);
      case Kind::exists:
        return zoo_aexists(handle, path, 0, on_stat, pending);
      case Kind::get:
        return pending->watch != nullptr
                   ? zoo_awget(handle, path, on_watch, pending->watch, on_data, pending)
                   : zoo_aget(handle, path, 0, on_data, pending);
      case Kind::children:
        return pending->watch != nullptr
                   ? zoo_awget_children2(handle, path, on_watch, pending->watch, on_children,
                                         pending)
                   : zoo_aget_children2(handle, path, 0, on_children, pending);
      case Kind::create:
        return zoo_acreate(handle, path, request.data.data(), length, acl, mode_of(request.lasting),
                           on_string, pending);
      case Kind::set:
        return zoo_aset(handle, path, request.data.data(), length, request.version, on_stat,
                        pending);
      case Kind::remove:
        return zoo_adelete(handle, path, request.version, on_void, pending);
      case Kind::acl:
        return zoo_aget_acl(handle, path, on_acl, pending);
      case Kind::set_acl: {
        LibraryAcl wanted(request.acl);
        return zoo_aset_acl(handle, path, any_version, wanted.get(), on_void, pending);
      }
      case Kind::check:
      case Kind::multi:
        break;
    }
    const std::size_t count = request.parts.size();
    pending->ops.resize(count);
    pending->results.resize(count);
    pending->stats.resize(count);
    pending->paths.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      add_op(request.parts[i], acl, pending->ops[i], pending->stats[i], pending->paths[i]);
    }
    return zoo_amulti(handle, static_cast<int>(count), pending->ops.data(), pending->results.data(),
                      on_multi, pending);
  }

  Watch* watch_for(const Request& request) {
    if (!request.watch) return nullptr;
    const std::lock_guard lock(mutex);
    const std::pair<Kind, std::string> what{request.kind, request.path};
    Watch& watch = watches.try_emplace(what, Watch{this, what, {}, 0, false}).first->second;
    std::erase_if(watch.signals, [](const auto& one) { return one.first.expired(); });
    const auto same = [&](const auto& one) {
      return one.second == request.watch_bit && one.first.lock() == request.watch;
    };
    if (std::none_of(watch.signals.begin(), watch.signals.end(), same)) {
      watch.signals.emplace_back(request.watch, request.watch_bit);
    }
    ++watch.under_way;
    return &watch;
  }
  void answered(Watch& watch, bool set) {
    const std::lock_guard lock(mutex);
    --watch.under_way;
    watch.set = watch.set || set;
    forget_unless_used(watch);
  }
  // `mutex` is held.
  void forget_unless_used(Watch& watch) {
    if (!watch.set && watch.under_way == 0) watches.erase(std::pair(watch.what));
  }
};

Session::Session(const Options& options, Duration timeout, Duration handshake,
                 Connections connections)
    : where_(options.shown()),
      hosts_(options.hosts),
      asked_timeout_(timeout),
      handshake_(handshake),
      native_(std::make_unique<Native>()) {
  native_->connections = std::move(connections);
  if (options.user.empty()) return;
  native_->identity = options.user + ":" + options.password;
  // A user that is identified gives others no access to the nodes that it makes.
  native_->usual_acl = &ZOO_CREATOR_ALL_ACL;
}

// Makes the client library's handle, or sets errno.
void Session::begin(const Options& options) {
  const auto timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(asked_timeout_).count();
  // The client library doubles the number, and can't count more than this.
  constexpr std::int64_t most_ms = 500'000'000;
  zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
  const NewPipes pipes;
  native_->handle = zookeeper_init2(options.library_hosts.c_str(), Native::on_session,
                                    static_cast<int>(std::min(timeout_ms, most_ms)), nullptr,
                                    native_.get(), ZOO_NO_LOG_CLIENTENV, ignore_log);
  if (native_->handle == nullptr) return;
  // Otherwise the library looks up the servers' names before every read and write, and a child that
  // is forked meanwhile finds the C library's lock for that taken for ever.
  zoo_set_servers_resolution_delay(native_->handle, -1);
  pipes.close_on_exec();
}

Result<std::shared_ptr<Session>> Session::open(const Options& options, Duration timeout,
                                               Duration handshake, Connections connections) {
  std::shared_ptr<Session> session(
      new Session(options, timeout, handshake, std::move(connections)));
  // The library's threads inherit blocked signals. This thread goes on receiving them: looking up
  // names may take long.
  int error = 0;
  try {
    std::thread beginning;
    {
      const SignalsBlocked blocked;
      const server::SigpipeGuard no_sigpipe(true);  // it writes without MSG_NOSIGNAL
      beginning = std::thread([&] {
        session->begin(options);
        error = errno;
      });
    }
    beginning.join();
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  }
  if (session->native_->handle == nullptr) {
    const bool unknown = error == EINVAL || error == ENOENT;
    return Error{Errc::unavailable,
                 options.shown() +
                     (unknown ? ": the servers' names are not known: check the address"
                              : ": can't begin to connect") +
                     " (" + std::strerror(error) + ")"};
  }
  return session;
}

Session::~Session() {
  if (native_->handle != nullptr) {
    const SignalsBlocked blocked;
    const server::SigpipeGuard no_sigpipe(true);  // it writes without MSG_NOSIGNAL
    zookeeper_close(native_->handle);
  }
}

Status Session::ready(TimePoint by) {
  std::unique_lock lock(native_->mutex);
  const auto settled = [&] {
    const int state = native_->state;
    return state == ZOO_CONNECTED_STATE || state == ZOO_EXPIRED_SESSION_STATE ||
           state == ZOO_AUTH_FAILED_STATE;
  };
  bool looked = false;                 // whether it was checked that a server listens
  TimePoint taken = TimePoint::max();  // when a server was first seen to have its connection
  while (!settled()) {
    const TimePoint now = BootClock::now();
    const Duration left = by - now;
    const bool waiting =
        native_->timeout_ms == 0 && zoo_state(native_->handle) == ZOO_ASSOCIATING_STATE;
    taken = waiting ? std::min(taken, now) : TimePoint::max();
    if (waiting && now - taken >= handshake_) native_->ignored = true;
    if (left <= Duration::zero() || native_->ignored) {
      const char* const why =
          no_descriptor_left()
              ? ": can't open a socket: raise the limit on open files (ulimit -n)"
              : ": no server answers: do they run, is the address right, and do they admit more "
                "connections (maxClientCnxns)?";
      return Error{Errc::unavailable, where_ + why};
    }
    native_->changed.wait_for(lock, std::min<Duration>(left, handshake_poll));
    // Only once, because the queue of a server that hangs has little room.
    if (looked || settled() || native_->timeout_ms != 0) continue;
    looked = true;
    lock.unlock();
    const bool refused = all_refuse(hosts_);
    lock.lock();
    if (refused && !settled()) {
      return Error{
          Errc::unavailable,
          where_ +
              ": all servers refused the connection: are they running, and is the address right?"};
    }
  }
  if (native_->state == ZOO_CONNECTED_STATE) return {};
  return error_from(native_->state == ZOO_AUTH_FAILED_STATE ? ZAUTHFAILED : ZSESSIONEXPIRED, where_,
                    Sent::nothing);
}

Result<Replies> Session::run(std::vector<Request> requests, TimePoint by, Late late,
                             const Submitted& submitted) {
  const bool repeatable = std::all_of(requests.begin(), requests.end(), [](const Request& request) {
    return request.kind <= Kind::acl && !request.watch;
  });
  if (!repeatable) return send(std::move(requests), by, std::move(late), submitted);
  while (true) {
    Result<Replies> replies = send(requests, by, late, submitted);
    const bool lost = replies && std::any_of(replies->begin(), replies->end(), [](const Reply& r) {
                        return r.code == ZCONNECTIONLOSS || r.code == ZRUNTIMEINCONSISTENCY;
                      });
    if (!lost || BootClock::now() >= by) return replies;
  }
}

Result<Replies> Session::run_in(ConnectionNumber connection, std::vector<Request> requests,
                                TimePoint by, Late late, const Submitted& submitted) {
  return send(std::move(requests), by, std::move(late), submitted, connection);
}

// zoo_amulti on a session that has ended frees paths of ours (3.8.0: from its second operation on
// it gives free() what the one before had). A session ends while it connects, never from one moment
// to the next while it is connected; on_session hears of it only later.
Status Session::connected_for_multi(TimePoint by) {
  while (true) {
    if (Status settled = ready(by); !settled) return settled;
    if (zoo_state(native_->handle) == ZOO_CONNECTED_STATE) return {};
    if (BootClock::now() >= by)
      return Error{Errc::unavailable, where_ + ": the connection is lost"};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<Replies> Session::send(std::vector<Request> requests, TimePoint by, Late late,
                              const Submitted& submitted, ConnectionNumber only_in) {
  if (Status status = ready(by); !status) return status.error();
  const bool has_multi = std::any_of(requests.begin(), requests.end(), [](const Request& request) {
    return request.kind == Kind::multi;
  });
  if (has_multi) {
    if (Status connected = connected_for_multi(by); !connected) {
      if (alive()) return connected.error();
      Replies replies(requests.size());
      for (Reply& reply : replies) reply.code = ZSESSIONEXPIRED;
      return replies;
    }
  }
  if (only_in != 0 && connection() != only_in) {
    return Error{Errc::unavailable, where_ + ": the connection was lost before anything was sent"};
  }
  const auto batch = std::make_shared<Batch>();
  const std::size_t count = requests.size();
  batch->replies.resize(count);
  batch->missing = count;
  batch->late = std::move(late);
  batch->overdue = native_->overdue;
  for (std::size_t i = 0; i < count; ++i) {
    Native::Watch* const watch = native_->watch_for(requests[i]);
    auto* pending = new Native::Pending{native_.get(), batch, i, std::move(requests[i]), watch};
    const int code = native_->submit(pending);
    if (code != ZOK) Native::finish(pending, {.code = code});
  }
  if (submitted) submitted();
  std::unique_lock lock(batch->mutex);
  while (batch->missing != 0) {
    const Duration left = by - BootClock::now();
    if (left <= Duration::zero()) break;
    batch->changed.wait_for(lock, std::min<Duration>(left, std::chrono::seconds(1)));
  }
  if (batch->missing == 0) return std::move(batch->replies);
  batch->given_up = true;
  ++*batch->overdue;
  // Replies that have arrived are of no use without the others.
  Replies replies(count);
  for (Reply& reply : replies) reply.code = ZOPERATIONTIMEOUT;
  return replies;
}

bool Session::alive() const {
  const std::lock_guard lock(native_->mutex);
  return native_->state != ZOO_EXPIRED_SESSION_STATE && native_->state != ZOO_AUTH_FAILED_STATE;
}

void Session::set_acl(std::shared_ptr<const Acl> acl) {
  const std::lock_guard lock(native_->mutex);
  native_->given_acl = std::move(acl);
}

ConnectionNumber Session::connection() const noexcept { return native_->connection; }

bool Session::was_cut() const {
  const std::lock_guard lock(native_->mutex);
  return native_->cut;
}

bool Session::ignored() const {
  const std::lock_guard lock(native_->mutex);
  return native_->ignored;
}

bool Session::connected() const {
  const std::lock_guard lock(native_->mutex);
  return native_->state == ZOO_CONNECTED_STATE;
}

bool Session::stuck() const { return *native_->overdue != 0; }

Duration Session::timeout() const {
  const std::lock_guard lock(native_->mutex);
  return std::chrono::milliseconds(native_->timeout_ms);
}

std::int64_t Session::id() const {
  const std::lock_guard lock(native_->mutex);
  return native_->id;
}

std::size_t weight(const Request& request) noexcept {
  std::size_t bytes = request.path.size() + request.data.size() + 60;
  for (const Request& part : request.parts) bytes += weight(part);
  return bytes;
}

}  // namespace lockset::zookeeper
