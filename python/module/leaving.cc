// SPDX-License-Identifier: Apache-2.0
#include "leaving.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace plumb::python {
namespace {

constexpr auto kUsersTime = std::chrono::seconds(1);

std::atomic<int> running{0};    // threads with a RunningCall
std::atomic<int> in_python{0};  // of these, in code of the user
std::atomic<bool> leaving{false};
std::atomic<bool> left{false};  // nobody waits any more
std::atomic<std::thread::id> leaver{std::thread::id()};
thread_local int calls_of_thread = 0;
thread_local int depth_in_python = 0;

[[noreturn]] void StayForever() {
  for (;;) pause();
}

// f(), but what ends the thread in there does not unwind it.
template <class F>
auto NeverUnwound(const F& f) -> decltype(f()) {
#ifdef __GLIBCXX__
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    StayForever();
  }
#else
  return f();
#endif
}

// Whether waiting has a purpose: a call computes, or code of the user has had less than its time.
bool MustWait(std::chrono::steady_clock::time_point since) {
  const int calls = running.load();
  return calls > 0 && (calls > in_python.load() || std::chrono::steady_clock::now() - since < kUsersTime);
}

// Called by Python's atexit, when threads of its own (threading, not daemon) have ended.
void Leave() {
  using Clock = std::chrono::steady_clock;
  leaver = std::this_thread::get_id();
  leaving = true;
  nb::set_leak_warnings(false);  // a daemon thread never gives back what it holds
  auto since = Clock::now();
  while (MustWait(since)) {
    {
      const WithoutGil release;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (running.load() > in_python.load()) since = Clock::now();
    if (PyErr_CheckSignals() != 0) {  // Ctrl-C: who waits has waited enough
      left = true;
      throw nb::python_error();
    }
  }
  left = true;
}

}  // namespace

void WatchLeaving(nb::module_& module) {
  // The threads of the parent are not there in a child; what it has is the thread that forked.
  pthread_atfork(nullptr, nullptr, [] {
    running = calls_of_thread > 0 ? 1 : 0;
    in_python = depth_in_python > 0 ? 1 : 0;
  });
  module.def("_leave", &Leave);
  nb::module_::import_("atexit").attr("register")(module.attr("_leave"));
}

bool Leaving() { return leaving.load() && leaver.load() != std::this_thread::get_id(); }

void ThrowIfLeaving() {
  if (!Leaving()) return;
  PyErr_SetNone(PyExc_SystemExit);
  throw nb::python_error();
}

RunningCall::RunningCall() : outer_in_python_(std::exchange(depth_in_python, 0)) {
  if (calls_of_thread++ == 0) ++running;
  if (outer_in_python_ > 0) --in_python;
}
RunningCall::~RunningCall() {
  depth_in_python = outer_in_python_;
  if (outer_in_python_ > 0) ++in_python;
  if (--calls_of_thread == 0) --running;
}

UserCode::UserCode() {
  if (calls_of_thread > 0 && depth_in_python++ == 0) ++in_python;
}
UserCode::~UserCode() {
  if (calls_of_thread > 0 && --depth_in_python == 0) --in_python;
  if (!left.load() || !Leaving()) return;
  PyEval_SaveThread();
  StayForever();
}

WithGil::WithGil() : state_(NeverUnwound([] { return PyGILState_Ensure(); })) {}
WithGil::~WithGil() { PyGILState_Release(state_); }
WithoutGil::~WithoutGil() {
  NeverUnwound([&] { PyEval_RestoreThread(state_); });
}

nb::object Invoke(nb::handle object, const char* method, std::initializer_list<nb::handle> arguments) {
  // Plain pointers: an owner of a reference would give it back while the thread is ended, without the GIL.
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(arguments.size()));
  if (tuple == nullptr) throw nb::python_error();
  Py_ssize_t place = 0;
  for (const nb::handle argument : arguments) PyTuple_SetItem(tuple, place++, argument.inc_ref().ptr());
  PyObject* result = NeverUnwound([&]() -> PyObject* {
    PyObject* bound = method != nullptr ? PyObject_GetAttrString(object.ptr(), method) : object.inc_ref().ptr();
    PyObject* value = bound != nullptr ? PyObject_CallObject(bound, tuple) : nullptr;
    Py_XDECREF(bound);
    return value;
  });
  Py_DECREF(tuple);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

}  // namespace plumb::python
