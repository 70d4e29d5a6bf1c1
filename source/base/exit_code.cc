// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/exit_code.h"

namespace plumb {

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kMismatch:
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotSupported:
    case StatusCode::kNotFound:
    case StatusCode::kCorruptModel:
    case StatusCode::kOutOfMemory: return kExitUsage;  // a model or shape too large for this machine
    case StatusCode::kIoError:
    case StatusCode::kDeviceError:
    case StatusCode::kInternal: return kExitFailure;
  }
  return kExitFailure;
}

int ExitCodeOfDevice(const Status& status) {
  return status.code() == StatusCode::kNotFound ? kExitNoDevice : ExitCodeOf(status);
}

int WorseExit(int a, int b) {
  const auto rank = [](int code) {
    switch (code) {
      case kExitFailure: return 4;
      case kExitUsage: return 3;
      case kExitMisaligned: return 2;
      case kExitNoDevice: return 1;
      default: return 0;
    }
  };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace plumb
