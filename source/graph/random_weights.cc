// SPDX-License-Identifier: Apache-2.0
#include "graph/random_weights.h"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/threads.h"
#include "graph/mean_square.h"
#include "graph/philox.h"
#include "graph/random_quantized.h"
#include "graph/resources.h"
#include "op/core/op.h"

namespace plumb {
namespace {

constexpr int64_t kGrainBlocks = 4096;  // blocks of four; below it threads cost more than they save

// An odd integer from -(2^24 - 1) to 2^24 - 1: symmetric, never 0, and exact as a float.
inline float OddInteger(uint32_t bits) {
  return static_cast<float>(2 * static_cast<int32_t>(bits >> 8) + 1 - (int32_t{1} << 24));
}

// dst[i] = center + scale * odd integer. Where center is not 0 the scale is a power of two, so that the product is
// exact and a fused multiply-add gives the same bits.
void FillRandomWeights(const PhiloxStream& stream, int64_t count, float center, float scale, float* dst) {
  ParallelFor((count + 3) / 4, kGrainBlocks, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const PhiloxCounter bits = stream.Block(static_cast<uint64_t>(block));
      const int64_t first = 4 * block;
      const int64_t size = std::min<int64_t>(4, count - first);
      for (int64_t i = 0; i < size; ++i) dst[first + i] = center + scale * OddInteger(bits[static_cast<size_t>(i)]);
    }
  });
}

// Uniform on [-a, a] has the variance a^2 / 3.
float HeScale(int64_t fan_in, double mean_square) {
  return static_cast<float>(
      std::sqrt(6.0 / (static_cast<double>(std::max<int64_t>(fan_in, 1)) * std::max(mean_square, 1e-6))) * 0x1p-24);
}

Result<Tensor> Draw(const ResourceSpec& spec, const PhiloxStream& stream, double mean_square) {
  if (spec.fill == ResourceSpec::kZeroPoint) return Tensor::Zeros(DType::kI8, spec.shape);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, spec.shape));
  float center = 0;
  float scale = 0;
  switch (spec.fill) {
    case ResourceSpec::kHe: scale = HeScale(spec.fan_in, mean_square); break;
    case ResourceSpec::kSmall: scale = 0x1p-28f; break;                  // -1/16 .. 1/16
    case ResourceSpec::kNearOne: center = 1, scale = 0x1p-27f; break;    // 7/8 .. 9/8
    case ResourceSpec::kPositive: center = 1, scale = 0x1p-25f; break;   // 1/2 .. 3/2
    case ResourceSpec::kSlope: center = 0.25f, scale = 0x1p-26f; break;  // 0 .. 1/2
    case ResourceSpec::kZeroPoint: break;
  }
  FillRandomWeights(stream, tensor.NumElements(), center, scale, tensor.data<float>());
  return tensor;
}

struct Missing {
  Layer* layer;
  std::vector<ResourceSpec> specs;  // empty: the layer lacks nothing
};

Result<std::vector<Missing>> FindMissing(const BlobTable& blobs, Graph* graph) {
  std::vector<Missing> all;
  for (Layer& layer : graph->layers) {
    Missing missing{&layer, {}};
    PLUMB_ASSIGN_OR_RETURN(const std::vector<ResourceSpec> specs, SpecsOf(*graph, layer, blobs));
    for (const ResourceSpec& spec : specs) {
      if (spec.required && layer.Resource(spec.slot) == nullptr) missing.specs.push_back(spec);
    }
    all.push_back(std::move(missing));
  }
  return all;
}

// A description can ask for any amount of weights with a few digits; half of the memory is a mistake or an attack.
Status CheckWeightsFit(const Graph& graph, const std::vector<Missing>& all) {
  const double memory = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  double bytes = 0;
  for (const Missing& missing : all) {
    for (const ResourceSpec& spec : missing.specs) {
      PLUMB_RETURN_IF_ERROR(
          spec.shape.Validate().AddContext(fmt::format("{}: {}", LayerFrame(graph, *missing.layer), spec.slot)));
      bytes += 4.0 * static_cast<double>(spec.shape.NumElements());
      if (bytes > memory / 2) {
        return Status::InvalidArgument(
            fmt::format("{}: {} {}: the weights to be generated need more than half of this machine's memory ({} MiB); "
                        "check the layer's sizes, or give a tnnmodel",
                        LayerFrame(graph, *missing.layer), spec.slot, spec.shape.ToString(),
                        static_cast<int64_t>(memory / 0x1p20)));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

const char* WeightGeneratorVersion() { return "philox4x32-10 v1"; }

Status GenerateWeights(const BlobTable& blobs, uint64_t seed, Graph* graph) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Missing> all, FindMissing(blobs, graph));
  PLUMB_RETURN_IF_ERROR(CheckWeightsFit(*graph, all));
  MeanSquares mean_squares;
  for (const Missing& missing : all) {
    Layer& layer = *missing.layer;
    bool drawn = false;
    for (const ResourceSpec& spec : missing.specs) {
      drawn |= spec.fill == ResourceSpec::kHe;
      Result<Tensor> tensor = Draw(spec, PhiloxStream(seed, layer.name, spec.slot), mean_squares.Input(layer));
      if (!tensor.ok()) return tensor.status().AddContext(fmt::format("{}: {}", LayerFrame(*graph, layer), spec.slot));
      layer.resources[spec.slot] = *std::move(tensor);
      graph->weights_generated = true;
    }
    mean_squares.AddLayer(layer, drawn);
    if (layer.quantized) ChooseBlobScales(mean_squares, layer, graph);
    if (!missing.specs.empty()) PLUMB_RETURN_IF_ERROR(QuantizeDrawn(*graph, &layer));
  }
  if (graph->weights_generated) graph->weight_seed = seed;
  return Status::Ok();
}

}  // namespace plumb
