// SPDX-License-Identifier: Apache-2.0
// FlexOptions: a custom operator's options that are a flexbuffer, a map from names to values.
#ifndef PLUMB_FORMAT_TFLITE_MAP_FLEX_OPTIONS_H_
#define PLUMB_FORMAT_TFLITE_MAP_FLEX_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "format/tflite/op_context.h"

namespace plumb::tflite {

class FlexOptions {
 public:
  // CorruptModel: they are no flexbuffer.
  static Result<FlexOptions> Of(const OpContext& c);

  // A number from `least` to `most`.
  Result<double> Number(const char* name, double least, double most) const;
  // The same, or `otherwise` where there is none of that name. True is 1.
  Result<double> NumberOr(const char* name, double otherwise, double least, double most) const;
  // Places from 0 to below `count`, one at least.
  Result<std::vector<int64_t>> Places(const char* name, int64_t count) const;

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(words_.data()); }

  std::vector<uint64_t> words_;  // aligned, as the verifier expects
  size_t size_ = 0;              // bytes
};

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_MAP_FLEX_OPTIONS_H_
