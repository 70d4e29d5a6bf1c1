// SPDX-License-Identifier: Apache-2.0
// Python's end while other threads compute. A thread that asks for the GIL once Python takes itself down is ended
// inside that call (pthread_exit up to CPython 3.13): its stack is unwound through frames that must not be, and the
// process aborts. So Python's end waits for the calls that run, which end between two layers, and what takes the GIL or
// runs Python code from in here never unwinds: it stays where it is until the process is gone.
//
// Threading: all of it, any thread.
#ifndef PLUMB_PYTHON_LEAVING_H_
#define PLUMB_PYTHON_LEAVING_H_

#include <nanobind/nanobind.h>

#include <initializer_list>

namespace plumb::python {

namespace nb = nanobind;

// From now on Python's end waits for running calls. REQUIRES: the GIL.
void WatchLeaving(nb::module_& module);

// Whether Python is at its end, and this is not the thread that ends it.
bool Leaving();
// Ends this thread's Python code quietly (SystemExit) when Leaving(). REQUIRES: the GIL.
void ThrowIfLeaving();

// A call that computes; Python's end waits until its thread has none.
class RunningCall {
 public:
  RunningCall();
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  int outer_in_python_;  // a call out of code of the user computes again
};

// While one lives, the running call of this thread is in Python code of the user, which may never return: Python's end
// waits for a second, and what returns later gets no further. REQUIRES: the GIL.
class UserCode {
 public:
  UserCode();
  ~UserCode();
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;
};

class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// object.method(arguments...), Python code that may be ended as above. REQUIRES: the GIL.
nb::object Invoke(nb::handle object, const char* method, std::initializer_list<nb::handle> arguments);

}  // namespace plumb::python

#endif  // PLUMB_PYTHON_LEAVING_H_
