// Lockset's waits as Boost.Asio asynchronous operations. Header only; needs Boost.Asio, at least of
// Boost 1.74 (link nothing more). lockset/lockset.h does not include it.
//
//   std::vector wanted{lockset::write("ws2")};  // GCC 12 can't have the list inside of co_await
//   lockset::Hold hold = co_await lockset::async_acquire(executor, locks, std::move(wanted),
//                                                        {.wait = 5s}, boost::asio::use_awaitable);
//
// A wait holds no thread: any number of them share the few threads of the Locks (ADR 0070).
//
// Each operation takes an executor first: the one on which the completion handler runs, unless the
// handler brings one along (boost::asio::bind_executor; a coroutine and use_future do). Handlers
// never run inside the initiating call. Until then the operation counts as work of that executor,
// so that io_context::run() waits for it. The Locks has to live until the operation is initiated;
// when it is destroyed, its operations complete with operation_aborted.
//
// If the execution context is destroyed first, the handlers are destroyed unrun, the acquires are
// cancelled, and a hold that was granted meanwhile is released. (Contexts that the executor does
// not name have to outlive their operations.)
//
// Cancellation: by the slot of the handler (Boost 1.77 or newer; every type of cancellation), and
// by AcquireOptions::stop. Then the operation completes with operation_aborted within some
// milliseconds, but not before the call to the store that is under way has ended, and nothing is
// held; or it completes with the hold that it was granted just before.
//
// Errors: boost::asio::error::operation_aborted for Errc::cancelled; for any other Errc an
// error_code that compares equal to it: `ec == lockset::Errc::timeout`. The error's text goes to
// `why` where that is given: it has to live until the completion, as a buffer does.
//
// Thread-safety: operations may be initiated by any threads at once.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context_as.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/system/error_code.hpp>

#if __has_include(<boost/asio/associated_cancellation_slot.hpp>)
#include <boost/asio/associated_cancellation_slot.hpp>
#define LOCKSET_ASIO_HAS_CANCELLATION_SLOTS 1
#endif

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lockset/error.h"
#include "lockset/export.h"
#include "lockset/hold.h"
#include "lockset/lock_set.h"
#include "lockset/locks.h"

namespace lockset LOCKSET_EXPORT {

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"  // of Boost's class, on purpose
#endif
// The category of error codes made from Errc. Its values are those of Errc plus one, because 0
// means success there.
inline const boost::system::error_category& asio_category() noexcept {
  class Category final : public boost::system::error_category {
   public:
    // The number makes the copies of several shared libraries equal.
    constexpr Category() noexcept : error_category(0x6c6f636b73657431) {}
    [[nodiscard]] const char* name() const noexcept override { return "lockset"; }
    [[nodiscard]] std::string message(int value) const override {
      return "lockset: " + std::string(to_string(static_cast<Errc>(value - 1)));
    }
  };
  static const Category category;
  return category;
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

inline boost::system::error_code make_error_code(Errc code) noexcept {
  if (code == Errc::cancelled) return boost::asio::error::operation_aborted;
  return {static_cast<int>(code) + 1, asio_category()};
}

}  // namespace LOCKSET_EXPORT

namespace boost::system {
template <>
struct is_error_code_enum<lockset::Errc> : std::true_type {};
}  // namespace boost::system

namespace lockset LOCKSET_EXPORT {

namespace asio_detail {

namespace net = boost::asio;
using boost::system::error_code;

class AnyOperation {
 public:
  AnyOperation() = default;
  AnyOperation(const AnyOperation&) = delete;
  AnyOperation& operator=(const AnyOperation&) = delete;
  virtual ~AnyOperation() = default;

  // Its execution context ends: destroys the handler, and gives up.
  virtual void abandon() noexcept = 0;
  void cancel() noexcept { stop_.request_stop(); }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

 private:
  std::stop_source stop_;
};

// The operations that will post their handlers to one execution context. It may outlive the
// context. Thread-safe.
class Registry {
 public:
  // False: the context ends.
  bool add(std::shared_ptr<AnyOperation> operation) {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    AnyOperation* const key = operation.get();
    operations_.emplace(key, std::move(operation));
    return true;
  }

  // From now on it completes: the context stays until posted() is called. Null: it has completed
  // already, or the context has ended.
  std::shared_ptr<AnyOperation> take(AnyOperation* operation) {
    const std::lock_guard lock(mutex_);
    const auto found = operations_.find(operation);
    if (found == operations_.end()) return nullptr;
    std::shared_ptr<AnyOperation> taken = std::move(found->second);
    operations_.erase(found);
    ++posting_;
    return taken;
  }

  void posted() {
    const std::lock_guard lock(mutex_);
    --posting_;
    all_posted_.notify_all();
  }

  void end() {
    std::unordered_map<AnyOperation*, std::shared_ptr<AnyOperation>> left;
    {
      std::unique_lock lock(mutex_);
      ended_ = true;
      all_posted_.wait(lock, [&] { return posting_ == 0; });
      left.swap(operations_);
    }
    for (const auto& [key, operation] : left) operation->abandon();
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_posted_;
  std::unordered_map<AnyOperation*, std::shared_ptr<AnyOperation>> operations_;
  std::size_t posting_ = 0;
  bool ended_ = false;
};

// Learns that an execution context ends.
class RegistryService final : public net::execution_context::service {
 public:
  inline static net::execution_context::id id;

  explicit RegistryService(net::execution_context& context) : service(context) {}
  [[nodiscard]] const std::shared_ptr<Registry>& registry() const noexcept { return registry_; }

 private:
  void shutdown() override { registry_->end(); }
  const std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();
};

template <class Executor>
std::shared_ptr<Registry> registry_of(const Executor& executor) {
  using Context = net::execution::context_as_t<net::execution_context&>;
  if constexpr (net::can_query<const Executor&, Context>::value) {
    net::execution_context& context = net::query(executor, Context());
    return net::use_service<RegistryService>(context).registry();
  } else if constexpr (requires { net::use_service<RegistryService>(executor.context()); }) {
    return net::use_service<RegistryService>(executor.context()).registry();
  } else {
    return std::make_shared<Registry>();
  }
}

// An operation with the signature void(error_code, Values...).
template <class Handler, class IoExecutor, class... Values>
class Operation final
    : public AnyOperation,
      public std::enable_shared_from_this<Operation<Handler, IoExecutor, Values...>> {
 public:
  using Executor = net::associated_executor_t<Handler, IoExecutor>;

  Operation(Handler handler, const IoExecutor& executor, Error* why)
      : executor_(net::get_associated_executor(handler, executor)),
        registry_(registry_of(executor_)),
        why_(why) {
    ready_.emplace(std::move(handler), net::make_work_guard(executor_));
  }

  // False: its context ends; nothing will happen.
  bool start() {
    if (!registry_->add(this->shared_from_this())) return false;
#ifdef LOCKSET_ASIO_HAS_CANCELLATION_SLOTS
    auto slot = net::get_associated_cancellation_slot(ready_->handler);
    if (slot.is_connected()) {
      slot.assign([weak = this->weak_from_this()](net::cancellation_type /*any*/) {
        if (const auto self = weak.lock()) self->cancel();
      });
    }
#endif
    return true;
  }

  // Also cancels it when this one stops.
  void cancel_by(std::stop_token token) {
    relay_.emplace(std::move(token), Call([this] { cancel(); }));
  }
  // Completes it when that stops.
  void complete_by(std::stop_token token, std::optional<Error> error) {
    ends_.push_back(std::make_unique<std::stop_callback<Call>>(
        std::move(token),
        Call([this, error = std::move(error)] { complete(error, Values()...); })));
  }

  // Posts the handler, unless that has been done, or the context ends.
  void complete(std::optional<Error> error, Values... values) {
    std::shared_ptr<AnyOperation> self = registry_->take(this);
    if (!self) return;
    const Posting posting(registry_);
    const Executor executor = executor_;
    net::post(executor, [self = std::move(self), ready = *std::exchange(ready_, std::nullopt),
                         why = why_, error = std::move(error),
                         values = std::tuple(std::move(values)...)]() mutable {
      self.reset();
      Handler handler = std::move(ready.handler);
      // Until the handler has run.
      const Guard work = std::move(ready.work);
      const error_code code = error ? make_error_code(error->code) : error_code();
      if (error && why != nullptr) *why = *std::move(error);
      std::apply([&](Values&... each) { std::move(handler)(code, std::move(each)...); }, values);
    });
  }

  void abandon() noexcept override {
    ready_.reset();
    cancel();
  }

 private:
  using Call = std::function<void()>;
  using Guard = net::executor_work_guard<Executor>;
  struct Ready {
    Ready(Handler&& completion, Guard&& guard)
        : handler(std::move(completion)), work(std::move(guard)) {}
    Handler handler;
    Guard work;
  };
  struct Posting {
    explicit Posting(std::shared_ptr<Registry> of) : registry(std::move(of)) {}
    Posting(const Posting&) = delete;
    Posting& operator=(const Posting&) = delete;
    ~Posting() { registry->posted(); }
    const std::shared_ptr<Registry> registry;
  };

  const Executor executor_;
  const std::shared_ptr<Registry> registry_;
  Error* const why_;
  std::optional<Ready> ready_;
  std::optional<std::stop_callback<Call>> relay_;
  std::vector<std::unique_ptr<std::stop_callback<Call>>> ends_;
};

template <class... Values, class Handler, class IoExecutor>
auto make_operation(Handler&& handler, const IoExecutor& executor, Error* why) {
  return std::make_shared<Operation<std::decay_t<Handler>, IoExecutor, Values...>>(
      std::forward<Handler>(handler), executor, why);
}

struct StartAcquire {
  template <class Handler, class IoExecutor>
  void operator()(Handler&& handler, const IoExecutor& executor, Locks* locks,
                  std::vector<LockRequest> wanted, AcquireOptions options, Error* why) const {
    const auto operation = make_operation<Hold>(std::forward<Handler>(handler), executor, why);
    if (!operation->start()) return;
    if (options.stop.stop_possible()) operation->cancel_by(std::move(options.stop));
    options.stop = operation->stop_token();
    locks->start_acquire(std::move(wanted), options, [operation](Result<Hold> hold) {
      if (hold) {
        operation->complete(std::nullopt, *std::move(hold));
      } else {
        operation->complete(std::move(hold).error(), Hold());
      }
    });
  }
};

struct StartRelease {
  template <class Handler, class IoExecutor>
  void operator()(Handler&& handler, const IoExecutor& executor, Hold hold, Error* why) const {
    const auto operation = make_operation<>(std::forward<Handler>(handler), executor, why);
    // Also without a context: the release is what matters.
    operation->start();
    std::move(hold).start_release([operation](Status status) {
      operation->complete(status ? std::nullopt : std::optional(std::move(status).error()));
    });
  }
};

struct StartWaitLost {
  template <class Handler, class IoExecutor>
  void operator()(Handler&& handler, const IoExecutor& executor, std::stop_token lost,
                  std::stop_token ended, Error* why) const {
    const auto operation = make_operation<>(std::forward<Handler>(handler), executor, why);
    if (!operation->start()) return;
    if (!lost.stop_possible()) {
      return operation->complete(Error{Errc::not_held, "this Hold holds nothing"});
    }
    operation->complete_by(std::move(lost), std::nullopt);
    operation->complete_by(std::move(ended),
                           Error{Errc::cancelled, "the hold was not lost, but ended"});
    operation->complete_by(operation->stop_token(),
                           Error{Errc::cancelled, "the wait was cancelled"});
  }
};

}  // namespace asio_detail

// As Locks::acquire. Completes with void(error_code, Hold); the Hold is empty after an error.
template <class Executor, class Token>
auto async_acquire(const Executor& executor, Locks& locks, std::vector<LockRequest> wanted,
                   AcquireOptions options, Error& why, Token&& token) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code, Hold)>(
      asio_detail::StartAcquire(), token, executor, &locks, std::move(wanted), std::move(options),
      &why);
}
template <class Executor, class Token>
auto async_acquire(const Executor& executor, Locks& locks, std::vector<LockRequest> wanted,
                   AcquireOptions options, Token&& token) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code, Hold)>(
      asio_detail::StartAcquire(), token, executor, &locks, std::move(wanted), std::move(options),
      static_cast<Error*>(nullptr));
}

// As Hold::release. Completes with void(error_code). It can't be cancelled; when the execution
// context ends, the hold is released all the same.
template <class Executor, class Token>
auto async_release(const Executor& executor, Hold hold, Error& why, Token&& token) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
      asio_detail::StartRelease(), token, executor, std::move(hold), &why);
}
template <class Executor, class Token>
auto async_release(const Executor& executor, Hold hold, Token&& token) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
      asio_detail::StartRelease(), token, executor, std::move(hold), static_cast<Error*>(nullptr));
}

// Completes with void(error_code): without an error when the hold is lost (Hold::lost_reason says
// why); with operation_aborted when it has ended otherwise, or if the wait is cancelled; with
// Errc::not_held at once if it holds nothing. The Hold may be moved or destroyed meanwhile.
template <class Executor, class Token>
auto async_wait_lost(const Executor& executor, const Hold& hold, Token&& token) {
  return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
      asio_detail::StartWaitLost(), token, executor, hold.lost(), hold.ended(),
      static_cast<Error*>(nullptr));
}

}  // namespace LOCKSET_EXPORT
