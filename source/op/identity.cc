// Dropout, Identity: y = x. Split: every output is x.
#include "op/strided.h"

namespace plumb {
namespace {

Result<StridedMap> Map(const Layer&, const std::vector<BlobInfo>& inputs, int) { return SameOrder(inputs[0].shape); }

}  // namespace

OpDef DefineDropout() { return DefineByMap(MakeParam<NoParam>, Map); }
OpDef DefineIdentity() { return DefineByMap(MakeParam<NoParam>, Map); }
OpDef DefineSplit() { return DefineByMap(MakeParam<NoParam>, Map); }

}  // namespace plumb
