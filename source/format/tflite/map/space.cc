// SPDX-License-Identifier: Apache-2.0
// Pixels into channels or batches, and back. A block's pixels come before the channels, as in ONNX's DCR.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

struct Blocks {
  std::vector<int64_t> block, borders;  // borders: two numbers per spatial dim
  Shape in;
};

Result<Blocks> ReadBlocks(OpContext& c, const char* what) {
  Blocks blocks;
  PLUMB_ASSIGN_OR_RETURN(blocks.block, c.Ints(1, "the block"));
  PLUMB_ASSIGN_OR_RETURN(blocks.borders, c.Ints(2, what));
  blocks.in = c.InShape(0);
  const size_t dims = blocks.block.size();
  if (dims == 0 || static_cast<int>(dims) >= blocks.in.rank() || blocks.borders.size() != 2 * dims) {
    return Status::CorruptModel(fmt::format("a block of {} dims and {} of {} numbers do not fit {}", dims, what,
                                            blocks.borders.size(), blocks.in.ToString()));
  }
  constexpr int64_t kMost = 1 << 20;
  int64_t product = 1;
  for (const int64_t size : blocks.block) {
    product *= size < 1 || size > kMost ? 0 : size;
    if (product < 1 || product > kMost) return Status::CorruptModel(fmt::format("its block has the dim {}", size));
  }
  for (const int64_t border : blocks.borders) {
    if (border < 0 || border > kMost) return Status::CorruptModel(fmt::format("{} has the number {}", what, border));
  }
  return blocks;
}

Result<std::string> ReshapedTo(OpContext& c, const std::string& x, const std::vector<int64_t>& dims) {
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(dims));
  return c.Emit("Reshape", {x, shape});
}

}  // namespace

Status MapSpaceToDepth(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::SpaceToDepthOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFirst));
  return c.SetMoved(0, c.Emit("SpaceToDepth", {x}, {{"blocksize", IntAttribute(options->block_size())}}),
                    Order::kFirst);
}

Status MapDepthToSpace(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::DepthToSpaceOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFirst));
  return c.SetMoved(
      0,
      c.Emit("DepthToSpace", {x}, {{"blocksize", IntAttribute(options->block_size())}, {"mode", TextAttribute("DCR")}}),
      Order::kFirst);
}

// [N,H,W,...] -> [N,H/b,b,W/b,b,...] -> the blocks' dims first, into the batch.
Status MapSpaceToBatch(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(c, "paddings"));
  const size_t dims = b.block.size(), rank = static_cast<size_t>(b.in.rank());
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(0, Order::kFile));
  std::vector<int64_t> pads(2 * rank, 0), apart = {b.in[0]}, perm, joined = {b.in[0]};
  for (size_t i = 0; i < dims; ++i) {
    pads[i + 1] = b.borders[2 * i];
    pads[rank + i + 1] = b.borders[2 * i + 1];
    const int64_t size = b.in[static_cast<int>(i) + 1] + pads[i + 1] + pads[rank + i + 1];
    if (size % b.block[i] != 0)
      return Status::CorruptModel(fmt::format("{} pixels are no multiple of its block {}", size, b.block[i]));
    apart.insert(apart.end(), {size / b.block[i], b.block[i]});
    perm.push_back(static_cast<int64_t>(2 * i + 2));
    joined[0] *= b.block[i];
    joined.push_back(size / b.block[i]);
  }
  perm.push_back(0);
  for (size_t i = 0; i < dims; ++i) perm.push_back(static_cast<int64_t>(2 * i + 1));
  for (size_t i = dims + 1; i < rank; ++i) {
    perm.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(b.in[static_cast<int>(i)]);
    joined.push_back(b.in[static_cast<int>(i)]);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string padding, c.IntsConstant(pads));
  PLUMB_ASSIGN_OR_RETURN(x, ReshapedTo(c, c.Emit("Pad", {x, padding}), apart));
  PLUMB_ASSIGN_OR_RETURN(x, ReshapedTo(c, c.Emit("Transpose", {x}, {{"perm", IntsAttribute(perm)}}), joined));
  return c.Set(0, x, Order::kFile);
}

Status MapBatchToSpace(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Blocks b, ReadBlocks(c, "crops"));
  const size_t dims = b.block.size();
  int64_t blocks = 1;
  for (const int64_t size : b.block) blocks *= size;
  if (blocks < 1 || b.in[0] % blocks != 0)
    return Status::CorruptModel(fmt::format("its batch {} is no multiple of its block", b.in[0]));
  std::vector<int64_t> apart = b.block, perm = {static_cast<int64_t>(dims)}, joined = {b.in[0] / blocks};
  std::vector<int64_t> starts, ends, axes;
  apart.push_back(b.in[0] / blocks);
  for (size_t i = 0; i < dims; ++i) {
    const int64_t size = b.in[static_cast<int>(i) + 1];
    perm.insert(perm.end(), {static_cast<int64_t>(dims + 1 + i), static_cast<int64_t>(i)});
    apart.push_back(size);
    joined.push_back(size * b.block[i]);
    axes.push_back(static_cast<int64_t>(i) + 1);
    starts.push_back(b.borders[2 * i]);
    ends.push_back(joined.back() - b.borders[2 * i + 1]);
  }
  for (int i = static_cast<int>(dims) + 1; i < b.in.rank(); ++i) {
    perm.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(b.in[i]);
    joined.push_back(b.in[i]);
  }
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(x, ReshapedTo(c, x, apart));
  PLUMB_ASSIGN_OR_RETURN(x, ReshapedTo(c, c.Emit("Transpose", {x}, {{"perm", IntsAttribute(perm)}}), joined));
  PLUMB_ASSIGN_OR_RETURN(const std::string from, c.IntsConstant(starts));
  PLUMB_ASSIGN_OR_RETURN(const std::string to, c.IntsConstant(ends));
  PLUMB_ASSIGN_OR_RETURN(const std::string along, c.IntsConstant(axes));
  return c.Set(0, c.Emit("Slice", {x, from, to, along}), Order::kFile);
}

}  // namespace plumb::tflite
