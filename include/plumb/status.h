// SPDX-License-Identifier: Apache-2.0
// Status and Result: how every function of Plumb that can fail says so.
//
// A Status is OK or a code and one complete sentence. The place that fails writes what was expected and what was found;
// each caller that knows more puts one frame in front of it with AddContext while returning:
//   model 'detector.tnnproto': layer 12 'conv_3' (Convolution): weight expects 32 input channels, found 24
// No exception crosses Plumb's API. Libraries do not print a Status; the caller decides.
// Threading: values; no shared state.
#ifndef PLUMB_STATUS_H_
#define PLUMB_STATUS_H_

#include <optional>
#include <string>
#include <utility>

namespace plumb {

enum class StatusCode {
  kOk,
  kInvalidArgument,  // the caller asked for something that makes no sense (a wrong option, shape or name)
  kNotSupported,     // understood, but this device or build cannot do it
  kNotFound,         // a file, blob, layer or device that is not there
  kCorruptModel,     // a file that is not what it says it is
  kIoError,          // the operating system refused to read or write
  kDeviceError,      // a driver or library call failed
  kOutOfMemory,
  kMismatch,  // two things that had to agree do not
  kInternal,  // a mistake of ours
};

// "InvalidArgument", "CorruptModel", ...
const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  static Status InvalidArgument(std::string m) { return {StatusCode::kInvalidArgument, std::move(m)}; }
  static Status NotSupported(std::string m) { return {StatusCode::kNotSupported, std::move(m)}; }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status CorruptModel(std::string m) { return {StatusCode::kCorruptModel, std::move(m)}; }
  static Status IoError(std::string m) { return {StatusCode::kIoError, std::move(m)}; }
  static Status DeviceError(std::string m) { return {StatusCode::kDeviceError, std::move(m)}; }
  static Status OutOfMemory(std::string m) { return {StatusCode::kOutOfMemory, std::move(m)}; }
  static Status Mismatch(std::string m) { return {StatusCode::kMismatch, std::move(m)}; }
  static Status Internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns this status with "frame: " in front of its message; an OK status stays OK.
  Status AddContext(const std::string& frame) const { return ok() ? Status() : Status(code_, frame + ": " + message_); }
  // "CorruptModel: model 'x.tnnproto': ..." or "OK".
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Prints why and ends the program (abort): a value was taken out of a Result that has none.
[[noreturn]] void DieWithoutValue(const Status& status);

// A T, or the Status that says why there is none. A program that asks for the value without looking at ok() ends there,
// in release builds too, with that Status on standard error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor): return value;
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor): return status;
    if (status_.ok()) status_ = Status::Internal("a Result was made from an OK status");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return Checked(*this); }
  const T& value() const& { return Checked(*this); }
  T&& value() && { return std::move(Checked(*this)); }
  T& operator*() { return Checked(*this); }
  const T& operator*() const { return Checked(*this); }
  T* operator->() { return &Checked(*this); }
  const T* operator->() const { return &Checked(*this); }

 private:
  template <class Self>
  static auto& Checked(Self& self) {
    if (!self.value_.has_value()) DieWithoutValue(self.status_);
    return *self.value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace plumb

#define PLUMB_CONCAT_INNER(a, b) a##b
#define PLUMB_CONCAT(a, b) PLUMB_CONCAT_INNER(a, b)

// Returns from the enclosing function when the expression's Status is not OK.
#define PLUMB_RETURN_IF_ERROR(expr)                \
  do {                                             \
    ::plumb::Status plumb_status_ = (expr);        \
    if (!plumb_status_.ok()) return plumb_status_; \
  } while (0)

// PLUMB_ASSIGN_OR_RETURN(auto graph, LoadModel(path)); declares or assigns `lhs`, or returns the Status.
#define PLUMB_ASSIGN_OR_RETURN(lhs, expr) PLUMB_ASSIGN_OR_RETURN_IMPL(PLUMB_CONCAT(plumb_result_, __LINE__), lhs, expr)
#define PLUMB_ASSIGN_OR_RETURN_IMPL(result, lhs, expr) \
  auto result = (expr);                                \
  if (!result.ok()) return result.status();            \
  lhs = std::move(result).value()

#endif  // PLUMB_STATUS_H_
