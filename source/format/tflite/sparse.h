// SPDX-License-Identifier: Apache-2.0
// Sparse weights of a .tflite file, made dense.
#ifndef PLUMB_FORMAT_TFLITE_SPARSE_H_
#define PLUMB_FORMAT_TFLITE_SPARSE_H_

#include <string_view>

#include "format/tflite/schema.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb::tflite {

// Levels are walked in traversal order; a level is dense (every index) or compressed (segments and indices). The levels
// behind the tensor's rank are blocks inside the dims that block_map names.
Result<Tensor> Densified(const schema::SparsityParameters& sparsity, std::string_view bytes, DType stored,
                         const Shape& shape);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_SPARSE_H_
