// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/interrupt.h"

namespace plumb {
namespace {

thread_local Interrupter* innermost_interrupter = nullptr;

}  // namespace

Interrupter::Interrupter(std::function<bool()> wanted) : wanted_(std::move(wanted)), outer_(innermost_interrupter) {
  innermost_interrupter = this;
}

Interrupter::~Interrupter() { innermost_interrupter = outer_; }

Status Interrupter::Check() {
  for (const Interrupter* one = innermost_interrupter; one != nullptr; one = one->outer_) {
    if (one->wanted_()) return Status::DeviceError("interrupted: the program that runs it asked for the end");
  }
  return Status::Ok();
}

}  // namespace plumb
