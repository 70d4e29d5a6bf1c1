// SPDX-License-Identifier: Apache-2.0
// ggml's weights in blocks: a few values that share scales (ggml's docs and ggml-common.h say the layouts). Each value
// is what ggml makes of it, exactly.
#ifndef PLUMB_INTEROP_GGML_BLOCKS_H_
#define PLUMB_INTEROP_GGML_BLOCKS_H_

#include <string>

#include "plumb/tensor.h"

namespace plumb {

// Whether weights of ggml's type of that name ("q4_K") can be read.
bool KnowsGgmlBlocks(const std::string& type);

// f32 values of rows of blocks: `bytes` is u8 [..., bytes of a row], the result has `shape`. REQUIRES: KnowsGgmlBlocks.
// CorruptModel when the rows are not as long as the type says.
Result<Tensor> FromGgmlBlocks(const std::string& type, const Tensor& bytes, const Shape& shape);

// Whether a block of that type is steps above a least value, for which the CPU's products have a term of its own.
bool HasGgmlLeast(const std::string& type);

// The least value of each block, in the order of the blocks. REQUIRES: HasGgmlLeast.
Result<Tensor> LeastOfGgmlBlocks(const std::string& type, const Tensor& bytes, const Shape& shape);

}  // namespace plumb

#endif  // PLUMB_INTEROP_GGML_BLOCKS_H_
