// SPDX-License-Identifier: Apache-2.0
// The resources (weights) that a graph's layers must have, from OpDef::resource_specs.
#ifndef PLUMB_GRAPH_RESOURCES_H_
#define PLUMB_GRAPH_RESOURCES_H_

#include <map>
#include <string>
#include <vector>

#include "op/core/op.h"
#include "plumb/graph.h"

namespace plumb {

// "model 'x': layer 12 'conv_3' (Convolution)".
std::string LayerFrame(const Graph& graph, const Layer& layer);

// Whether two tensors, or two layers' resources, are the same to the bit.
bool SameTensor(const Tensor& a, const Tensor& b);
bool SameResources(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b);

// What the layer's operator expects; empty for an operator without resources. The Status names the layer.
Result<std::vector<ResourceSpec>> SpecsOf(const Graph& graph, const Layer& layer, const BlobTable& blobs);

// CorruptModel: integers where kernels of floats read floats.
Status CheckFloats(const Layer& layer);

// Checks every layer's resources: present where required, as many elements as the layer's sizes ask for, a dtype that
// fits. Tensors without dims (v1 files) take the expected shape. All missing ones are named at once.
Status CheckResources(const BlobTable& blobs, Graph* graph);

// f16 and bf16 weights and constants become f32, because kernels take f32 weights; a note says how many.
Status ExpandHalf(Graph* graph, bool skipped = false);

// Whether LoadOptions::skip_weights leaves such a tensor unread.
bool IsSkippedWeight(DType dtype, const Shape& shape);
// Zeros of which no page is touched. OutOfMemory.
Result<Tensor> UntouchedZeros(DType dtype, const Shape& shape);

}  // namespace plumb

#endif  // PLUMB_GRAPH_RESOURCES_H_
