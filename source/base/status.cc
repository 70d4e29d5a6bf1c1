// SPDX-License-Identifier: Apache-2.0
#include "plumb/status.h"

#include <fmt/core.h>

#include <cstdlib>

#include "plumb/tool/printing.h"
#include "plumb/tool/terminal.h"

namespace plumb {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kInvalidArgument: return "InvalidArgument";
    case StatusCode::kNotSupported: return "NotSupported";
    case StatusCode::kNotFound: return "NotFound";
    case StatusCode::kCorruptModel: return "CorruptModel";
    case StatusCode::kIoError: return "IoError";
    case StatusCode::kDeviceError: return "DeviceError";
    case StatusCode::kOutOfMemory: return "OutOfMemory";
    case StatusCode::kMismatch: return "Mismatch";
    case StatusCode::kInternal: return "Internal";
  }
  return "Internal";
}

void DieWithoutValue(const Status& status) {
  const std::string why = PrintableMessage(status.message());
  WriteTerminal(Terminal::kError, fmt::format("plumb: Result accessed without a value: {}\n", why));
  std::abort();
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return fmt::format("{}: {}", StatusCodeName(code_), message_);
}

}  // namespace plumb
