// SPDX-License-Identifier: Apache-2.0
// The type strings of TNN's files: 230 strings, their LayerType numbers, and which operator of ours each one is.
//
// Every string of one number is the same operator, so the operator follows from the one string of that number that
// names a row of op_list.def. The prefixes Quantized and DynamicRangeQuantized are flags, and only inside strings that
// the table has. A string that names an operator without being in the table is one of ours (PlumbPow): TNN refuses it.
#ifndef PLUMB_FORMAT_TNN_TYPES_H_
#define PLUMB_FORMAT_TNN_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "op/core/op.h"

namespace plumb::tnn {

constexpr uint32_t kMagicV1 = 0xFABC0002;
constexpr uint32_t kMagicV2 = 0xFABC0004;
constexpr int kBlobScaleType = 600;

struct LayerType {
  int number = -1;            // TNN's LayerType; -1 for a type of our own
  const OpDef* op = nullptr;  // null: TNN knows it, Plumb has no operator for it
  bool quantized = false;
  bool dynamic_range_quantized = false;
};

// What a type string means, or nothing when neither TNN nor Plumb knows it.
std::optional<LayerType> FindLayerType(std::string_view type);
// TNN's number for a string of the table, or nothing.
std::optional<int> FindTypeNumber(std::string_view type);
// The operator with that LayerType number, or null.
const OpDef* FindOpByNumber(int number);
// The string that a layer is written under, its prefix included. NotSupported when no string says what its flags say.
Result<std::string> TypeStringOf(const Layer& layer);

// TNN's data type numbers. Types that TNN has no number for get numbers from 256 on, which TNN refuses.
int DataTypeNumber(DType dtype);
std::optional<DType> FindDataType(int64_t number);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_TYPES_H_
