// SPDX-License-Identifier: Apache-2.0
#include "util/op_graph.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "op/core/named_params.h"
#include "op/core/op.h"

namespace plumb {
namespace {

using Generator = std::mt19937_64;

double Special(size_t i) {
  using Limits = std::numeric_limits<float>;
  const double values[] = {
      NAN, INFINITY, -INFINITY, 0.0, -0.0, Limits::max(), -Limits::max(), Limits::min(), Limits::denorm_min(), 1.0};
  return values[i % 10];
}

double Draw(Regime regime, size_t index, Generator& random) {
  std::normal_distribution<double> gauss;
  std::uniform_real_distribution<double> uniform;
  switch (regime) {
    case Regime::kGauss: return gauss(random);
    case Regime::kRelu: return std::max(gauss(random), 0.0);
    case Regime::kPositive: return std::fabs(gauss(random)) + 0.1;
    case Regime::kUnit: return 2 * uniform(random) - 1;
    case Regime::kWide: return (random() % 2 == 0 ? 1 : -1) * std::pow(10.0, 10 * uniform(random) - 6);
    case Regime::kOffset: return 100 + 0.01 * gauss(random);
    case Regime::kTail: return -3 - 107 * uniform(random);
    case Regime::kZeros: return 0;
    case Regime::kConstant: return 1.1;
    case Regime::kSubnormal: return 1e-39 * gauss(random);
    case Regime::kSpecials:
    case Regime::kExtremes: return random() % 3 == 0 ? Special(index + random() % 2) : gauss(random);
    case Regime::kInts: return static_cast<double>(random() % 19) - 9;
    case Regime::kBools: return static_cast<double>(random() % 2);
  }
  return 0;
}

template <class T>
T DrawInteger(Regime regime, Generator& random) {
  using Limits = std::numeric_limits<T>;
  if (regime != Regime::kExtremes) return static_cast<T>(Draw(regime, 0, random));
  const T values[] = {Limits::min(), Limits::max(), static_cast<T>(-1), 0, 1, static_cast<T>(Limits::max() - 1), 2};
  return values[random() % 7];
}

template <class T, class F>
void Fill(Tensor* tensor, const std::vector<double>& values, F draw) {
  T* data = tensor->data<T>();
  for (size_t i = 0; i < static_cast<size_t>(tensor->NumElements()); ++i) {
    data[i] = values.empty() ? static_cast<T>(draw(i)) : static_cast<T>(values[i]);
  }
}

Tensor DrawResource(const ResourceSpec& spec, uint64_t seed) {
  Tensor tensor = DrawTensor({spec.shape, DType::kF32, Regime::kUnit, {}, true, spec.slot}, seed);
  float* data = tensor.data<float>();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const float unit = data[i];  // in (-1, 1)
    switch (spec.fill) {
      case ResourceSpec::kHe: data[i] = unit * std::sqrt(6.0f / static_cast<float>(spec.fan_in)); break;
      case ResourceSpec::kSmall: data[i] = 0.1f * unit; break;
      case ResourceSpec::kNearOne: data[i] = 1 + 0.1f * unit; break;
      case ResourceSpec::kPositive: data[i] = 1 + 0.5f * unit; break;
      case ResourceSpec::kSlope: data[i] = 0.25f + 0.2f * unit; break;
      case ResourceSpec::kZeroPoint: data[i] = 0; break;
    }
  }
  return tensor;
}

Status AddInputs(const OpCase& c, OpInstance* instance) {
  Graph& graph = instance->graph;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const OpCase::Data& data = c.inputs[i];
    const std::string name = "in" + std::to_string(i);
    graph.layers[0].inputs.push_back(name);
    if (!data.values.empty() && static_cast<int64_t>(data.values.size()) != data.shape.NumElements()) {
      return Status::InvalidArgument(name + " has " + std::to_string(data.values.size()) + " values for " +
                                     data.shape.ToString());
    }
    instance->inputs.push_back(DrawTensor(data, c.seed + 100 * i));
    if (data.constant) {
      graph.constants[name] = instance->inputs.back();
    } else {
      graph.inputs.push_back({name, data.dtype, data.shape});
    }
  }
  return Status::Ok();
}

Status AddResources(const OpCase& c, const OpDef& op, OpInstance* instance) {
  Layer& layer = instance->graph.layers[0];
  for (size_t i = 0; i < c.resources.size(); ++i) {
    layer.resources[c.resources[i].slot] = DrawTensor(c.resources[i], c.seed + 7000 + i);
  }
  if (op.resource_specs == nullptr) return Status::Ok();
  std::vector<BlobInfo> infos;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    infos.push_back({c.inputs[i].dtype, c.inputs[i].shape, c.inputs[i].constant ? instance->inputs[i] : Tensor()});
  }
  std::vector<ResourceSpec> specs;
  PLUMB_RETURN_IF_ERROR(op.resource_specs(layer, infos, &specs));
  for (size_t i = 0; i < specs.size(); ++i) {
    const Tensor* given = layer.Resource(specs[i].slot);
    if (given == nullptr && specs[i].required) {
      layer.resources[specs[i].slot] = DrawResource(specs[i], c.seed + 9000 + i);
    } else if (given != nullptr && given->NumElements() != specs[i].shape.NumElements()) {
      return Status::InvalidArgument(specs[i].slot + " expects " + specs[i].shape.ToString() + ", found " +
                                     given->shape().ToString());
    }
  }
  return Status::Ok();
}

}  // namespace

Tensor DrawTensor(const OpCase::Data& data, uint64_t seed) {
  Tensor tensor = Tensor::Create(data.dtype, data.shape).value();
  Generator random(seed);
  const auto draw = [&](size_t i) { return Draw(data.regime, i, random); };
  switch (data.dtype) {
    case DType::kF32: Fill<float>(&tensor, data.values, draw); break;
    case DType::kF64: Fill<double>(&tensor, data.values, draw); break;
    case DType::kI32:
      Fill<int32_t>(&tensor, data.values, [&](size_t) { return DrawInteger<int32_t>(data.regime, random); });
      break;
    case DType::kI64:
      Fill<int64_t>(&tensor, data.values, [&](size_t) { return DrawInteger<int64_t>(data.regime, random); });
      break;
    case DType::kBool: Fill<bool>(&tensor, data.values, [&](size_t) { return random() % 2 == 0; }); break;
    default: {  // narrow types: drawn as f64 (integers as i64) and converted
      OpCase::Data wide = data;
      wide.dtype = IsFloat(data.dtype) ? DType::kF64 : DType::kI64;
      return DrawTensor(wide, seed).ConvertedTo(data.dtype).value();
    }
  }
  return tensor;
}

Result<OpInstance> Instantiate(const OpCase& c) {
  const OpDef* op = FindOp(c.op);
  if (op == nullptr) return Status::NotFound("no operator is called '" + c.op + "'");
  OpInstance instance;
  instance.graph.source = "case " + c.op + "/" + c.name;
  instance.graph.layers.emplace_back();
  Layer& layer = instance.graph.layers[0];
  layer.kind = op->kind;
  layer.type = op->name;
  layer.name = "layer";
  layer.param = op->make_param();
  PLUMB_RETURN_IF_ERROR(SetParams(c.params, &layer).AddContext("parameters '" + c.params + "'"));
  for (int i = 0; i < c.num_outputs; ++i) layer.outputs.push_back("out" + std::to_string(i));
  instance.graph.outputs = layer.outputs;
  PLUMB_RETURN_IF_ERROR(AddInputs(c, &instance));
  PLUMB_RETURN_IF_ERROR(AddResources(c, *op, &instance));
  PLUMB_ASSIGN_OR_RETURN(instance.blobs, InferShapes(instance.graph));
  for (const std::string& name : layer.outputs) instance.outputs.push_back(instance.blobs.at(name));
  return instance;
}

}  // namespace plumb
