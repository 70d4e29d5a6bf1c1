// SPDX-License-Identifier: Apache-2.0
// Binary operators on integers that are known before the network runs (design decision 6: shape arithmetic runs on the
// host on every device).
#ifndef PLUMB_OP_CORE_HOST_BINARY_H_
#define PLUMB_OP_CORE_HOST_BINARY_H_

#include "op/core/op.h"

namespace plumb {

// The value of `kind` (a row of op/binary.def) of two known i32 or i64 blobs, broadcast to `out`; see
// op/core/whole_numbers.h. An empty tensor when the value is not known, too large to pass on, or of another kind.
Result<Tensor> KnownBinary(OpKind kind, const BlobInfo& a, const BlobInfo& b, const Shape& out);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_HOST_BINARY_H_
