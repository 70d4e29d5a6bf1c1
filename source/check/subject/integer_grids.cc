// SPDX-License-Identifier: Apache-2.0
#include "check/subject/integer_grids.h"

#include <fmt/core.h>

#include <cmath>
#include <vector>

#include "op/core/op.h"

namespace plumb {
namespace {

constexpr double kBeside = 0.01;  // steps: reals of f32 come nearer to theirs

// The layer's scale and zero point, inputs 1 and 2, where both are single constants.
bool ReadGrid(const Graph& graph, const Layer& layer, IntegerGrid* grid) {
  for (size_t i = 1; i < layer.inputs.size(); ++i) {
    const auto found = graph.constants.find(layer.inputs[i]);
    if (found == graph.constants.end() || found->second.NumElements() != 1) return false;
    const double value = found->second.ValueAt(0);
    if (i == 1) grid->scale = value;
    if (i == 2) grid->zero_point = static_cast<int64_t>(value);
  }
  return layer.inputs.size() > 1 && grid->scale > 0;
}

// What only moves integers has one grid on all sides.
void SpreadGrid(const Layer& layer, std::map<std::string, IntegerGrid>* grids) {
  if (!GetOp(layer.kind).moves_data_only || layer.inputs.empty()) return;
  std::vector<std::string> blobs = layer.outputs;
  const size_t moved = layer.kind == OpKind::kConcat ? layer.inputs.size() : 1;
  blobs.insert(blobs.end(), layer.inputs.begin(), layer.inputs.begin() + static_cast<std::ptrdiff_t>(moved));
  for (const std::string& blob : blobs) {
    const auto known = grids->find(blob);
    if (known == grids->end()) continue;
    const IntegerGrid grid = known->second;
    for (const std::string& other : blobs) grids->emplace(other, grid);
    return;
  }
}

}  // namespace

std::map<std::string, IntegerGrid> IntegerGrids(const Graph& graph) {
  std::map<std::string, IntegerGrid> grids;
  for (const Layer& layer : graph.layers) {
    IntegerGrid grid;
    if (layer.kind == OpKind::kPlumbQuantizeLinear && ReadGrid(graph, layer, &grid)) {
      grids[layer.outputs[0]] = grid;
    } else if (layer.kind == OpKind::kPlumbDequantizeLinear && ReadGrid(graph, layer, &grid)) {
      grids.emplace(layer.inputs[0], grid);
    }
  }
  constexpr int kPasses = 3;  // forwards and backwards; what is moved is mostly known after one
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const Layer& layer : graph.layers) SpreadGrid(layer, &grids);
    for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) SpreadGrid(*layer, &grids);
  }
  return grids;
}

Result<Tensor> IntegersOn(const IntegerGrid& grid, const Tensor& reals) {
  PLUMB_ASSIGN_OR_RETURN(Tensor integers, Tensor::Create(DType::kI64, reals.shape()));
  for (int64_t i = 0; i < reals.NumElements(); ++i) {
    const double steps = reals.ValueAt(i) / grid.scale, whole = std::nearbyint(steps);
    if (!(std::fabs(steps - whole) <= kBeside) || !(std::fabs(whole) < 0x1p31)) {
      return Status::InvalidArgument(
          fmt::format("value {} of its reals is {:.9g}, which is no step of {:.9g}", i, reals.ValueAt(i), grid.scale));
    }
    integers.data<int64_t>()[i] = static_cast<int64_t>(whole) + grid.zero_point;
  }
  return integers;
}

}  // namespace plumb
