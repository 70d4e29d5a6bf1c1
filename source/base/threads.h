// SPDX-License-Identifier: Apache-2.0
// The one thread pool of the process (design decision 8).
//
// Every parallel loop of Plumb runs here, whatever the device; oneDNN runs single-threaded inside it. Workers spin 100
// us after a loop, then sleep; a loop of one thread costs nothing. Nested calls run serially on the calling worker.
// While other programs take the workers' CPUs, the caller runs all pieces itself: the split, and so every result,
// stays. Threading: ParallelFor may be called from several threads; the second caller runs its loop serially while the
// pool is busy.
#ifndef PLUMB_BASE_THREADS_H_
#define PLUMB_BASE_THREADS_H_

#include <cstdint>
#include <type_traits>

namespace plumb {

// A reference to a callable (no ownership, no allocation): valid while the callable lives.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FunctionRef>>>
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): a lambda is passed as it is
      : object_(const_cast<void*>(static_cast<const void*>(&f))), call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  R operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// Number of CPUs this process may run on (affinity and cgroup quota considered), at least 1.
int NumCpus();

// Sets how many threads loops use from now on, 1..256; 0 means NumCpus(). Takes effect at the next loop.
void SetNumThreads(int num_threads);
// At first NumCpus().
int NumThreads();

// Splits [0, count) into at most NumThreads() contiguous pieces of at least `grain` elements and calls
// body(begin, end) for each, on this and other threads; returns when all are done.
// The split depends only on count, grain and NumThreads(), never on timing.
void ParallelFor(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body);

// Calls body(thread) for thread = 0 .. n-1 with n = min(num_tasks, NumThreads()); for code that splits its work itself.
void ParallelRegion(int num_tasks, FunctionRef<void(int, int)> body);  // body(thread, num_threads)

}  // namespace plumb

#endif  // PLUMB_BASE_THREADS_H_
