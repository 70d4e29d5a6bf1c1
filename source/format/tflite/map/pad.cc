// SPDX-License-Identifier: Apache-2.0
// PAD (with 0), PADV2 (with a given value), MIRROR_PAD (with what lies at the border).
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

// Two numbers per dim, before and behind it.
Result<std::vector<int64_t>> Paddings(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> pads, c.Ints(1, "the paddings"));
  if (static_cast<int>(pads.size()) != 2 * c.Rank(0))
    return Status::CorruptModel(fmt::format("it has {} paddings for {} dims", pads.size(), c.Rank(0)));
  for (const int64_t pad : pads) {
    if (pad < 0 || pad > 1 << 24) return Status::CorruptModel(fmt::format("it pads by {}", pad));
  }
  return pads;
}

// Where each element of a padded dim comes from. `edge`: 1 leaves the border itself out.
Result<std::vector<int64_t>> MirroredIndices(int64_t size, int64_t before, int64_t behind, int64_t edge) {
  constexpr int64_t kMost = 1 << 22;
  if (size > kMost) return Status::NotSupported(fmt::format("it mirrors a dim of {}, {} at most", size, kMost));
  if (before > size - edge || behind > size - edge)
    return Status::CorruptModel(fmt::format("it mirrors {} and {} of {} elements", before, behind, size));
  std::vector<int64_t> indices;
  for (int64_t i = before; i > 0; --i) indices.push_back(i - 1 + edge);
  for (int64_t i = 0; i < size; ++i) indices.push_back(i);
  for (int64_t i = 0; i < behind; ++i) indices.push_back(size - 1 - edge - i);
  return indices;
}

}  // namespace

Status MapPad(OpContext& c) {
  const Order order = c.OrderOf(0);
  const int rank = c.Rank(0);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> given, Paddings(c));
  std::vector<int64_t> pads(given.size());
  for (int i = 0; i < rank; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, i, rank));
    pads[static_cast<size_t>(axis)] = given[static_cast<size_t>(2 * i)];
    pads[static_cast<size_t>(axis + rank)] = given[static_cast<size_t>(2 * i + 1)];
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string amounts, c.IntsConstant(pads));
  std::vector<std::string> inputs = {x, amounts};
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Real(2, Order::kFile));
    PLUMB_ASSIGN_OR_RETURN(const std::string scalar, c.IntsConstant({}));
    inputs.push_back(c.Emit("Reshape", {value, scalar}));
  }
  return c.Set(0, c.Emit("Pad", inputs), order);
}

Status MapMirrorPad(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::MirrorPadOptions>());
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, Paddings(c));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Moved(0, order));
  for (int i = 0; i < c.Rank(0); ++i) {
    const int64_t before = pads[static_cast<size_t>(2 * i)], behind = pads[static_cast<size_t>(2 * i + 1)];
    if (before == 0 && behind == 0) continue;
    PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, i, c.Rank(0)));
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from,
                           MirroredIndices(c.InShape(0)[i], before, behind, options->mode() == 0 ? 1 : 0));
    PLUMB_ASSIGN_OR_RETURN(const std::string indices, c.IntsConstant(from));
    x = c.Emit("Gather", {x, indices}, {{"axis", IntAttribute(axis)}});
  }
  return c.SetMoved(0, x, order);
}

}  // namespace plumb::tflite
