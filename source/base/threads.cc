// SPDX-License-Identifier: Apache-2.0
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/control_group.h"

namespace plumb {
namespace {

constexpr int kMaxThreads = 256;
constexpr auto kSpin = std::chrono::microseconds(100);  // measured: x86-speed.md, section 4

using Clock = std::chrono::steady_clock;

// A time slice of Linux is 0.75 to 4 ms: what a worker loses to other programs is longer than this.
constexpr Clock::duration kStall = std::chrono::microseconds(600);

// Whether loops should run on the caller alone for a while, because somebody else's work takes the workers' CPUs: a
// worker that was put aside in the middle of its part keeps its caller waiting for a time slice, so that two threads
// beside a busy program are slower than one. After such a stall the pool rests, longer while every trial stalls again.
class Contention {
 public:
  bool rests(Clock::time_point now) const { return now < until_; }

  void Note(bool stalled, Clock::time_point end) {
    if (stalled) {
      rest_ = std::min(2 * rest_, kLongestRest);
      until_ = end + rest_;
      calm_ = until_ + kCalm;
    } else if (end > calm_) {
      rest_ = kShortestRest;
    }
  }

 private:
  static constexpr Clock::duration kShortestRest = std::chrono::milliseconds(1);
  static constexpr Clock::duration kLongestRest = std::chrono::milliseconds(160);
  static constexpr Clock::duration kCalm = std::chrono::milliseconds(10);
  Clock::time_point until_, calm_;
  Clock::duration rest_ = kShortestRest;
};

// What a worker knows of itself: whether others took its CPU.
class Interruptions {
 public:
  // Of a part that was ready at `ready` and ran from `start` to `end`.
  bool Had(Clock::time_point ready, Clock::time_point start, Clock::time_point end) {
    if (start - ready > kStall) return true;  // woken, but not run
    if (end - start < kStall) return false;
    rusage usage{};
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    return std::exchange(switches_, usage.ru_nivcsw) != usage.ru_nivcsw;
  }

 private:
  long switches_ = 0;  // involuntary ones  NOLINT(google-runtime-int): as rusage has it
};

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int CgroupCpus() {
  const double allowed = ControlGroupCpus();
  return allowed > 0 && allowed < kMaxThreads ? std::max(1, static_cast<int>(std::lround(allowed))) : kMaxThreads;
}

thread_local bool inside_loop = false;

class ThreadPool {
 public:
  static ThreadPool& Get() {
    static const bool watches_forks = pthread_atfork(nullptr, nullptr, [] { Current() = new ThreadPool(); }) == 0;
    (void)watches_forks;
    return *Current();
  }

  // Runs body(0..n-1); false when the pool is busy with another caller.
  bool Run(int n, FunctionRef<void(int, int)> body) {
    std::unique_lock<std::mutex> lock(caller_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    Grow(n - 1);
    n = std::min(n, static_cast<int>(threads_.size()) + 1);
    const Clock::time_point start = Clock::now();
    inside_loop = true;
    const bool may_rest = n <= NumCpus();  // more threads than CPUs put each other aside
    if (may_rest && contention_.rests(start)) {
      body_ = body;
      for (int i = 0; i < n; ++i) Call(i, n);
      inside_loop = false;
      Rethrow();
      return true;
    }
    body_ = body;
    ready_ = start;
    interrupted_.store(false, std::memory_order_relaxed);
    pending_.store(n - 1, std::memory_order_relaxed);
    {
      std::lock_guard<std::mutex> guard(mutex_);
      const uint64_t generation = (state_.load(std::memory_order_relaxed) >> kCountBits) + 1;
      state_.store(generation << kCountBits | static_cast<uint64_t>(n), std::memory_order_seq_cst);
    }
    if (sleepers_.load() > 0) wake_.notify_all();
    Call(0, n);
    inside_loop = false;
    const Clock::time_point done = Clock::now();
    for (int spins = 0; pending_.load(std::memory_order_acquire) > 0; ++spins) {
      if (spins < 4000)
        Pause();
      else
        std::this_thread::yield();
    }
    const Clock::time_point end = Clock::now();
    const bool interrupted = interrupted_.load(std::memory_order_relaxed);
    contention_.Note(may_rest && interrupted && end - done > done - start + kStall, end);
    Rethrow();
    return true;
  }

 private:
  // Never destroyed: worker threads may outlive static destructors. A forked child has none of them and gets a new
  // pool.
  static ThreadPool*& Current() {
    static ThreadPool* pool = new ThreadPool();
    return pool;
  }

  // As many as the system grants: under a limit of memory or processes the loop runs on fewer.
  void Grow(int workers) {
    try {
      threads_.reserve(static_cast<size_t>(std::max(workers, 0)));
      while (static_cast<int>(threads_.size()) < workers) {
        const int index = static_cast<int>(threads_.size()) + 1;
        const uint64_t seen = state_.load();
        threads_.emplace_back([this, index, seen] { Work(index, seen); });
        threads_.back().detach();
      }
    } catch (const std::exception&) {  // std::system_error, std::bad_alloc
    }
  }

  // No exception (std::bad_alloc) may leave a worker; the first one is thrown again where the loop was called.
  void Call(int index, int n) {
    try {
      (*body_)(index, n);
    } catch (...) {
      std::lock_guard<std::mutex> guard(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
  }

  void Rethrow() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  void Work(int index, uint64_t seen) {
    inside_loop = true;
    Interruptions interruptions;
    for (;;) {
      const Clock::time_point start = Clock::now();
      for (int i = 1; state_.load(std::memory_order_acquire) == seen; ++i) {
        Pause();
        if (i % 64 == 0 && Clock::now() - start > kSpin) {
          std::unique_lock<std::mutex> lock(mutex_);
          sleepers_.fetch_add(1);
          wake_.wait(lock, [&] { return state_.load() != seen; });
          sleepers_.fetch_sub(1);
          break;
        }
      }
      seen = state_.load(std::memory_order_acquire);
      const int n = static_cast<int>(seen & ((1u << kCountBits) - 1));
      if (index < n) {  // the caller waits for every index below n, so body_ is this loop's
        const Clock::time_point start = Clock::now();
        Call(index, n);
        if (interruptions.Had(ready_, start, Clock::now())) interrupted_.store(true, std::memory_order_relaxed);
        pending_.fetch_sub(1, std::memory_order_acq_rel);
      }
    }
  }

  std::mutex caller_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  static constexpr int kCountBits = 16;
  std::atomic<uint64_t> state_{0};  // loop number << kCountBits | threads of that loop: read as one
  std::atomic<int> pending_{0};
  std::atomic<int> sleepers_{0};
  std::optional<FunctionRef<void(int, int)>> body_;
  std::exception_ptr failure_;
  Clock::time_point ready_;  // when this loop began
  std::atomic<bool> interrupted_{false};
  Contention contention_;
};

std::atomic<int> num_threads{0};

}  // namespace

int NumCpus() {
  static const int cpus = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return std::max(1, std::min({count, CgroupCpus(), kMaxThreads}));
  }();
  return cpus;
}

void SetNumThreads(int count) { num_threads = std::clamp(count, 0, kMaxThreads); }

int NumThreads() {
  const int count = num_threads.load(std::memory_order_relaxed);
  return count > 0 ? count : NumCpus();
}

void ParallelRegion(int num_tasks, FunctionRef<void(int, int)> body) {
  const int n = inside_loop ? 1 : std::min(num_tasks, NumThreads());
  if (n > 1 && ThreadPool::Get().Run(n, body)) return;
  if (num_tasks > 0) body(0, 1);
}

void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  const int64_t pieces = std::min<int64_t>(NumThreads(), std::max<int64_t>(1, count / std::max<int64_t>(1, grain)));
  ParallelRegion(static_cast<int>(pieces), [&](int thread, int n) {
    const int64_t begin = count * thread / n;
    const int64_t end = count * (thread + 1) / n;
    if (begin < end) body(begin, end);
  });
}

}  // namespace plumb
