// SPDX-License-Identifier: Apache-2.0
// Operators that read by index, or give indices.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {

Status MapGather(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::GatherOptions>());
  if (options->batch_dims() != 0) return Status::NotSupported(fmt::format("batch_dims {}", options->batch_dims()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, c.Raw(1, Order::kFile));
  return c.SetMoved(0, c.Emit("Gather", {x, indices}, {{"axis", IntAttribute(options->axis())}}), Order::kFile);
}

Status MapGatherNd(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, c.Raw(1, Order::kFile));
  const std::string wide = c.Emit("Cast", {indices}, {{"to", IntAttribute(onnx::kTypeInt64)}});
  return c.SetMoved(0, c.Emit("GatherND", {x, wide}), Order::kFile);
}

Status MapEmbeddingLookup(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string table, c.Real(1, Order::kFile));
  return c.Set(0, c.Emit("Gather", {table, indices}, {{"axis", IntAttribute(0)}}), Order::kFile);
}

Status MapTopK(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> count, c.Ints(1, "the number of values"));
  PLUMB_ASSIGN_OR_RETURN(const std::string k, c.IntsConstant(count));
  const std::vector<std::string> found = c.writer().EmitMany("TopK", {x, k}, 2, {{"axis", IntAttribute(-1)}});
  PLUMB_RETURN_IF_ERROR(c.SetMoved(0, found[0], Order::kFile));
  const int type = c.writer().TypeOf(c.OutputIndex(1));
  return c.SetRaw(1, c.Emit("Cast", {found[1]}, {{"to", IntAttribute(type)}}), Order::kFile);
}

Status MapOneHot(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::OneHotOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string depth, c.Raw(1, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string on, c.Raw(2, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string off, c.Raw(3, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string one, c.IntsConstant({1}));
  const std::string values =
      c.Emit("Concat", {c.Emit("Reshape", {off, one}), c.Emit("Reshape", {on, one})}, {{"axis", IntAttribute(0)}});
  return c.SetRaw(0, c.Emit("OneHot", {indices, depth, values}, {{"axis", IntAttribute(options->axis())}}),
                  Order::kFile);
}

}  // namespace plumb::tflite
