// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/map/flex_options.h"

#include <flatbuffers/flexbuffers.h>
#include <fmt/core.h>

#include <cmath>
#include <cstring>

namespace plumb::tflite {
namespace {

flexbuffers::Reference Option(const uint8_t* data, size_t size, const char* name) {
  return flexbuffers::GetRoot(data, size).AsMap()[name];
}

}  // namespace

Result<FlexOptions> FlexOptions::Of(const OpContext& c) {
  const auto* bytes = c.op().custom_options();
  FlexOptions options;
  options.size_ = bytes == nullptr ? 0 : bytes->size();
  options.words_.resize(options.size_ / sizeof(uint64_t) + 1);
  if (options.size_ > 0) std::memcpy(options.words_.data(), bytes->data(), options.size_);
  std::vector<uint8_t> seen;
  if (options.size_ < 3 || !flexbuffers::VerifyBuffer(options.data(), options.size_, &seen))
    return Status::CorruptModel(fmt::format("its options, {} bytes, are no flexbuffer", options.size_));
  return options;
}

Result<double> FlexOptions::Number(const char* name, double least, double most) const {
  const flexbuffers::Reference found = Option(data(), size_, name);
  const double value = found.IsNumeric() ? found.AsDouble() : std::nan("");
  if (value >= least && value <= most) return value;
  return Status::CorruptModel(fmt::format("its option {} is {}, expected {} to {}", name, value, least, most));
}

Result<double> FlexOptions::NumberOr(const char* name, double otherwise, double least, double most) const {
  const flexbuffers::Reference found = Option(data(), size_, name);
  if (found.IsNull()) return otherwise;
  return found.IsBool() ? Result<double>(found.AsBool() ? 1 : 0) : Number(name, least, most);
}

Result<std::vector<int64_t>> FlexOptions::Places(const char* name, int64_t count) const {
  const flexbuffers::Reference found = Option(data(), size_, name);
  std::vector<int64_t> places;
  const auto take = [&places](const auto& list) {
    for (size_t i = 0; i < list.size(); ++i) places.push_back(list[i].AsInt64());
  };
  if (found.IsTypedVector()) take(found.AsTypedVector());
  if (found.IsUntypedVector()) take(found.AsVector());
  for (const int64_t place : places) {
    if (place < 0 || place >= count)
      return Status::CorruptModel(fmt::format("its option {} names landmark {} of {}", name, place, count));
  }
  if (places.empty()) return Status::CorruptModel(fmt::format("its option {} is empty", name));
  return places;
}

}  // namespace plumb::tflite
