// SPDX-License-Identifier: Apache-2.0
#include "check/integer/whole_constants.h"

#include <cstring>

#include "op/permute.h"
#include "op/quantize_linear.h"
#include "plumb/model.h"

namespace plumb {
namespace {

bool IsTransposed(const Tensor& a, const Tensor& b) {
  if (a.shape().rank() != 2 || b.shape().rank() != 2) return false;
  const int64_t rows = a.shape()[0], columns = a.shape()[1];
  if (b.shape()[0] != columns || b.shape()[1] != rows) return false;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < columns; ++k) {
      if (a.data<float>()[r * columns + k] != b.data<float>()[k * rows + r]) return false;
    }
  }
  return true;
}

bool IsSame(const Tensor& a, const Tensor& b) { return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0; }

// What the DequantizeLinear read, element by element of `made`, which may be transposed.
Result<WholeConstant> Taken(const Layer& maker, const std::map<std::string, Tensor>& constants, const Tensor& made,
                            bool transposed) {
  std::vector<BlobInfo> infos;
  std::vector<Tensor> read;
  for (const std::string& blob : maker.inputs) {
    const auto it = constants.find(blob);
    if (it == constants.end()) return Status::NotFound("not a constant: " + blob);
    infos.push_back({it->second.dtype(), it->second.shape(), it->second});
    PLUMB_ASSIGN_OR_RETURN(Tensor wide, it->second.ConvertedTo(read.size() == 1 ? DType::kF32 : DType::kI64));
    read.push_back(std::move(wide));
  }
  PLUMB_ASSIGN_OR_RETURN(const QuantShape shape, ResolveQuant(maker, infos));
  WholeConstant result;
  PLUMB_ASSIGN_OR_RETURN(result.whole, Tensor::Create(DType::kF64, made.shape()));
  PLUMB_ASSIGN_OR_RETURN(result.scale, Tensor::Create(DType::kF32, made.shape()));
  const int64_t rows = transposed ? read[0].shape()[0] : 1, columns = transposed ? read[0].shape()[1] : 1;
  for (int64_t i = 0; i < made.NumElements(); ++i) {
    const int64_t to = transposed ? i % columns * rows + i / columns : i, at = shape.ScaleOf(i);
    const int64_t zero = read.size() > 2 ? read[2].data<int64_t>()[at] : 0;
    if (i == 0) result.zero = zero;
    result.whole.data<double>()[to] = static_cast<double>(read[0].data<int64_t>()[i]) - static_cast<double>(zero);
    result.scale.data<float>()[to] = read[1].data<float>()[at];
  }
  return result;
}

// The tensor with its axes in the order of a Permute.
template <class T>
Result<Tensor> Permuted(const Tensor& x, const std::vector<int>& orders) {
  const Shape& from = x.shape();
  std::vector<int64_t> dims;
  for (const int axis : orders) dims.push_back(from[axis]);
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(x.dtype(), Shape(dims)));
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < orders.size(); ++axis)
      at += i / y.shape().CountFrom(static_cast<int>(axis) + 1) % dims[axis] * from.CountFrom(orders[axis] + 1);
    y.data<T>()[i] = x.data<T>()[at];
  }
  return y;
}

Result<WholeConstant> WithProduct(const Scene& scene, const Layer& maker, Result<WholeConstant> taken) {
  const auto scale = scene.record->product_scales.find(maker.outputs[0]);
  if (taken.ok() && scale != scene.record->product_scales.end()) taken->product = scale->second;
  return taken;
}

Result<WholeConstant> Direct(const Scene& scene, const Tensor& constant) {
  const std::map<std::string, Tensor>& constants = scene.record->folded.constants;
  const Layer* equal = nullptr;  // makes the same values elsewhere
  bool transposed = false;
  for (const Layer& layer : scene.record->folded.layers) {
    if (layer.kind != OpKind::kPlumbDequantizeLinear) continue;
    const auto made = constants.find(layer.outputs[0]);
    if (made == constants.end() || made->second.dtype() != DType::kF32 ||
        made->second.NumElements() != constant.NumElements())
      continue;
    if (made->second.raw() == constant.raw())
      return WithProduct(scene, layer, Taken(layer, constants, constant, false));
    if (equal != nullptr) continue;
    const bool same = IsSame(made->second, constant);
    if (!same && !IsTransposed(made->second, constant)) continue;
    equal = &layer;
    transposed = !same;
  }
  if (equal == nullptr) return Status::NotFound("no DequantizeLinear made it");
  return WithProduct(scene, *equal, Taken(*equal, constants, constant, transposed));
}

}  // namespace

Result<WholeConstant> WholeConstantOf(const Scene& scene, const Tensor& constant) {
  if (scene.record == nullptr || constant.dtype() != DType::kF32 || constant.empty())
    return Status::NotFound("no record of the import");
  Result<WholeConstant> direct = Direct(scene, constant);
  if (direct.ok()) return direct;
  const std::map<std::string, Tensor>& constants = scene.record->folded.constants;
  for (const Layer& layer : scene.record->folded.layers) {
    if (layer.kind != OpKind::kPermute || layer.inputs.size() != 1) continue;
    const auto made = constants.find(layer.outputs[0]), read = constants.find(layer.inputs[0]);
    if (made == constants.end() || read == constants.end() || made->second.dtype() != DType::kF32 ||
        made->second.shape() != constant.shape() || !IsSame(made->second, constant))
      continue;
    PLUMB_ASSIGN_OR_RETURN(WholeConstant whole, Direct(scene, read->second));
    const std::vector<int>& orders = ParamOf<PermuteParam>(layer).orders;
    PLUMB_ASSIGN_OR_RETURN(whole.whole, Permuted<double>(whole.whole, orders));
    PLUMB_ASSIGN_OR_RETURN(whole.scale, Permuted<float>(whole.scale, orders));
    return whole;
  }
  return direct;
}

}  // namespace plumb
