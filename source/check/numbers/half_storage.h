// SPDX-License-Identifier: Apache-2.0
// HalfStorage: in what a foreign runtime stored each float blob, f32 or one format of 16 bits; that there is one is
// found once for the whole subject. What a sum of products made is stored as its own values say: runtimes choose layer
// by layer (OpenVINO's bf16 stores its first convolution alone so). Mixed precision (autocast, lists of operators that
// stay in f32, f32 inputs and outputs) stores the others by the operator: of each the way of most of its results
// counts, so that a layer which differs from its like is a fault. What reads only 16 bits and what does not are told
// apart: an Add of a bf16 and an f32 is f32.
#ifndef PLUMB_CHECK_NUMBERS_HALF_STORAGE_H_
#define PLUMB_CHECK_NUMBERS_HALF_STORAGE_H_

#include <cstdint>
#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

// What the values of a float tensor say.
struct HalfValues {
  bool f16 = true, bf16 = true;  // every one is one
  int64_t telling = 0;           // finite, of more than five significant bits: 0, 1, 0.5 are f32s as well
  bool many = false;             // more distinct ones than an 8-bit image has
};
HalfValues HalfValuesOf(const Tensor& tensor);

// Whether every value is one of the format, and enough of them tell.
bool IsStoredAs(DType format, const HalfValues& values);

class HalfStorage {
 public:
  HalfStorage() = default;
  // `values`: of the f32 blobs that the subject has, network inputs among them. No 16 bits unless every blob that a
  // layer wrote is so, or the results of most sums of products (two at least), or three of four of all; counted are
  // those that tell (telling.h).
  static HalfStorage Find(const Graph& graph, const std::map<std::string, HalfValues>& values);
  static HalfStorage Everywhere(DType format);

  DType format() const { return format_; }  // f16 or bf16; f32: nothing is stored in 16 bits
  DType Of(const std::string& blob) const;
  // "every value is an f16"; "f16 by 60 results (Convolution, ReLU ...), f32 by 20 (PReLU)"
  const std::string& because() const { return because_; }

 private:
  DType format_ = DType::kF32;
  std::map<std::string, DType> blobs_;  // those that are not, or not known to be, as the format
  std::string because_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_HALF_STORAGE_H_
