// SPDX-License-Identifier: Apache-2.0
// StridedMap: how an operator that only moves elements finds them. Walking `dims` in C order visits the output's
// elements one after the other; element (i0, i1, ...) of the walk is input element offset + i0 * strides[0] + i1 *
// strides[1] + ... Permute, slices, Tile, Expand, PixelShuffle ... are each one such map, so an operator's file states
// its map (OpDef::map) and everything else follows: the shape rule and the integer values known before anything runs
// (here), the reference (reference/core/strided.h) and the devices' copying kernels. A stride is 0 where elements
// repeat, negative where they turn.
#ifndef PLUMB_OP_CORE_STRIDED_H_
#define PLUMB_OP_CORE_STRIDED_H_

#include <vector>

#include "op/core/op.h"

namespace plumb {

struct StridedMap {
  Shape out;                     // the output's shape
  std::vector<int64_t> dims;     // of the walk, outermost first; as many elements as `out`
  std::vector<int64_t> strides;  // in elements of the input, one per dim
  int64_t offset = 0;

  // Drops dims of 1 and joins neighbours that one stride walks; keeps at least one dim.
  void Simplify();
  // True when the output is a contiguous piece of the input, from element `offset` on (after Simplify).
  bool Contiguous() const { return dims.size() == 1 && strides[0] == 1; }
};

// Drops dims of 1 and joins neighbours that one stride walks in every list of strides; no dim may be left.
void JoinDims(std::vector<int64_t>* dims, std::vector<std::vector<int64_t>>* strides);
// C order strides of a shape.
std::vector<int64_t> DenseStrides(const Shape& shape);
// The same elements in the same order under the shape `out`.
StridedMap SameOrder(Shape out);
// Dim i of the output walks dim order[i] of the input.
StridedMap Transposed(const std::vector<int64_t>& dims, const std::vector<int>& order, Shape out);

// NumPy broadcasting of a dense blob to the shape `out`, which must be one that it broadcasts to.
StridedMap BroadcastMap(const Shape& in, Shape out);

// The shape rule of every operator with OpDef::map; also evaluates integer and bool values that are known already.
Status InferByMap(ShapeContext& context);
// A definition around a map.
OpDef DefineByMap(std::shared_ptr<OpParam> (*make_param)(), decltype(OpDef::map) map);

// Copies `in` along the map; for host evaluation of small values.
Result<Tensor> ApplyMap(StridedMap map, const Tensor& in);

// Values that are evaluated at shape inference are integers and few.
constexpr int64_t kMaxHostValues = 1 << 16;
// True when the value is known and worth passing on.
bool HasHostValue(const BlobInfo& blob);
// The integers of a blob that has to be known before the network runs; `what` names it in the error.
Result<std::vector<int64_t>> KnownInts(const BlobInfo& blob, const char* what);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_STRIDED_H_
