// SPDX-License-Identifier: Apache-2.0
// Any bytes as the tnnmodel of a description that has every kind of record: no crash, no memory beyond the input's
// size. What is accepted is written and read again.
#include <cstdlib>
#include <string>

#include "format/tnn/model.h"
#include "format/tnn/name_writer.h"
#include "format/tnn/proto.h"
#include "graph/resources.h"

namespace {

constexpr char kDescription[] =
    "1 9 1 4206624772,x 4 1 2 3 3 0,,y,7,"
    "Convolution c 1 1 x a 1 2 2 1 1 1 1 0 0 1 -1 1 1 0,"
    "QuantizedConvolution q 1 1 a b 1 2 2 1 1 1 1 0 0 1 -1 1 1 0,"
    "Mul m 1 1 b d 1,"
    "PReLU p 1 1 d e 0 1,"
    "BatchNormCxx n 1 1 e f,"
    "InnerProduct i 1 1 f g 4 1 0 1,"
    "Add k 2 1 g const y,";

plumb::FileBytes BytesOf(const void* data, size_t size) {
  return plumb::FileBytes(std::shared_ptr<void>(const_cast<void*>(data), [](void*) {}), size);
}

std::string Written(const plumb::Graph& graph) {
  std::string bytes;
  const auto sink = [&bytes](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return plumb::Status::Ok();
  };
  return plumb::tnn::WriteModel(graph, 2, sink).ok() ? bytes : std::string();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const plumb::Result<plumb::tnn::Proto>* proto =
      new plumb::Result<plumb::tnn::Proto>(plumb::tnn::ParseProto(kDescription, "x.tnnproto"));
  if (!proto->ok()) std::abort();
  const plumb::Graph* bare = &proto->value().graph;
  plumb::Graph graph = *bare;
  if (!plumb::tnn::ReadModel(BytesOf(data, size), "x.tnnmodel", false, &graph).ok()) return 0;
  const std::string bytes = Written(graph);
  plumb::Graph again = *bare;
  const bool escaped = plumb::tnn::NameWriter(graph).escapes();  // the tnnproto written beside it would say so
  if (!plumb::tnn::ReadModel(BytesOf(bytes.data(), bytes.size()), "y.tnnmodel", escaped, &again).ok()) std::abort();
  if (Written(again) != bytes) std::abort();
  const auto blobs = plumb::InferShapes(graph);
  if (blobs.ok()) (void)plumb::CheckResources(*blobs, &graph);
  return 0;
}
