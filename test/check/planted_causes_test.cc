// SPDX-License-Identifier: Apache-2.0
// Faults that deployments really have, planted in small networks: each must be wrong, with its own words as the cause
// (or, where no other computation explains it, as a hint) and with no other cause.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/half.h"
#include "op/activation.h"
#include "op/concat.h"
#include "op/convolution.h"
#include "op/gather.h"
#include "op/inner_product.h"
#include "op/norm.h"
#include "op/pad.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/resize.h"
#include "op/softmax.h"
#include "op/strided_slice.h"
#include "planted_cause.h"

namespace plumb {
namespace {

Tensor Vector(int64_t size, double scale, double offset) {
  return Mapped(Gauss({size}), [=](double v) { return scale * v + offset; });
}

Layer MeanOver(const std::string& name, const std::string& in, const std::string& out) {
  Layer layer = MakeLayer(OpKind::kReduceMean, name, {in}, {out});
  auto param = std::make_shared<ReduceParam>();
  param->axes = {2};
  param->keep_dims = true;
  layer.param = param;
  return layer;
}

// A layer norm of single operators, of which the subject has both ends.
Graph NormGraph(float epsilon) {
  Graph graph = GraphOf(
      {MeanOver("mean", "x", "m"), MakeLayer(OpKind::kSub, "sub", {"x", "m"}, {"d"}),
       MakeLayer(OpKind::kMul, "square", {"d", "d"}, {"q"}), MeanOver("variance", "q", "v"),
       MakeLayer(OpKind::kAdd, "add", {"v", "epsilon"}, {"w"}), MakeLayer(OpKind::kSqrt, "sqrt", {"w"}, {"s"}),
       MakeLayer(OpKind::kDiv, "div", {"d", "s"}, {"n"}), MakeLayer(OpKind::kMul, "scale", {"n", "gamma"}, {"g"}),
       MakeLayer(OpKind::kAdd, "shift", {"g", "beta"}, {"y"})},
      {1, 8, 32});
  graph.constants = {{"epsilon", One(epsilon)}, {"gamma", Vector(32, 0.3, 1)}, {"beta", Vector(32, 0.5, 0.25)}};
  return graph;
}

// The graph without a layer: what read its result reads its input.
Graph Without(Graph graph, const std::string& name, size_t kept = 0) {
  for (Layer& layer : graph.layers) {
    if (layer.name != name) continue;
    layer.kind = OpKind::kIdentity;
    layer.type = "Identity";
    layer.inputs = {layer.inputs[kept]};
    layer.param = GetOp(OpKind::kIdentity).make_param();
  }
  return graph;
}

Graph OutsideEpsilon(float epsilon) {
  Graph graph = Without(NormGraph(epsilon), "add");
  for (Layer& layer : graph.layers) {
    if (layer.name == "sqrt") layer.outputs = {"r"};
  }
  Layer add = MakeLayer(OpKind::kAdd, "outside", {"r", "epsilon"}, {"s"});
  graph.layers.insert(graph.layers.begin() + 6, add);
  return graph;
}

// The variance times n / (n - 1), n = 32.
Graph Unbiased(float epsilon) {
  Graph graph = NormGraph(epsilon);
  graph.layers[3].outputs = {"v0"};
  graph.layers.insert(graph.layers.begin() + 4, MakeLayer(OpKind::kMul, "unbiased", {"v0", "factor"}, {"v"}));
  graph.constants["factor"] = One(32.0f / 31);
  return graph;
}

Graph WholeNorm(bool gamma, bool beta) {
  Graph graph = GraphOf(
      {LayerOf<LayerNormParam>(OpKind::kLayerNorm, [](LayerNormParam* p) { p->reduce_dims_size = 1, p->eps = 1e-3f; },
                               {"x", "gamma", "beta"})},
      {1, 8, 32});
  graph.constants = {{"gamma", gamma ? Vector(32, 0.3, 1) : Vector(32, 0, 1)},
                     {"beta", beta ? Vector(32, 0.5, 0.25) : Vector(32, 0, 0)}};
  return graph;
}

Graph ConvGraph(int channels, int outputs, int group, bool tail) {
  Layer conv = LayerOf<ConvolutionParam>(OpKind::kConvolution, [&](ConvolutionParam* p) {
    p->group = group, p->in_channels_per_group = channels / group, p->out_channels = outputs;
    p->kernel_h = p->kernel_w = 3, p->stride_h = p->stride_w = 1, p->bias = true, p->pad_type = kPadSame;
  });
  conv.name = "conv";
  conv.resources = {{"weight", Gauss({outputs, channels / group, 3, 3}, 0.1)}, {"bias", Gauss({outputs})}};
  std::vector<Layer> layers = {conv};
  if (tail) {
    layers[0].outputs = {"c"};
    layers.push_back(MakeLayer(OpKind::kBatchNormCxx, "bn", {"c"}, {"b"}));
    layers[1].resources = {{"scale", Vector(outputs, 0.3, 1)}, {"bias", Vector(outputs, 0.3, 0.2)}};
    layers.push_back(MakeLayer(OpKind::kReLU, "relu", {"b"}, {"y"}));
  }
  return GraphOf(std::move(layers), {1, channels, 10, 10});
}

Graph WithResource(Graph graph, const std::string& slot, const std::function<float(const float*, int64_t)>& f) {
  const Tensor before = graph.layers[0].resources[slot];
  Tensor after = before.Clone().value();
  for (int64_t i = 0; i < after.NumElements(); ++i) after.data<float>()[i] = f(before.data<float>(), i);
  graph.layers[0].resources[slot] = after;
  return graph;
}

// Every group reads the channels c with c % groups == its number.
Graph DealtGroups() {
  Graph graph = ConvGraph(8, 8, 1, false);
  const Graph grouped = ConvGraph(8, 8, 2, false);
  const float* w = grouped.layers[0].resources.at("weight").data<float>();
  return WithResource(graph, "weight", [w](const float*, int64_t i) {
    const int64_t o = i / 72, c = i / 9 % 8, k = i % 9, g = o / 4;
    return c % 2 == g ? w[(o * 4 + c / 2) * 9 + k] : 0;
  });
}

Graph Dense(bool exchanged) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 24; });
  layer.resources = {{"weight", Gauss({24, 32}, 0.1)}};
  Graph graph = GraphOf({layer}, {4, 32});
  if (!exchanged) return graph;
  return WithResource(graph, "weight", [](const float* w, int64_t i) { return w[i % 32 * 24 + i / 32]; });
}

Graph Binary(OpKind kind, const Shape& input, const Tensor& operand) {
  Graph graph = GraphOf({MakeLayer(kind, "layer", {"x", "b"}, {"y"})}, input);
  graph.constants["b"] = operand;
  return graph;
}

Graph Slice(int begin) {
  return GraphOf({LayerOf<StridedSliceV2Param>(OpKind::kStridedSliceV2,
                                               [=](StridedSliceV2Param* p) {
                                                 p->begins = {begin}, p->ends = {begin + 8}, p->axes = {2};
                                                 p->strides = {1};
                                               })},
                 {1, 4, 16});
}

Graph Joined(const std::string& a, const std::string& b) {
  Graph graph = GraphOf({MakeLayer(OpKind::kSigmoid, "s", {"x"}, {"a"}), MakeLayer(OpKind::kTanh, "t", {"x"}, {"b"}),
                         LayerOf<ConcatParam>(OpKind::kConcat, [](ConcatParam* p) { p->axis = 1; }, {a, b})},
                        {1, 4, 6});
  return graph;
}

Graph Pool(int type, bool ceil) {
  return GraphOf({LayerOf<PoolingParam>(OpKind::kPooling,
                                        [=](PoolingParam* p) {
                                          p->pool_type = type, p->kernel_h = p->kernel_w = 3;
                                          p->stride_h = p->stride_w = 2, p->pad_h = p->pad_w = 1, p->ceil_mode = ceil;
                                        })},
                 {1, 3, 10, 10});
}

Tensor Causal(int64_t size, int64_t first_hidden) {
  Tensor mask = Tensor::Zeros(DType::kF32, {1, 1, size, size}).value();
  for (int64_t i = 0; i < mask.NumElements(); ++i)
    mask.data<float>()[i] = i % size >= i / size + first_hidden ? -1e9f : 0.0f;
  return mask;
}

// softmax(x * scale + mask) of scores x
Graph Scores(float scale, const Tensor& mask) {
  Layer softmax = LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 3; }, {"b"});
  Graph graph = GraphOf({MakeLayer(OpKind::kMul, "scale", {"x", "k"}, {"a"}),
                         MakeLayer(OpKind::kAdd, "add", {"a", "mask"}, {"b"}), softmax},
                        {1, 2, 8, 8});
  graph.constants = {{"k", One(scale)}, {"mask", mask}};
  return graph;
}

Graph TanhGraph(const Shape& shape) { return GraphOf({MakeLayer(OpKind::kTanh, "layer", {"x"}, {"y"})}, shape); }

// x / sqrt(mean(x^2) + epsilon) * gamma of single operators.
Graph RmsGraph(float epsilon) {
  Graph graph = GraphOf(
      {MakeLayer(OpKind::kMul, "square", {"x", "x"}, {"q"}), MeanOver("mean", "q", "v"),
       MakeLayer(OpKind::kAdd, "add", {"v", "epsilon"}, {"w"}), MakeLayer(OpKind::kSqrt, "sqrt", {"w"}, {"s"}),
       MakeLayer(OpKind::kReciprocal, "inverse", {"s"}, {"r"}), MakeLayer(OpKind::kMul, "times", {"x", "r"}, {"n"}),
       MakeLayer(OpKind::kMul, "scale", {"n", "gamma"}, {"y"})},
      {1, 8, 32});
  graph.constants = {{"epsilon", One(epsilon)}, {"gamma", Vector(32, 0.3, 1)}};
  return graph;
}

Graph Padded(int type) {
  return GraphOf({LayerOf<PadV2Param>(OpKind::kPadV2,
                                      [=](PadV2Param* p) {
                                        p->begins = {0, 0, 2, 1}, p->ends = {0, 0, 1, 2}, p->type = type;
                                      })},
                 {1, 2, 6, 7});
}

// x sigmoid(x) behind a product, as one step; the gate hard where `hard`.
Graph DenseSilu(bool hard) {
  Layer dense = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 24; });
  dense.resources = {{"weight", Gauss({24, 32}, 0.3)}};
  dense.outputs = {"d"};
  Layer gate = MakeLayer(OpKind::kSigmoid, "gate", {"d"}, {"g"});
  if (hard) {
    gate = LayerOf<HardParam>(OpKind::kHardSigmoid, [](HardParam* p) { p->alpha = 1.0f / 6, p->beta = 0.5f; }, {"d"});
    gate.outputs = {"g"};
  }
  return GraphOf({dense, gate, MakeLayer(OpKind::kMul, "times", {"d", "g"}, {"y"})}, {8, 32});
}

const float kScale64 = 0.125f, kScale32 = 0.17677669f;

std::vector<PlantedCause> NormPlants() {
  const Graph norm = NormGraph(1e-5f), whole = WholeNorm(true, true);
  const Tensor small = Gauss({1, 8, 32}, 0.05, 0.1);
  Graph constant = Binary(OpKind::kAdd, {1, 8, 1}, One(1e-5f));
  std::vector<PlantedCause> plants = {
      {"epsilon of a decomposed norm", norm, NormGraph(1e-3f), "with epsilon 0.001; the graph says 1e-05", false,
       small},
      {"epsilon alone", constant, Binary(OpKind::kAdd, {1, 8, 1}, One(1e-3f)), "with the constant 0.001"},
      {"n - 1 of a decomposed norm", norm, Unbiased(1e-5f), "divided by n - 1"},
      {"no mean in a decomposed norm", norm, Without(norm, "sub"), "without subtracting 'm'", false,
       Gauss({1, 8, 32}, 1, 0.5)},
      {"no gamma in a decomposed norm", norm, Without(norm, "scale"), "without multiplying by 'gamma'"},
      {"no beta in a decomposed norm", norm, Without(norm, "shift"), "without adding 'beta'"},
      {"epsilon outside of a decomposed norm", NormGraph(1e-2f), OutsideEpsilon(1e-2f), "outside of the root"},
      {"epsilon of a decomposed RMS norm", RmsGraph(1e-5f), RmsGraph(1e-3f), "with epsilon 0.001; the graph says 1e-05",
       false, small},
      {"no gamma in a decomposed RMS norm", RmsGraph(1e-5f), Without(RmsGraph(1e-5f), "scale"),
       "without multiplying by 'gamma'"},
      {"no gamma", whole, WholeNorm(false, true), "without gamma"},
      {"no beta", whole, WholeNorm(true, false), "without beta"}};
  PlantedCause rms{"RMS for layer norm", whole, whole, "as an RMS norm", false, Gauss({1, 8, 32}, 1, 0.5)};
  const Tensor x = rms.x;
  const auto row = [whole, x](bool rms_norm) {
    return [=](Tensor* y) {
      const float *g = whole.constants.at("gamma").data<float>(), *b = whole.constants.at("beta").data<float>();
      for (int64_t r = 0; r < 8; ++r) {
        double mean = 0, squares = 0;
        const float* v = x.data<float>() + r * 32;
        for (int i = 0; i < 32; ++i) mean += static_cast<double>(v[i]) / 32;
        if (rms_norm) mean = 0;
        for (int i = 0; i < 32; ++i) squares += std::pow(static_cast<double>(v[i]) - mean, 2) / 32;
        const double root = rms_norm ? std::sqrt(squares + 1e-3) : std::sqrt(squares) + 1e-3;
        for (int i = 0; i < 32; ++i)
          y->data<float>()[r * 32 + i] = static_cast<float>(
              (static_cast<double>(v[i]) - mean) / root * static_cast<double>(g[i]) + static_cast<double>(b[i]));
      }
    };
  };
  rms.spoil = row(true);
  plants.push_back(rms);
  PlantedCause outside{"epsilon outside", whole, whole, "outside of the root", false, x};
  outside.spoil = row(false);
  plants.push_back(outside);
  return plants;
}

std::vector<PlantedCause> ProductPlants() {
  const Graph fused = ConvGraph(4, 6, 1, true), plain = ConvGraph(8, 8, 1, false);
  const auto order = [&](const std::function<int64_t(int64_t, int64_t, int64_t)>& from) {  // o, c, k of 8, 8, 9
    return WithResource(plain, "weight",
                        [from](const float* w, int64_t i) { return w[from(i / 72, i / 9 % 8, i % 9)]; });
  };
  return {
      {"conv + bn + relu without its ReLU", fused, Without(fused, "relu"), "without 'relu' (ReLU)"},
      {"conv + bn + relu without bn", fused, Without(fused, "bn"), "without 'bn' (BatchNormCxx)"},
      {"bias in f16", plain,
       WithResource(plain, "bias", [](const float* b, int64_t i) { return HalfToFloat(FloatToHalf(b[i])); }),
       "with the bias rounded to f16"},
      {"groups dealt", ConvGraph(8, 8, 2, false), DealtGroups(), "with the channels dealt out to the groups in turn"},
      {"in and out channels exchanged", plain,
       order([](int64_t o, int64_t c, int64_t k) { return c * 72 + o * 9 + k; }),
       "with in and out channels of the weight exchanged"},
      {"weights in OHWI", plain, order([](int64_t o, int64_t c, int64_t k) { return o * 72 + k * 8 + c; }),
       "with the weight in the order out, height, width, in"},
      {"weights in HWIO", plain, order([](int64_t o, int64_t c, int64_t k) { return k * 64 + c * 8 + o; }),
       "with the weight in the order height, width, in, out"},
      {"bias twice", plain, WithResource(plain, "bias", [](const float* b, int64_t i) { return 2 * b[i]; }),
       "with twice the bias"},
      {"bias of the channel before", plain,
       WithResource(plain, "bias", [](const float* b, int64_t i) { return b[(i + 7) % 8]; }),
       "with the bias of the channel before"},
      {"weights in int4", plain,
       WithResource(plain, "weight",
                    [](const float* w, int64_t i) {
                      float largest = 0;
                      for (int64_t k = 0; k < 72; ++k) largest = std::max(largest, std::fabs(w[i / 72 * 72 + k]));
                      return std::nearbyint(w[i] / largest * 7) / 7 * largest;
                    }),
       "with weights rounded to int4 per output channel"},
      {"dense weight transposed", Dense(false), Dense(true), "with in and out channels of the weight exchanged"},
  };
}

std::vector<PlantedCause> ElementPlants() {
  const Shape square = {2, 6, 5, 6};
  const Tensor row = Gauss({6}), column = row.Reshaped({1, 6, 1, 1}).value();
  const Graph scores = Scores(kScale64, Causal(8, 1));
  Graph residual = GraphOf(
      {MakeLayer(OpKind::kTanh, "t", {"x"}, {"a"}), MakeLayer(OpKind::kAdd, "add", {"a", "x"}, {"y"})}, {2, 4, 8});
  Layer clip = MakeLayer(OpKind::kClip, "clip", {"a"}, {"y"});
  auto param = std::make_shared<ClipParam>();
  param->min = 0, param->max = 1;
  clip.param = param;
  const Graph clipped = GraphOf({MakeLayer(OpKind::kMul, "m", {"x", "x"}, {"a"}), clip}, {2, 4, 8});
  return {
      {"a row for channels", Binary(OpKind::kAdd, square, column), Binary(OpKind::kAdd, square, row),
       "with 'b' along axis 3; the graph says axis 1"},
      {"channels for a row", Binary(OpKind::kMul, square, row), Binary(OpKind::kMul, square, column),
       "with 'b' along axis 1; the graph says axis 3"},
      {"mask missing", scores, Without(scores, "add"), "without adding 'mask'"},
      {"mask off by one", scores, Scores(kScale64, Causal(8, 2)), "with the mask 'mask' one "},
      {"scale missing", scores, Without(scores, "scale"), "without multiplying by 'k'"},
      {"scale of another dimension", scores, Scores(kScale32, Causal(8, 1)),
       "with the constant 0.176777 (1 / sqrt(32)); the graph says 0.125 (1 / sqrt(64))"},
      {"reflection for the edge", Padded(kPadReflect), Padded(kPadEdge), "with padding by the edge"},
      {"zeros for the edge", Padded(kPadEdge), Padded(kPadConst),
       "with padding by a constant; the graph says the edge"},
      {"HardSwish behind a product", DenseSilu(false), DenseSilu(true), "as HardSwish; the graph says SiLU"},
      {"residual missing", residual, Without(residual, "add"), "without adding 'x'"},
      {"clip missing", clipped, Without(clipped, "clip"), "without 'clip' (Clip)"},
      {"another constant", Binary(OpKind::kMul, {2, 4, 8}, One(0.5f)), Binary(OpKind::kMul, {2, 4, 8}, One(3)),
       "with the constant 3; the graph says 0.5"},
  };
}

std::vector<PlantedCause> MovedPlants() {
  const Graph max = Pool(kPoolMax, false), joined = Joined("a", "b");
  const Tensor below = Gauss({1, 3, 10, 10}, 0.3, -0.5);
  const auto at_zero = [](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i) y->data<float>()[i] = std::max(0.0f, y->data<float>()[i]);
  };
  const auto at_border = [](Tensor* y) {  // the first windows of both axes reach into the padding
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      if (i % 5 == 0 || i / 5 % 5 == 0) y->data<float>()[i] = std::max(0.0f, y->data<float>()[i]);
    }
  };
  const auto by_area = [](Tensor* y) {  // 6 x 6 windows, of which the last ones hang over
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      const auto valid = [](int64_t o) { return o == 0 ? 2.0f : o == 5 ? 1.0f : 3.0f; };
      y->data<float>()[i] *= valid(i % 6) * valid(i / 6 % 6) / 9;
    }
  };
  Layer gather = MakeLayer(OpKind::kGather, "layer", {"x", "i"}, {"y"});
  auto inputs = std::make_shared<GatherParam>();
  inputs->indices_in_resource = false;
  gather.param = inputs;
  Graph picked = GraphOf({gather}, {9, 4}), next = picked;
  Tensor indices = Tensor::Create(DType::kI64, {4}).value();
  for (int64_t i = 0; i < 4; ++i) indices.data<int64_t>()[i] = 2 * i;
  picked.constants["i"] = indices;
  Tensor further = indices.Clone().value();
  for (int64_t i = 0; i < 4; ++i) further.data<int64_t>()[i] = 2 * i + 1;
  next.constants["i"] = further;
  Layer largest = MakeLayer(OpKind::kReduceMax, "layer", {"x"}, {"y"});
  auto axes = std::make_shared<ReduceParam>();
  axes->axes = {2};
  largest.param = axes;
  const Graph reduced = GraphOf({largest}, {2, 9, 7});
  std::vector<PlantedCause> plants = {
      {"slice one further", Slice(3), Slice(4), "from one element further along axis 2"},
      {"slice one earlier", Slice(3), Slice(2), "from one element earlier along axis 2"},
      {"gather one further", picked, next, "from one element further along axis 0"},
      {"concat exchanged", joined, Joined("b", "a"), "with 'a' and 'b' exchanged"},
      {"concat of one twice", joined, Joined("a", "a"), "with 'a' in the place of 'b'"},
      {"max pool from zero", max, max, "as a maximum that starts at 0", false, below, at_zero},
      {"max pool of zero pads", max, max, "as a maximum whose padding is 0", false, below, at_border},
      {"average by the kernel's area",
       Pool(kPoolAverage, true),
       Pool(kPoolAverage, true),
       "as average pooling that divides by the kernel's area everywhere",
       false,
       {},
       by_area},
      {"reduction from zero", reduced, reduced, "as a maximum that starts at 0", false, Gauss({2, 9, 7}, 0.3, -0.5),
       at_zero}};
  return plants;
}

std::vector<PlantedCause> ResizePlants() {
  const auto resize = [](const char* mode, int size, const std::function<void(ResizeParam*)>& set) {
    return GraphOf({LayerOf<ResizeParam>(OpKind::kPlumbResize,
                                         [&](ResizeParam* p) {
                                           p->mode = mode, p->sizes = {1, 3, size, size};
                                           set(p);
                                         })},
                   {1, 3, 9, 9});
  };
  const auto as_said = [](ResizeParam*) {};
  const Graph cubic = resize("cubic", 14, as_said);
  return {{"cubic coefficient", cubic, resize("cubic", 14, [](ResizeParam* p) { p->cubic_coeff_a = -0.5f; }),
           "with the cubic coefficient -0.5; the graph says -0.75"},
          {"exclude_outside", cubic, resize("cubic", 14, [](ResizeParam* p) { p->exclude_outside = true; }),
           "with exclude_outside; the graph says without it"},
          {"antialias", resize("linear", 4, as_said), resize("linear", 4, [](ResizeParam* p) { p->antialias = true; }),
           "with antialias; the graph says without it"}};
}

std::vector<PlantedCause> PlacePlants() {
  const Graph map = TanhGraph({4, 6, 16, 16});
  const auto spoil = [&](const std::string& name, const std::string& words, const std::function<bool(int64_t)>& where) {
    PlantedCause plant{name, map, map, words, true};
    plant.spoil = [where](Tensor* y) {
      for (int64_t i = 0; i < y->NumElements(); ++i) {
        if (where(i)) y->data<float>()[i] += 0.1f + 0.1f * std::cos(static_cast<float>(i));
      }
    };
    return plant;
  };
  PlantedCause stale{"stale batch element", map, map, "batch element 2 has the values of batch element 1"};
  stale.spoil = [](Tensor* y) { std::copy_n(y->data<float>() + 1536, 1536, y->data<float>() + 2 * 1536); };
  PlantedCause row{"a row twice", map, map, "row 7 has the values of row 6"};
  row.spoil = [](Tensor* y) {
    for (int64_t p = 0; p < 24; ++p) std::copy_n(y->data<float>() + p * 256 + 96, 16, y->data<float>() + p * 256 + 112);
  };
  PlantedCause first{"the first batch element everywhere", map, map,
                     "batch elements 1 to 3 have the values of batch element 0"};
  first.spoil = [](Tensor* y) {
    for (int64_t b = 1; b < 4; ++b) std::copy_n(y->data<float>(), 1536, y->data<float>() + b * 1536);
  };
  PlantedCause limited{"limited", map, map, "above 0.5 are 0.5", true};
  limited.spoil = [](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i) y->data<float>()[i] = std::min(0.5f, y->data<float>()[i]);
  };
  PlantedCause tile{"a tile of zeros", map, map, "only rows 4 to 7 and columns 8 to 11 differ: they are 0", true};
  tile.spoil = [](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      if (i / 16 % 16 / 4 == 1 && i % 16 / 4 == 2) y->data<float>()[i] = 0;
    }
  };
  const Graph rows = TanhGraph({3, 50});
  PlantedCause shifted{"shifted in a row", rows, rows, "the values are those of -1 further along axis 1", true};
  shifted.spoil = [](Tensor* y) {
    for (int64_t i = y->NumElements() - 1; i >= 0; --i) y->data<float>()[i] = y->data<float>()[i % 50 == 0 ? i : i - 1];
  };
  return {first,
          limited,
          tile,
          shifted,
          spoil("one value", "1 of 6144 values differs", [](int64_t i) { return i == 3000; }),
          spoil("one batch element", "only batch element 3 differs", [](int64_t i) { return i / 1536 == 3; }),
          spoil("one channel", "only channel 5 differs", [](int64_t i) { return i / 256 % 6 == 5; }),
          spoil("a tile", "only rows 4 to 7 and columns 8 to 11 differ",
                [](int64_t i) { return i / 16 % 16 / 4 == 1 && i % 16 / 4 == 2; }),
          spoil("the last row, in one place", "1 of 6144 values differs", [](int64_t i) { return i == 255; }),
          stale,
          row};
}

std::vector<PlantedCause> AllPlants() {
  std::vector<PlantedCause> plants;
  for (const auto& of : {NormPlants(), ProductPlants(), ElementPlants(), MovedPlants(), ResizePlants(), PlacePlants()})
    plants.insert(plants.end(), of.begin(), of.end());
  return plants;
}

class PlantedCauses : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedCauses, AreNamedAndNoOthers) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, PlantedCauses, testing::ValuesIn(AllPlants()), PlantName);

}  // namespace
}  // namespace plumb
