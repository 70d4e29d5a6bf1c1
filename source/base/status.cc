#include "plumb/status.h"

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

std::string Status::ToString() const {
  if (ok()) return "OK";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

}  // namespace plumb
