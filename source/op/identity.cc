// SPDX-License-Identifier: Apache-2.0
// Dropout, Identity: y = x. Split: every output is x.
#include "op/core/strided.h"

namespace plumb {
namespace {

Result<StridedMap> MapIdentity(const Layer&, const std::vector<BlobInfo>& inputs, int) {
  return SameOrder(inputs[0].shape);
}

}  // namespace

OpDef DefineDropout() { return DefineByMap(MakeParam<NoParam>, MapIdentity); }
OpDef DefineIdentity() { return DefineByMap(MakeParam<NoParam>, MapIdentity); }
OpDef DefineSplit() { return DefineByMap(MakeParam<NoParam>, MapIdentity); }

}  // namespace plumb
