// SPDX-License-Identifier: Apache-2.0
// Between Python and the library: arrays and tensors, statuses and exceptions, and computing without the GIL.
//
// Threading: everything here needs the GIL, but what Compute calls.
#ifndef PLUMB_PYTHON_CONVERT_H_
#define PLUMB_PYTHON_CONVERT_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leaving.h"
#include "plumb/status.h"
#include "plumb/tensor.h"
#include "plumb/tool/interrupt.h"
#include "text.h"

namespace plumb::python {

// Becomes plumbnn.Error on its way to Python.
struct StatusError {
  Status status;
};
// And what the standard library throws when the system has no memory or thread left.
void RegisterError(nb::module_& module);

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) throw StatusError{status};
}
template <class T>
T ValueOf(Result<T> result) {
  ThrowIfError(result.status());
  return std::move(result).value();
}

// An array that plumbnn._arrays made ready, as a tensor over the same memory where it is dense in C order, else a copy.
// `bf16`: its 16-bit words are bfloat16. TypeError for a dtype that no tensor has.
Tensor ToTensor(nb::handle array, bool bf16);
// name -> (array, bf16)
using Arrays = std::map<std::string, std::pair<nb::object, bool>>;
std::map<std::string, Tensor> ToTensors(const Arrays& arrays);
// A numpy array over the tensor's memory; bf16, which numpy lacks, as f32; None for an empty tensor.
nb::object ToArray(const Tensor& tensor);
nb::dict ToArrays(const std::map<std::string, Tensor>& tensors);

inline std::vector<int64_t> DimsOf(const Shape& shape) { return shape.dims(); }
std::map<std::string, Shape> ToShapes(const std::map<std::string, std::vector<int64_t>>& shapes);

// What Python wants to end a computation with: Ctrl-C, an exception of an observer, or its own end.
class Ending {
 public:
  Ending() : interrupter_([this] { return Wanted(); }) {}
  void Keep(nb::python_error error);
  void Rethrow();

 private:
  bool Wanted();

  std::unique_ptr<nb::python_error> error_;  // the first
  // Taking the GIL may take 5 ms where another thread computes in Python, so it is not taken for every layer.
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  Interrupter interrupter_;
};
// Of this thread's Compute; null outside of one.
Ending* CurrentEnding();

class EndingScope {
 public:
  EndingScope();
  ~EndingScope();
  Ending ending;

 private:
  const RunningCall call_;
  Ending* outer_;
};

// f() without the GIL. Whatever ended it is thrown: what Python wanted first, then its status.
template <class F>
auto Compute(const F& f) {
  ThrowIfLeaving();
  EndingScope scope;
  auto result = [&] {
    const WithoutGil release;
    return f();
  }();
  scope.ending.Rethrow();
  if constexpr (std::is_same_v<decltype(result), Status>) {
    ThrowIfError(result);
  } else {
    return ValueOf(std::move(result));
  }
}

}  // namespace plumb::python

#endif  // PLUMB_PYTHON_CONVERT_H_
