// SPDX-License-Identifier: Apache-2.0
// A tensor of ggml as a dump's manifest says it (the attributes of examples/hooks/ggml_hook.h).
#ifndef PLUMB_INTEROP_GGML_NODE_H_
#define PLUMB_INTEROP_GGML_NODE_H_

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "dump/manifest.h"
#include "plumb/status.h"

namespace plumb {

constexpr int kGgmlDims = 4;

using WholeNumbers = std::vector<int64_t>;

// A tensor of the dump: a layer's output, or what a layer read and none wrote.
struct GgmlNode {
  const DumpedBlob* blob = nullptr;
  std::string type, name;      // ggml's type ("q4_K"), the blob
  WholeNumbers dims, strides;  // four, the innermost first; bytes
  WholeNumbers params;
  std::string view_of, buffer;
  int64_t offset = 0;  // bytes into view_of
  size_t time = 0;     // which of the dump's tensors it was

  bool IsFloat() const { return type == "f32" || type == "f16" || type == "bf16"; }
  bool IsInteger() const { return type == "i32" || type == "i64"; }
  bool IsPlain() const { return IsFloat() || IsInteger(); }
  int64_t ElementSize() const { return type == "i64" ? 8 : type == "f32" || type == "i32" ? 4 : 2; }
  bool IsLayer() const { return blob->place.output; }
  int64_t NumElements() const { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }
  // Nothing is computed: another look at the same memory.
  bool IsLook() const;
};

bool IsGgml(const DumpedBlob& blob);

// Fills all but blob, name and time. CorruptModel names the attribute.
Status ReadGgmlAttributes(GgmlNode* node);

// Outermost first, as many as the manifest's shape has.
Result<Shape> ShapeOfGgml(const GgmlNode& node);

// Which elements of `root` the tensor is.
Result<WholeNumbers> ElementsOfGgml(const GgmlNode& node, const GgmlNode& root);

}  // namespace plumb

#endif  // PLUMB_INTEROP_GGML_NODE_H_
