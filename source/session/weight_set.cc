// SPDX-License-Identifier: Apache-2.0
#include "session/weight_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "format/onnx/parse.h"
#include "format/tflite/import.h"
#include "interop/safetensors.h"
#include "interop/state_dict.h"
#include "op/core/op_kind.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// What ends a tensor's name in state dicts of PyTorch, Keras and Flax, and what it is.
struct WeightSuffix {
  const char* suffix;
  const char* role;
};
constexpr WeightSuffix kWeightSuffixes[] = {{"weight", "weight"},
                                            {"kernel", "kernel"},
                                            {"bias", "bias"},
                                            {"gamma", "gamma"},
                                            {"scale", "gamma"},
                                            {"beta", "bias"},
                                            {"running_mean", "mean"},
                                            {"moving_mean", "mean"},
                                            {"mean", "mean"},
                                            {"running_var", "variance"},
                                            {"moving_variance", "variance"},
                                            {"var", "variance"}};

struct NameParts {
  std::string layer, role;  // the role "": none of the above
};

NameParts SplitWeightName(const std::string& name) {
  const size_t at = name.find_last_of("./");
  NameParts parts{at == std::string::npos ? "" : name.substr(0, at), ""};
  std::string last = name.substr(at == std::string::npos ? 0 : at + 1);
  last = last.substr(0, last.find(':'));  // Keras: "kernel:0"
  for (const WeightSuffix& suffix : kWeightSuffixes) {
    if (last == suffix.suffix) parts.role = suffix.role;
  }
  return parts;
}

Result<Tensor> TurnedWeights(const Tensor& tensor, const std::vector<int>& axes) {
  Shape shape;
  for (const int axis : axes) shape.dims().push_back(tensor.shape()[axis]);
  PLUMB_ASSIGN_OR_RETURN(Tensor turned, Tensor::Create(DType::kF32, shape));
  std::vector<int64_t> at(axes.size(), 0);
  for (int64_t i = 0; i < turned.NumElements(); ++i) {
    int64_t from = 0;
    for (size_t d = 0; d < axes.size(); ++d) from += at[d] * tensor.shape().CountFrom(axes[d] + 1);
    turned.data<float>()[i] = tensor.data<float>()[from];
    for (size_t d = axes.size(); d-- > 0 && ++at[d] == shape[static_cast<int>(d)];) at[d] = 0;
  }
  return turned;
}

// Keras and Flax keep [h][w][in][out] and [in][out] under the name "kernel".
Result<Tensor> KernelFirst(const Tensor& tensor) {
  const int rank = tensor.shape().rank();
  if (rank == 2) return TurnedWeights(tensor, {1, 0});
  if (rank == 3) return TurnedWeights(tensor, {2, 1, 0});
  if (rank == 4) return TurnedWeights(tensor, {3, 2, 0, 1});
  return tensor;
}

// Batch norms are what has a mean and a variance.
void FindNorms(const std::vector<NameParts>& parts, WeightSet* set) {
  std::map<std::string, WeightNorm> norms;
  for (size_t i = 0; i < parts.size(); ++i) {
    WeightNorm& norm = norms[parts[i].layer];
    const int place = static_cast<int>(i);
    if (parts[i].role == "mean") norm.mean = place;
    if (parts[i].role == "variance") norm.variance = place;
    if (parts[i].role == "weight" || parts[i].role == "gamma") norm.gamma = place;
    if (parts[i].role == "bias") norm.beta = place;
  }
  for (auto& [layer, norm] : norms) {
    if (norm.mean < 0 || norm.variance < 0) continue;
    norm.name = layer;
    for (const int place : {norm.gamma, norm.beta}) {
      if (place < 0) continue;
      set->tensors[static_cast<size_t>(place)].is_weight = false;
      set->tensors[static_cast<size_t>(place)].is_bias = false;
    }
    set->norms.push_back(norm);
  }
}

Result<WeightSet> WeightsOfTensors(const std::vector<StoredTensor>& stored, const char* what) {
  WeightSet set;
  std::vector<NameParts> parts;
  for (const StoredTensor& from : stored) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, from.load());
    if (!IsFloat(value.dtype()) || value.NumElements() == 0) continue;  // counters of batches, indices
    const NameParts split = SplitWeightName(from.name);
    WeightTensor tensor;
    tensor.name = from.name;
    tensor.layer = split.layer;
    tensor.keys = {from.name, WeightKey(from.name)};
    tensor.stored = DTypeName(value.dtype());
    tensor.is_weight = value.shape().rank() >= 2 && (split.role == "weight" || split.role == "kernel");
    tensor.is_bias = split.role == "bias" && value.shape().rank() == 1;
    PLUMB_ASSIGN_OR_RETURN(tensor.value, value.ConvertedTo(DType::kF32));
    if (split.role == "kernel") {
      PLUMB_ASSIGN_OR_RETURN(tensor.value, KernelFirst(tensor.value));
    }
    set.tensors.push_back(std::move(tensor));
    parts.push_back(split);
  }
  FindNorms(parts, &set);
  set.description = what;
  return set;
}

Result<WeightSet> WeightsOfTnn(const std::string& path) {
  LoadOptions options;
  options.keep_half = true;
  options.open_dims = OpenDims::kSmallest;
  PLUMB_ASSIGN_OR_RETURN(const Graph graph, LoadModel(path, options));
  if (graph.weights_source.empty())
    return Status::InvalidArgument(fmt::format("model '{}' has no tnnmodel beside it, so it holds no weights", path));
  WeightSet set;
  set.has_graph = true;
  set.description = "TNN";
  const auto add = [&set](WeightTensor tensor, const Tensor& value) -> Status {
    if (!IsFloat(value.dtype()) || value.NumElements() < 2) return Status::Ok();
    tensor.stored = DTypeName(value.dtype());
    PLUMB_ASSIGN_OR_RETURN(tensor.value, value.ConvertedTo(DType::kF32));
    set.tensors.push_back(std::move(tensor));
    return Status::Ok();
  };
  for (const Layer& layer : graph.layers) {
    for (const auto& [slot, value] : layer.resources) {
      WeightTensor tensor;
      tensor.name = layer.name + "." + slot;
      tensor.layer = layer.name;
      tensor.is_weight = slot == "weight" || slot == "scale";
      tensor.is_bias = slot == "bias";
      tensor.out_axis = layer.kind == OpKind::kDeconvolution ? 1 : 0;
      std::vector<std::string> names = layer.nodes;
      names.insert(names.begin(), layer.name);
      for (const std::string& name : names) {
        tensor.keys.push_back(WeightKey(name + "." + slot));
        if (!ModuleOfNode(name).empty()) tensor.keys.push_back(WeightKey(ModuleOfNode(name) + "." + slot));
      }
      PLUMB_RETURN_IF_ERROR(add(std::move(tensor), value));
    }
  }
  for (const auto& [name, value] : graph.constants) {
    WeightTensor tensor;
    tensor.name = name;
    tensor.keys = {name, WeightKey(name)};
    PLUMB_RETURN_IF_ERROR(add(std::move(tensor), value));
  }
  return set;
}

Result<WeightSet> ReadBySuffix(const std::string& path) {
  if (EndsWith(path, ".onnx")) {
    PLUMB_ASSIGN_OR_RETURN(const FileSource source, OpenSource(path));
    PLUMB_ASSIGN_OR_RETURN(const onnx::ModelIr model, onnx::ParseModel(source, path));
    return WeightsOfNodes(model);
  }
  if (EndsWith(path, ".tflite")) {
    PLUMB_ASSIGN_OR_RETURN(const onnx::ModelIr model, tflite::NodesOf(path));
    return WeightsOfNodes(model);
  }
  if (EndsWith(path, ".tnnproto")) return WeightsOfTnn(path);
  if (EndsWith(path, ".tnnmodel")) return WeightsOfTnn(path.substr(0, path.size() - 5) + "proto");
  if (EndsWith(path, ".pt") || EndsWith(path, ".pth") || EndsWith(path, ".bin")) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<StoredTensor> tensors, ListStateDict(path));
    return WeightsOfTensors(tensors, "state dict");
  }
  if (EndsWith(path, ".safetensors")) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<StoredTensor> tensors, ListSafetensors(path));
    return WeightsOfTensors(tensors, "safetensors");
  }
  if (EndsWith(path, ".npz")) {
    PLUMB_ASSIGN_OR_RETURN(const TensorSet tensors, TensorSet::Open(path));
    return WeightsOfTensors(tensors.tensors(), "npz");
  }
  return Status::InvalidArgument(fmt::format(
      "'{}': weights are read from .onnx .tflite .tnnproto .tnnmodel .safetensors .npz .pt .pth .bin files", path));
}

}  // namespace

std::string WeightKey(const std::string& name) {
  constexpr std::pair<const char*, const char*> kSame[] = {
      {"kernel", "weight"}, {"gamma", "weight"}, {"scale", "weight"}, {"beta", "bias"}};
  const NameParts parts = SplitWeightName(name);
  std::string text = parts.role.empty() ? name : parts.layer + "." + parts.role;
  for (const auto& [from, to] : kSame) {
    if (EndsWith(text, std::string(".") + from)) text = text.substr(0, text.size() - std::string(from).size()) + to;
  }
  std::string key;
  for (const char c : Lower(text)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) key += c;
  }
  return key;
}

std::string ModuleOfNode(const std::string& node) {
  if (node.empty() || node[0] != '/') return "";
  std::vector<std::string> parts;
  for (size_t begin = 1; begin <= node.size();) {
    const size_t end = std::min(node.find('/', begin), node.size());
    const std::string part = node.substr(begin, end - begin);
    begin = end + 1;
    if (!parts.empty() && part.rfind(parts.back() + ".", 0) == 0) parts.pop_back();
    parts.push_back(part);
  }
  parts.pop_back();  // the operator
  std::string module;
  for (const std::string& part : parts) module += (module.empty() ? "" : ".") + part;
  return module;
}

Result<WeightSet> ReadWeightSet(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(WeightSet set, ReadBySuffix(path));
  if (set.tensors.empty())
    return Status::InvalidArgument(
        fmt::format("'{}' holds no weights of real numbers, so there is nothing to compare", path));
  set.description = fmt::format("{} ({}, {} tensors)", path, set.description, set.tensors.size());
  return set;
}

}  // namespace plumb
