#include "op/expand.h"

#include "op/strided.h"

namespace plumb {
namespace {

Result<StridedMap> Map(const Layer& layer, const std::vector<BlobInfo>& inputs, int) {
  const std::vector<int>& tokens = ParamOf<ExpandParam>(layer).shape;
  std::vector<int64_t> wanted(tokens.begin(), tokens.end());
  if (inputs.size() == 2) {
    PLUMB_ASSIGN_OR_RETURN(wanted, KnownInts(inputs[1], "the shape of Expand"));
  }
  for (int64_t& dim : wanted) dim = dim == -1 ? 1 : dim;
  const Shape target(std::move(wanted));
  PLUMB_RETURN_IF_ERROR(target.Validate().AddContext("the shape of Expand"));
  const Shape& in = inputs[0].shape;
  StridedMap map;
  PLUMB_ASSIGN_OR_RETURN(map.out, BroadcastShapes(in, target));
  map.dims = map.out.dims();
  const std::vector<int64_t> dense = DenseStrides(in);
  map.strides.assign(map.dims.size(), 0);
  const size_t missing = map.dims.size() - dense.size();
  for (size_t i = 0; i < dense.size(); ++i) {
    if (in.dims()[i] != 1) map.strides[missing + i] = dense[i];
  }
  return map;
}

}  // namespace

OpDef DefineExpand() { return DefineByMap(MakeParam<ExpandParam>, Map); }

}  // namespace plumb
