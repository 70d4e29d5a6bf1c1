// SPDX-License-Identifier: Apache-2.0
#include "check/subject/paired_blobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/log.h"
#include "check/integer/made_for.h"
#include "check/numbers/int8.h"
#include "check/numbers/telling.h"
#include "check/subject/activated.h"
#include "check/subject/layouts.h"
#include "check/subject/other_format.h"
#include "check/subject/paired_layers.h"
#include "graph/file_order.h"
#include "op/core/op.h"

namespace plumb {
namespace {

constexpr size_t kMaxListed = 10;
constexpr int64_t kManyValues = 16;  // so many lie on a grid of 256 steps by quantisation, not by chance

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMaxListed); ++i)
    text += fmt::format("{}{}'", i == 0 ? "'" : ", '", names[i]);
  if (names.size() > kMaxListed) text += fmt::format(" and {} more", names.size() - kMaxListed);
  return text;
}

// By blob: the scale of the DequantizeLinear that made it, where that is one, and what was moved since.
std::map<std::string, double> StepsOfReals(const Graph& graph) {
  std::map<std::string, double> steps;
  for (const Layer& layer : graph.layers) {
    if (layer.inputs.empty()) continue;
    if (layer.kind == OpKind::kPlumbDequantizeLinear) {
      const auto scale = graph.constants.find(layer.inputs[1]);
      if (scale != graph.constants.end() && scale->second.NumElements() == 1 && scale->second.ValueAt(0) > 0)
        steps[layer.outputs[0]] = scale->second.ValueAt(0);
    } else if (GetOp(layer.kind).moves_data_only && layer.kind != OpKind::kConcat) {
      const auto moved = steps.find(layer.inputs[0]);
      const double step = moved == steps.end() ? 0 : moved->second;
      for (const std::string& blob : layer.outputs) {
        if (step > 0) steps[blob] = step;
      }
    }
  }
  return steps;
}

// Whether each of the f32 values is a whole number of steps: then the format that they fit into says nothing of a run.
bool AreWholeSteps(const Tensor& reals, double step) {
  if (reals.dtype() != DType::kF32) return false;
  const float* values = reals.data<float>();
  return std::all_of(values, values + reals.NumElements(), [&](float value) {
    return static_cast<float>(std::nearbyint(static_cast<double>(value) / step) * step) == value;
  });
}

// [N,C,spatial...] of the shape that is [N,spatial...,C].
Shape ChannelsFirst(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return Shape(std::move(dims));
}

Result<Tensor> ToChannelsFirst(const Tensor& tensor) {
  const Shape shape = ChannelsFirst(tensor.shape());
  PLUMB_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(tensor.dtype(), shape));
  const int64_t channels = shape[1], pixels = shape.CountFrom(2);
  const size_t size = DTypeSize(tensor.dtype());
  const auto* src = static_cast<const char*>(tensor.raw());
  auto* dst = static_cast<char*>(result.raw());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p, dst += size) {
        std::memcpy(dst, src + static_cast<size_t>((n * pixels + p) * channels + c) * size, size);
      }
    }
  }
  return result;
}

std::vector<int64_t> WithoutOnes(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int64_t dim : shape.dims()) {
    if (dim != 1) dims.push_back(dim);
  }
  return dims;
}

// Values of a known size as what the blob is: integers where it holds integers, else the floats that they were read as.
Tensor BitsAs(const Tensor& tensor, DType wanted) {
  if (IsFloat(wanted)) return tensor;
  DType same = DTypeSize(wanted) == DTypeSize(tensor.dtype()) ? wanted : DType::kU8;
  if (same == DType::kU8 && DTypeSize(tensor.dtype()) == 2) same = DType::kI16;
  if (same == DType::kU8 && DTypeSize(tensor.dtype()) == 4) same = DType::kI32;
  if (same == DType::kU8 && DTypeSize(tensor.dtype()) == 8) same = DType::kI64;
  auto owner = std::make_shared<Tensor>(tensor);
  return Tensor::View(same, tensor.shape(), owner->raw(), owner);
}

// The tensor in the blob's dtype; InvalidArgument where that would need guessing.
Result<Tensor> InDType(Tensor tensor, DType wanted, const StoredTensor& stored, const std::string& what) {
  if (stored.has_bits) tensor = BitsAs(tensor, wanted);
  if (tensor.dtype() == wanted) return tensor;
  if (IsFloat(wanted) && !IsFloat(tensor.dtype()) && !stored.integers.empty()) {
    PLUMB_ASSIGN_OR_RETURN(tensor, Dequantise(tensor, stored.integers));
    return tensor.ConvertedTo(wanted);
  }
  if ((stored.has_dtype || stored.has_bits) && IsFloat(tensor.dtype()) != IsFloat(wanted)) {
    return Status::InvalidArgument(fmt::format("the {}'s tensor '{}' ('{}') is {}, the model's blob is {}", what,
                                               stored.name, stored.origin, DTypeName(tensor.dtype()),
                                               DTypeName(wanted)));
  }
  return tensor.ConvertedTo(wanted);
}

// An array of values only, in the blob's order.
bool IsFlat(const Tensor& value, const Shape& shape, const StoredTensor& stored) {
  return value.NumElements() == shape.NumElements() &&
         (!stored.has_shape || (value.shape().rank() == 1 && shape.rank() > 1));
}

// [N,spatial...,C] of the shape that is [N,C,spatial...].
Shape ChannelsLast(const Shape& shape) {
  std::vector<int64_t> dims = shape.dims();
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return Shape(std::move(dims));
}

// Values in the order of the model's axes (axis i is axis axes[i] of the blob) as the blob has them; those of another
// shape as they are.
Result<Tensor> InBlobOrder(const Tensor& value, const Shape& shape, const std::vector<int>& axes) {
  std::vector<int64_t> dims;
  std::vector<int> back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    dims.push_back(shape[axes[i]]);
    back[static_cast<size_t>(axes[i])] = static_cast<int>(i);
  }
  const Shape wanted(dims);
  if (WithoutOnes(value.shape()) != WithoutOnes(wanted) && value.NumElements() != wanted.NumElements()) return value;
  if (value.shape().rank() == shape.rank() && value.shape() != wanted) return value;
  PLUMB_ASSIGN_OR_RETURN(const Tensor whole, value.Reshaped(wanted));
  return Reordered(whole, back);
}

// The float model's blob whose readers read the tensor, or "": a dump says it, or the name that ONNX Runtime's
// quantize_static gives. The tensor of the blob's own name is what there was before it was made integers and floats
// again.
std::string StandsFor(const StoredTensor& tensor) {
  const std::string suffix = "_DequantizeLinear_Output";
  if (!tensor.stands_for.empty()) return tensor.stands_for;
  const size_t end = tensor.name.size() - std::min(tensor.name.size(), suffix.size());
  return tensor.name.compare(end, std::string::npos, suffix) == 0 ? tensor.name.substr(0, end) : "";
}

}  // namespace

Result<std::unique_ptr<PairedBlobs>> PairedBlobs::Create(TensorSet set, const Graph& graph, const BlobTable& blobs,
                                                         const SurveyOptions& options) {
  std::unique_ptr<PairedBlobs> paired(new PairedBlobs(std::move(set)));
  paired->grids_ = IntegerGrids(graph);
  PLUMB_RETURN_IF_ERROR(paired->Pair(graph, blobs, options));
  PLUMB_RETURN_IF_ERROR(paired->Survey(graph, blobs, options));
  if (Logs(LogLevel::kDebug)) paired->LogPairs(options.what);
  return paired;
}

size_t PairedBlobs::PairStandIns(const std::vector<std::string>& model, const NameOptions& names,
                                 const BlobTable& blobs, std::vector<size_t>* unpaired) {
  const std::set<std::string> own(model.begin(), model.end());
  size_t count = 0;
  for (size_t j = 0; j < set_.tensors().size(); ++j) {
    const StoredTensor& tensor = set_.tensors()[j];
    const std::string blob = StandsFor(tensor);
    if (own.count(blob) == 0 || names.names.count(blob) != 0) continue;
    if (blobs.at(blob).dtype != DType::kF32 || !blobs.at(blob).value.empty()) continue;
    if (tensor.name != blob && own.count(tensor.name) != 0) continue;  // the model is the quantised one itself
    const auto own_name = paired_.find(blob);
    if (own_name != paired_.end() && own_name->second != j) before_[blob] = own_name->second;
    paired_[blob] = j;
    stand_ins_.insert(blob);
    expected_[blob] = blobs.at(blob);
    unpaired->erase(std::remove(unpaired->begin(), unpaired->end(), j), unpaired->end());
    ++count;
  }
  return count;
}

Status PairedBlobs::Pair(const Graph& graph, const BlobTable& blobs, const SurveyOptions& options) {
  std::vector<std::string> model, theirs;
  for (const GraphInput& input : graph.inputs) model.push_back(input.name);
  for (const Layer& layer : graph.layers) model.insert(model.end(), layer.outputs.begin(), layer.outputs.end());
  for (const StoredTensor& tensor : set_.tensors()) theirs.push_back(tensor.name);
  PLUMB_ASSIGN_OR_RETURN(const NamePairing pairing, PairNames(model, theirs, options.names));
  for (const auto& [i, j] : pairing.pairs) {
    const BlobInfo& info = blobs.at(model[i]);
    if (!info.value.empty()) continue;  // follows from the shapes alone
    paired_[model[i]] = j;
    expected_[model[i]] = info;
  }
  std::vector<size_t> left = pairing.only_b;
  for (const auto& [blob, place] : PairLayers(graph, set_.tensors(), left)) {
    const auto info = blobs.find(blob);
    if (info == blobs.end() || !info->second.value.empty() || !paired_.emplace(blob, place).second) continue;
    expected_[blob] = info->second;
    left.erase(std::find(left.begin(), left.end(), place));
  }
  const size_t stand_ins = PairStandIns(model, options.names, blobs, &left);
  of_quantised_copy_ = stand_ins > 0;
  if (paired_.empty()) {
    return Status::InvalidArgument(
        fmt::format("the {} '{}' has no tensor of the model: it has {}, the model has {}; PairingOptions::names pairs "
                    "names that differ",
                    options.what, set_.path(), Listed(theirs), Listed(model)));
  }
  notes_.push_back(
      fmt::format("{}; {} of the model's {} blobs are there", set_.description(), paired_.size(), model.size()));
  if (stand_ins > 0) {
    notes_.push_back(fmt::format(
        "it is of a quantised copy of the model: {} blobs are what integers stand for, which their readers read",
        stand_ins));
  }
  if (!pairing.by_order.empty()) {
    std::string text = "paired by order only, as asked:";
    for (const auto& [i, j] : pairing.by_order) text += fmt::format(" '{}' = '{}';", model[i], theirs[j]);
    notes_.push_back(text);
  }
  if (options.record != nullptr) PLUMB_RETURN_IF_ERROR(PairConstants(*options.record, &left));
  std::vector<std::string> unpaired;
  for (size_t j : left) {
    if (!set_.tensors()[j].is_read) unpaired.push_back(theirs[j]);  // what a layer read stands under its writer, too
  }
  if (!unpaired.empty())
    notes_.push_back(
        fmt::format("{} of its tensors are no blob of the model, not tested: {}", unpaired.size(), Listed(unpaired)));
  return Status::Ok();
}

void PairedBlobs::LogPairs(const std::string& what) const {
  std::set<size_t> taken;
  for (const auto& [blob, place] : paired_) {
    const StoredTensor& tensor = set_.tensors()[place];
    Log(LogLevel::kDebug, fmt::format("{}: blob '{}' is its tensor '{}' ({})", what, blob, tensor.name, tensor.origin));
    taken.insert(place);
  }
  for (size_t i = 0; i < set_.tensors().size(); ++i) {
    if (taken.count(i) == 0)
      Log(LogLevel::kDebug, fmt::format("{}: no blob is its tensor '{}'", what, set_.tensors()[i].name));
  }
  Log(LogLevel::kDebug, fmt::format("{}: layout {}", what, layout()));
}

Status PairedBlobs::PairConstants(const ImportRecord& record, std::vector<size_t>* unpaired) {
  std::vector<std::string> model, theirs;
  for (const Layer& layer : record.folded.layers) {
    for (const std::string& blob : layer.outputs) {
      const Tensor& value = record.folded.constants.at(blob);
      if (value.dtype() == DType::kF32 && paired_.count(blob) == 0) model.push_back(blob);
    }
  }
  for (const size_t j : *unpaired) theirs.push_back(set_.tensors()[j].name);
  PLUMB_ASSIGN_OR_RETURN(const NamePairing pairing, PairNames(model, theirs, {}));
  for (const auto& [i, j] : pairing.pairs) {
    const Tensor& value = record.folded.constants.at(model[i]);
    paired_[model[i]] = (*unpaired)[j];
    expected_[model[i]] = {value.dtype(), value.shape(), Tensor()};
    constants_.insert(model[i]);
  }
  std::vector<size_t> left;
  for (const size_t j : pairing.only_b) left.push_back((*unpaired)[j]);
  *unpaired = left;
  return Status::Ok();
}

// One pass over all of it: layout by the shapes, storage by the values, errors of reading now and not in the middle.
Status PairedBlobs::Survey(const Graph& graph, const BlobTable& blobs, const SurveyOptions& options) {
  int first = 0, last = 0, declared = 0, telling = 0, on_grid = 0;
  std::map<std::string, HalfValues> halves;
  std::vector<std::string> flat;
  std::vector<std::string> integers;           // under the name of a float blob: an optimiser's, of a quantised copy
  std::map<std::string, bool> channels_first;  // of blobs whose shape tells
  const std::map<std::string, ActivationRange> activations = SoleActivations(graph);
  std::map<std::string, std::string> activated;
  of_other_format_ = AreOfDifferentFormats(graph.source, set_.model());
  const BeforeActivations before_activations(graph);
  std::map<std::string, std::string> before;
  int turned_axes = 0;
  const TellingBlobs tells(graph);
  const std::map<std::string, double> steps = StepsOfReals(graph);
  for (const auto& [blob, index] : paired_) {
    const StoredTensor& stored = set_.tensors()[index];
    const BlobInfo& info = expected_.at(blob);
    auto read = stored.load();
    if (!read.ok()) return read.status().AddContext(fmt::format("tensor '{}' of the {}", stored.name, options.what));
    if (of_quantised_copy_ && IsFloat(info.dtype) && !IsFloat(read->dtype()) && stored.integers.empty()) {
      integers.push_back(blob);
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(read, AsIntegers(blob, stored, *read));
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, InDType(*read, info.dtype, stored, options.what));
    if (constants_.count(blob) != 0) continue;  // they say nothing of how the network was run
    if (stored.has_shape && IsFlat(value, info.shape, stored)) flat.push_back(stored.name);
    const std::vector<int>* axes = FileAxes(graph, blob);
    if (axes != nullptr) file_axes_[blob] = *axes;
    if (graph.file_axes.empty() && value.shape().rank() == info.shape.rank() && info.shape.rank() >= 4) {
      const bool as_is = value.shape() == info.shape, turned = ChannelsFirst(value.shape()) == info.shape;
      first += as_is && !turned;
      last += turned && !as_is;
      declared += !stored.order.empty();
      if (as_is != turned) channels_first[blob] = turned;
    }
    const bool input = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                   [&name = blob](const GraphInput& g) { return g.name == name; });
    const auto step = steps.find(blob);
    const bool integers_own = step != steps.end() && AreWholeSteps(value, step->second);
    if (info.dtype == DType::kF32 && !integers_own) halves[blob] = HalfValuesOf(value);
    if (input || info.dtype != DType::kF32) continue;
    if (of_other_format_) {
      turned_axes += ChannelsFirst(value.shape()) != info.shape && value.shape() != info.shape &&
                     value.shape() != FileShape(graph, blob, info.shape) && OnlyTurn(value.shape(), info.shape);
      const std::string own = before_activations.InputOf(blob, value);
      if (!own.empty() && paired_.count(own) == 0) before[blob] = own;
    }
    const auto activation = activations.find(blob);
    if (activation != activations.end() && paired_.count(activation->second.output) == 0 &&
        IsActivated(value, activation->second)) {
      activated[blob] = activation->second.output;
    }
    if (value.NumElements() >= kManyValues && tells.has_products() && tells.Has(blob)) {
      const Grid grid = FindGrid(value);
      telling += !grid.few;  // a mask, or what saturates, says nothing
      on_grid += !grid.none() && !grid.few;
    }
  }
  for (const std::string& blob : integers) paired_.erase(blob);
  if (!integers.empty()) notes_.push_back("integers without their scale, not tested: " + Listed(integers));
  half_storage_ = HalfStorage::Find(graph, halves);
  const bool quantises = std::any_of(graph.layers.begin(), graph.layers.end(),
                                     [](const Layer& layer) { return layer.kind == OpKind::kPlumbQuantizeLinear; });
  maybe_int8_ = of_quantised_copy_ || (!quantises && on_grid >= 2 && 4 * on_grid >= 3 * telling);
  const bool told = last + first == 0 && declared > 0;  // by the dump alone
  const bool own_order = IsOfTflite(graph) || !graph.file_axes.empty();
  const bool turned_back = options.layout == "NCHW" || (options.layout.empty() && set_.channels_first());
  as_declared_ = own_order && !turned_back;
  nhwc_ = !own_order && (options.layout.empty() ? last > first || told : options.layout == "NHWC");
  const bool mixed = (last > 0 || options.layout == "NHWC") && ChangesLayout(graph);
  if (mixed) channels_first_ = SpreadLayouts(graph, std::move(channels_first));
  for (const std::string& blob : constants_) {  // whose layout may be any
    if (nhwc_) paired_.erase(blob);
  }
  std::string how = options.layout.empty() ? fmt::format("found: {} shapes say so", nhwc_ ? last : first) : "declared";
  if (options.layout.empty() && last + first == 0)
    how = told ? "the dump says so" : "taken for granted: no shape tells";
  if (options.layout.empty() && std::min(first, last) > 0)
    how += fmt::format(", {} say otherwise{}", std::min(first, last), mixed ? ", as the model has both" : "");
  GiveToActivations(activated, blobs);
  GiveToInputs(before, graph, blobs);
  if (turned_axes > 0) {
    notes_.push_back(fmt::format("{} of its tensors, of '{}', have their axes in another order, and are turned",
                                 turned_axes, set_.model()));
  }
  if (!flat.empty()) {
    notes_.push_back(fmt::format("{}{} taken in the shape that the model says: {}", flat.size(),
                                 flat.size() == 1 ? " flat array is" : " flat arrays are", Listed(flat)));
  }
  if (as_declared_) how = "the model's own order of the axes";
  notes_.push_back(fmt::format("layout {} ({})", layout(), how));
  return Status::Ok();
}

// Tensors that hold what the activation behind their layer gives are that activation's.
void PairedBlobs::GiveToActivations(const std::map<std::string, std::string>& activated, const BlobTable& blobs) {
  for (const auto& [blob, output] : activated) {
    paired_[output] = paired_.at(blob);
    expected_[output] = blobs.at(output);
    paired_.erase(blob);
    expected_.erase(blob);
  }
  if (activated.empty()) return;
  notes_.push_back(
      fmt::format("{} of its tensors hold the result of the ReLU or Clip behind the layer whose name they bear "
                  "(fused), and are judged as that: '{}' ...",
                  activated.size(), activated.begin()->first));
}

// Tensors that no activation can give, under the name of its output, are what it reads.
void PairedBlobs::GiveToInputs(const std::map<std::string, std::string>& before, const Graph& graph,
                               const BlobTable& blobs) {
  for (const auto& [blob, input] : before) {
    paired_[input] = paired_.at(blob);
    expected_[input] = blobs.at(input);
    if (const std::vector<int>* axes = FileAxes(graph, input)) file_axes_[input] = *axes;
    paired_.erase(blob);
    expected_.erase(blob);
  }
  if (before.empty()) return;
  notes_.push_back(
      fmt::format("{} of its tensors, of '{}', hold what a ReLU or Clip reads whose result bears that name here, and "
                  "are judged as that: '{}' ...",
                  before.size(), set_.model(), before.begin()->first));
}

bool PairedBlobs::IsChannelsLast(const std::string& blob, const Shape& stored) const {
  if (stored.rank() < 4) return false;
  const auto it = channels_first_.find(blob);
  return it != channels_first_.end() ? it->second : nhwc_ && channels_first_.empty();
}

Result<Tensor> PairedBlobs::AsIntegers(const std::string& blob, const StoredTensor& stored, Tensor value) const {
  const auto grid = grids_.find(blob);
  if (grid == grids_.end() || !IsFloat(value.dtype()) || IsFloat(expected_.at(blob).dtype)) return value;
  if (!stored.has_dtype || stored.has_bits) return value;
  auto integers = IntegersOn(grid->second, value);
  if (!integers.ok()) return integers.status().AddContext(fmt::format("tensor '{}'", stored.name));
  return integers;
}

Result<Tensor> PairedBlobs::Load(const std::string& blob) const { return LoadAs(blob, paired_.at(blob)); }

Result<Tensor> PairedBlobs::LoadInput(const std::string& blob, const Tensor* given) const {
  const auto before = before_.find(blob);
  if (before != before_.end()) return LoadAs(blob, before->second);
  PLUMB_ASSIGN_OR_RETURN(Tensor value, Load(blob));
  if (given == nullptr || stand_ins_.count(blob) == 0 || !IsRoundedFrom(*given, value)) return value;
  return *given;
}

Result<Tensor> PairedBlobs::LoadAs(const std::string& blob, size_t place) const {
  const StoredTensor& stored = set_.tensors()[place];
  const BlobInfo& info = expected_.at(blob);
  PLUMB_ASSIGN_OR_RETURN(Tensor value, stored.load());
  PLUMB_ASSIGN_OR_RETURN(value, AsIntegers(blob, stored, value));
  PLUMB_ASSIGN_OR_RETURN(value, InDType(value, info.dtype, stored, "subject"));
  if (const auto axes = file_axes_.find(blob); axes != file_axes_.end() && as_declared_) {
    PLUMB_ASSIGN_OR_RETURN(value, InBlobOrder(value, info.shape, axes->second));
    return InShapeOf(info, std::move(value));
  }
  if (IsFlat(value, info.shape, stored)) {
    if (!nhwc_ || info.shape.rank() < 4) return value.Reshaped(info.shape);
    PLUMB_ASSIGN_OR_RETURN(value, value.Reshaped(ChannelsLast(info.shape)));
  }
  if (IsChannelsLast(blob, value.shape())) {
    PLUMB_ASSIGN_OR_RETURN(value, ToChannelsFirst(value));
  }
  return InShapeOf(info, std::move(value));
}

Result<Tensor> PairedBlobs::InShapeOf(const BlobInfo& info, Tensor value) const {
  const auto turn = of_other_format_ ? OnlyTurn(value.shape(), info.shape) : std::nullopt;
  if (turn.has_value()) return Reordered(value, *turn);
  if (value.shape() != info.shape && WithoutOnes(value.shape()) == WithoutOnes(info.shape))
    return value.Reshaped(info.shape);
  return value;
}

}  // namespace plumb
