// SPDX-License-Identifier: Apache-2.0
#include "format/onnx/map/window_attributes.h"

#include <fmt/core.h>

#include <algorithm>

#include "op/pad.h"

namespace plumb::onnx {
namespace {

constexpr int64_t kLargest = 1 << 24;  // of a kernel, stride, dilation or pad

Status Take(const NodeContext& c, const char* name, size_t rank, int64_t fallback, int64_t least,
            std::vector<int>* values) {
  const std::vector<int64_t> given = c.IntList(name);
  if (!given.empty() && given.size() != rank) {
    return Status::CorruptModel(fmt::format("{} has {} entries, expected {}", name, given.size(), rank));
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t value = given.empty() ? fallback : given[i];
    if (value < least || value > kLargest) return Status::CorruptModel(fmt::format("{} has the entry {}", name, value));
    values->push_back(static_cast<int>(value));
  }
  return Status::Ok();
}

Status SamePads(bool upper, const std::vector<int64_t>& spatial, WindowAttributes* w) {
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t out = (spatial[i] + w->stride[i] - 1) / w->stride[i];
    const int64_t extent = int64_t{w->dilation[i]} * (w->kernel[i] - 1) + 1;
    const int64_t total = std::max<int64_t>((out - 1) * w->stride[i] + extent - spatial[i], 0);
    if (total > kLargest) return Status::CorruptModel("auto_pad asks for pads of " + std::to_string(total));
    w->begin.push_back(static_cast<int>(upper ? total / 2 : total - total / 2));
    w->end.push_back(static_cast<int>(total) - w->begin.back());
  }
  return Status::Ok();
}

}  // namespace

bool WindowAttributes::dilated() const {
  return std::any_of(dilation.begin(), dilation.end(), [](int d) { return d != 1; });
}

Result<WindowAttributes> ReadWindow(const NodeContext& c, const std::vector<int64_t>& spatial,
                                    std::vector<int64_t> kernel) {
  WindowAttributes w;
  const size_t rank = spatial.size();
  if (rank == 0) return Status::CorruptModel("the input has no spatial dims");
  const std::vector<int64_t> declared = c.IntList("kernel_shape");
  if (kernel.empty()) kernel = declared;
  if (!declared.empty() && declared != kernel) {
    return Status::CorruptModel(fmt::format("kernel_shape is {}, but the weights have {}", Shape(declared).ToString(),
                                            Shape(kernel).ToString()));
  }
  if (kernel.size() != rank)
    return Status::CorruptModel(fmt::format("the kernel has {} dims, the input {} spatial ones", kernel.size(), rank));
  for (const int64_t size : kernel) {
    if (size < 1 || size > kLargest) return Status::CorruptModel("the kernel has the dim " + std::to_string(size));
    w.kernel.push_back(static_cast<int>(size));
  }
  PLUMB_RETURN_IF_ERROR(Take(c, "strides", rank, 1, 1, &w.stride));
  PLUMB_RETURN_IF_ERROR(Take(c, "dilations", rank, 1, 1, &w.dilation));
  w.auto_pad = c.Text("auto_pad", "NOTSET");
  if (w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER") {
    PLUMB_RETURN_IF_ERROR(SamePads(w.auto_pad == "SAME_UPPER", spatial, &w));
    return w;
  }
  std::vector<int> pads;
  PLUMB_RETURN_IF_ERROR(Take(c, w.auto_pad == "VALID" ? "" : "pads", 2 * rank, 0, -kLargest, &pads));
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  return w;
}

void WarnOfSides(NodeContext& c, const WindowAttributes& w) {
  for (size_t i = 0; i < w.stride.size(); ++i) {
    if (w.stride[i] < 2 || w.begin[i] == w.end[i]) continue;
    c.Warn("AL07", fmt::format("pads {} and {} at a stride of {}", w.begin[i], w.end[i], w.stride[i]));
    return;
  }
}

Result<Value> PadSpatial(NodeContext& c, const Value& x, const WindowAttributes& w, float fill) {
  auto param = std::make_shared<PadV2Param>();
  param->begins = {0, 0};
  param->ends = {0, 0};
  param->begins.insert(param->begins.end(), w.begin.begin(), w.begin.end());
  param->ends.insert(param->ends.end(), w.end.begin(), w.end.end());
  param->value = fill;
  return c.Emit(OpKind::kPadV2, param, {x});
}

Result<Value> AddHeight(NodeContext& c, const Value& x, WindowAttributes* w) {
  std::vector<int64_t> dims = c.ShapeOf(x).dims();
  dims.insert(dims.begin() + 2, 1);
  for (std::vector<int>* list : {&w->kernel, &w->stride, &w->dilation}) list->insert(list->begin(), 1);
  for (std::vector<int>* list : {&w->begin, &w->end}) list->insert(list->begin(), 0);
  return c.Reshape(x, dims);
}

Result<Value> DropHeight(NodeContext& c, const Value& y) {
  std::vector<int64_t> dims = c.ShapeOf(y).dims();
  dims.erase(dims.begin() + 2);
  return c.Reshape(y, dims);
}

}  // namespace plumb::onnx
