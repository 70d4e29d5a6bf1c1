// SPDX-License-Identifier: Apache-2.0
// The values of a .tflite file's tensors: element types, packed integers, sparse weights.
#ifndef PLUMB_FORMAT_TFLITE_CONSTANTS_H_
#define PLUMB_FORMAT_TFLITE_CONSTANTS_H_

#include <vector>

#include "format/onnx/ir.h"
#include "format/tflite/model_file.h"

namespace plumb::tflite {

// ONNX's number of a tensor's element type; NotSupported for strings, handles and complex numbers.
Result<int> ElementTypeOf(schema::TensorType type);

// real = scale * (q - zero_point), of integers; no scales: none.
struct Grid {
  std::vector<float> scale;
  std::vector<int64_t> zero_point;  // as many
  int axis = 0;                     // where there are several

  bool none() const { return scale.empty(); }
};
Grid GridOf(const schema::Tensor& tensor);

// The scales of a tensor's blocks, which are those of its last dim; null: it has none.
const schema::BlockwiseQuantization* BlocksOf(const schema::Tensor& tensor);
// What integers with such scales stand for. scales, zero_points: the values of the tensors that hold them; no
// zero_points: zeros.
Result<Tensor> DequantizedBlocks(const Tensor& integers, const Tensor& scales, const Tensor& zero_points);

// The tensor's values, carried as the runtime carries its type. Large floats that are to be skipped are zeros that take
// no memory. REQUIRES: its buffer is not empty.
Result<onnx::ConstantIr> ReadConstant(const ModelFile& file, const schema::Tensor& tensor, bool skip_weights);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_CONSTANTS_H_
