// Loaded into a server (LD_PRELOAD): its wall clock is the machine's plus the offset in the first
// eight bytes of the file LOCKSET_CLOCK_FILE, in nanoseconds. The offset may change while the
// server runs. Other clocks stay as they are, and so does every wait for a time on the wall clock:
// it takes as long as it would without a step.
//
// That page of memory is the only state: a server that is killed leaves nothing behind, and one
// that forks or has many threads sees one clock.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t no_offset = 0;
const std::int64_t* offset = &no_offset;  // set before the program's own code runs

std::int64_t stepped_by() { return __atomic_load_n(offset, __ATOMIC_RELAXED); }

__attribute__((constructor)) void map_offset() {
  const char* path = std::getenv("LOCKSET_CLOCK_FILE");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* page = mmap(nullptr, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) offset = static_cast<const std::int64_t*>(page);
  close(file);
}

void add(timespec& time, std::int64_t more) {
  const std::int64_t all = time.tv_sec * second + time.tv_nsec + more;
  time.tv_sec = all / second;
  time.tv_nsec = all % second;
}

// The C library's own function of that name; once known, it is found without a lock.
template <class Function>
Function* own(std::atomic<void*>& found, const char* name) {
  void* function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = dlsym(RTLD_NEXT, name);
    found.store(function, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function*>(function);
}

// Converts a deadline on the stepped clock to the machine's. A deadline on a clock that counts from
// the start of the machine is small, and stays as it is.
class Deadline {
 public:
  explicit Deadline(const timespec* until) : until_(until) {
    if (until == nullptr || until->tv_sec < second) return;
    moved_ = *until;
    add(moved_, -stepped_by());
    until_ = &moved_;
  }
  operator const timespec*() const { return until_; }

 private:
  const timespec* until_;
  timespec moved_{};
};

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static std::atomic<void*> found;
  auto* real = own<int(clockid_t, timespec*)>(found, "clock_gettime");
  const int result = real != nullptr ? real(clock, time)
                                     : static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    add(*time, stepped_by());
  }
  return result;
}

int gettimeofday(timeval* __restrict time, void* __restrict) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* into) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                           const timespec* __restrict until) {
  static std::atomic<void*> found;
  return own<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>(
      found, "pthread_cond_timedwait")(condition, mutex, Deadline(until));
}

int pthread_cond_clockwait(pthread_cond_t* __restrict condition, pthread_mutex_t* __restrict mutex,
                           clockid_t clock, const timespec* __restrict until) {
  static std::atomic<void*> found;
  return own<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>(
      found, "pthread_cond_clockwait")(condition, mutex, clock, Deadline(until));
}

int sem_timedwait(sem_t* __restrict semaphore, const timespec* __restrict until) {
  static std::atomic<void*> found;
  return own<int(sem_t*, const timespec*)>(found, "sem_timedwait")(semaphore, Deadline(until));
}

}  // extern "C"
