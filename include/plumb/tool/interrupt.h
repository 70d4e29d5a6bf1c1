// SPDX-License-Identifier: Apache-2.0
// Ending a long computation from outside: Forwards and checks of this thread ask, between two layers, whether to go on.
//
// Example:
//   std::atomic<bool> stop{false};  // set by a signal handler, a button, a deadline
//   const plumb::Interrupter interrupter([&] { return stop.load(); });
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto"));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport report, session->CheckDevice("X86"));  // DeviceError when stopped
//
// Threading: counts for the thread that made it, until it ends; `wanted` is called on that thread.
#ifndef PLUMB_TOOL_INTERRUPT_H_
#define PLUMB_TOOL_INTERRUPT_H_

#include <functional>

#include "plumb/status.h"

namespace plumb {

class Interrupter {
 public:
  explicit Interrupter(std::function<bool()> wanted);
  ~Interrupter();
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

  // OK, or DeviceError when an interrupter of this thread says so: for loops of one's own.
  static Status Check();

 private:
  std::function<bool()> wanted_;
  Interrupter* outer_;
};

}  // namespace plumb

#endif  // PLUMB_TOOL_INTERRUPT_H_
