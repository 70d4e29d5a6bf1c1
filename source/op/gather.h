// SPDX-License-Identifier: Apache-2.0
// Gather: slices of `data` along `axis`, picked by integer indices; the output is data[0 .. axis) + indices + data(axis
// ..). Data and indices are inputs (in that order) or resources "data", "indices". GatherND: each vector of length k in
// the last dim of `indices` names a slice of the data behind its `batch_dims` shared leading dims. A negative index
// counts from the end (TNN refuses it); an index outside the dim is an error when the layer runs.
#ifndef PLUMB_OP_GATHER_H_
#define PLUMB_OP_GATHER_H_

#include "op/core/op.h"

namespace plumb {

struct GatherParam : ParamBase<GatherParam> {
  int axis = 0;
  bool data_in_resource = false;
  bool indices_in_resource = true;
  void Visit(ParamVisitor& v) override {
    v.Int("axis", axis);
    v.Bool("data_in_resource", data_in_resource);
    v.Bool("indices_in_resource", indices_in_resource);
  }
};

struct GatherNDParam : ParamBase<GatherNDParam> {
  int batch_dims = 0;
  void Visit(ParamVisitor& v) override { v.Int("batch_dims", batch_dims); }
};

// Both operators as one copy: output slice s = (b, i) of `slice` elements, b < batch and i < count, comes from element
// b * batch_step + (sum over j < width of index[(b or 0) * count + i][j] * steps[j]) of the data.
struct GatherShape {
  BlobInfo data, indices;  // `value` where they are resources or known
  Shape out;
  int64_t batch = 1;  // repeats of the whole index list (Gather) or leading dims with lists of their own (GatherND)
  bool batched_indices = false;
  int64_t count = 1;  // index vectors per batch
  int64_t slice = 1;  // elements copied at once
  int64_t batch_step = 1;
  std::vector<int64_t> dims;   // of the data, that the entries of an index vector walk
  std::vector<int64_t> steps;  // their strides in elements
};

Result<GatherShape> ResolveGather(const Layer& layer, const std::vector<BlobInfo>& inputs);

// Where output slice `s` starts in the data. `indices` are all of them as i64. InvalidArgument when an index is
// outside.
Result<int64_t> SliceStart(const GatherShape& g, const int64_t* indices, int64_t s);

}  // namespace plumb

#endif  // PLUMB_OP_GATHER_H_
