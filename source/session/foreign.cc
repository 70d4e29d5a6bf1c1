// SPDX-License-Identifier: Apache-2.0
#include "session/foreign.h"

#include <fmt/core.h>

#include <algorithm>

#include "check/cause/input_match.h"
#include "check/subject/paired_layers.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

std::vector<int64_t> SortedDims(const Shape& shape) {
  std::vector<int64_t> dims;
  for (int64_t dim : shape.dims()) {
    if (dim != 1) dims.push_back(dim);
  }
  std::sort(dims.begin(), dims.end());
  return dims;
}

// The same size, whatever its layout: then nothing needs to be prepared anew.
bool SameSize(const Shape& a, const Shape& b) { return SortedDims(a) == SortedDims(b); }

// The names that are in the set; a name of the map that the set has not belongs to the other set.
std::map<std::string, std::string> Restricted(const std::map<std::string, std::string>& names, const TensorSet& set) {
  std::map<std::string, std::string> restricted;
  for (const auto& pair : names) {
    const bool there = std::any_of(set.tensors().begin(), set.tensors().end(),
                                   [&](const StoredTensor& t) { return t.name == pair.second; });
    if (there) restricted.insert(pair);
  }
  return restricted;
}

// Whatever their dtypes and shapes: a list of values has neither.
bool SameValues(const Tensor& a, const Tensor& b) {
  if (a.NumElements() != b.NumElements()) return false;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    if (a.ValueAt(i) != b.ValueAt(i)) return false;
  }
  return true;
}

}  // namespace

Result<TensorSet> Foreign::OpenSet(const TensorSource& source) const {
  if (!options_.layout.empty() && options_.layout != "NCHW" && options_.layout != "NHWC") {
    return Status::InvalidArgument(UnknownWord("PairingOptions::layout", options_.layout, {"NCHW", "NHWC"}));
  }
  if (!source.path.empty()) return TensorSet::Open(source.path, {options_.tensors});
  return TensorSet::Of(source.tensors);
}

Status Foreign::OpenSubject(const TensorSource& source) {
  PLUMB_ASSIGN_OR_RETURN(TensorSet set, OpenSet(source));
  subject_names_.names = expects_both_ ? Restricted(options_.names, set) : options_.names;
  subject_set_ = std::make_unique<TensorSet>(std::move(set));
  return Status::Ok();
}

Status Foreign::OpenGolden(const TensorSource& source) {
  PLUMB_ASSIGN_OR_RETURN(TensorSet set, OpenSet(source));
  golden_names_.names = expects_both_ ? Restricted(options_.names, set) : options_.names;
  golden_set_ = std::make_unique<TensorSet>(std::move(set));
  return Status::Ok();
}

std::vector<Foreign::Side> Foreign::Sides() const {
  std::vector<Side> sides;
  if (golden_set_ != nullptr) sides.push_back({"golden", golden_set_.get(), golden_.get(), &golden_names_});
  if (subject_set_ != nullptr) sides.push_back({"subject", subject_set_.get(), subject_.get(), &subject_names_});
  return sides;
}

Result<std::map<std::string, Shape>> Foreign::TensorShapes() const {
  std::map<std::string, Shape> shapes;
  for (const Side& side : Sides()) {
    std::map<std::string, std::string> model_name;
    for (const auto& [model, theirs] : side.names->names) model_name[theirs] = model;
    for (const StoredTensor& tensor : side.set->tensors()) {
      if (!tensor.is_input) continue;
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, tensor.load());
      const auto it = model_name.find(tensor.name);
      shapes.emplace(it == model_name.end() ? tensor.name : it->second, value.shape());
    }
  }
  return shapes;
}

namespace {

// "'conv1', 'relu1', 'fc' and 73 more"
std::string Some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}{}'", i == 0 ? "'" : ", '", names[i]);
  return text + (names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

}  // namespace

Status Foreign::CheckSameModel(const Graph& graph) const {
  std::vector<std::string> ours, inputs;
  for (const GraphInput& input : graph.inputs) inputs.push_back(input.name);
  if (graph.layers.empty()) return Status::Ok();
  for (const Layer& layer : graph.layers) ours.insert(ours.end(), layer.outputs.begin(), layer.outputs.end());
  for (const Side& side : Sides()) {
    if (side.names->by_order || !side.names->names.empty()) continue;
    std::vector<std::string> theirs;
    for (const StoredTensor& tensor : side.set->tensors()) theirs.push_back(tensor.name);
    PLUMB_ASSIGN_OR_RETURN(const NamePairing layers, PairNames(ours, theirs, *side.names));
    PLUMB_ASSIGN_OR_RETURN(const NamePairing read, PairNames(inputs, theirs, *side.names));
    if (!layers.pairs.empty() || !PairLayers(graph, side.set->tensors(), layers.only_b).empty()) continue;
    bool fits = !read.pairs.empty();  // then it may be a subject of inputs only, or of names that are to be said
    for (const auto& [ours_at, theirs_at] : read.pairs) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, side.set->tensors()[theirs_at].load());
      fits = fits && SameSize(value.shape(), graph.inputs[ours_at].shape);
    }
    if (fits) continue;
    std::vector<std::string> others;
    for (const size_t i : read.only_b) others.push_back(theirs[i]);
    return Status::InvalidArgument(
        fmt::format("the {} '{}': none of its tensors is this model's{}: it has {}, the model '{}' has {}; if only the "
                    "names differ, give PairingOptions::names or PairingOptions::by_order",
                    side.what, side.set->path(), read.pairs.empty() ? "" : " but network inputs of another shape",
                    Some(others), graph.source, Some(ours)));
  }
  return Status::Ok();
}

Result<Shape> Foreign::ShapeOf(const Side& side, const GraphInput& input, bool* found) const {
  std::vector<std::string> theirs;
  for (const StoredTensor& tensor : side.set->tensors()) theirs.push_back(tensor.name);
  NameOptions names;
  const auto named = side.names->names.find(input.name);
  if (named != side.names->names.end()) names.names.insert(*named);
  PLUMB_ASSIGN_OR_RETURN(const NamePairing pairing, PairNames({input.name}, theirs, names));
  *found = !pairing.pairs.empty();
  if (!*found) return Shape();
  const StoredTensor& stored = side.set->tensors()[pairing.pairs[0].second];
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, stored.load());
  *found = stored.has_shape && (value.shape().rank() != 1 || input.shape.rank() == 1);  // a flat array has no shape
  return value.shape();
}

Result<std::map<std::string, Shape>> Foreign::InputShapes(const Graph& graph,
                                                          const std::map<std::string, Shape>& given) const {
  std::map<std::string, Shape> shapes = given;
  for (const GraphInput& input : graph.inputs) {
    std::string decided_by = given.count(input.name) != 0 ? "LoadOptions::input_shapes" : "";
    for (const Side& side : Sides()) {
      bool found = false;
      PLUMB_ASSIGN_OR_RETURN(const Shape shape, ShapeOf(side, input, &found));
      if (!found) continue;
      const auto it = shapes.find(input.name);
      const Shape& now = it == shapes.end() ? input.shape : it->second;
      if (SameSize(shape, now)) {
        decided_by = decided_by.empty() ? "the " + side.what : decided_by;
        continue;
      }
      if (!decided_by.empty()) {
        return Status::InvalidArgument(
            fmt::format("network input '{}' is {} in the {} '{}', but {} in {}: run one of them again at the other's "
                        "size; nothing is resized",
                        input.name, shape.ToString(), side.what, side.set->path(), now.ToString(), decided_by));
      }
      if (shape.rank() != input.shape.rank() || shape.Validate().ok() == false) {
        return Status::InvalidArgument(fmt::format("network input '{}' is {} in the {} '{}', but {} in the model",
                                                   input.name, shape.ToString(), side.what, side.set->path(),
                                                   input.shape.ToString()));
      }
      shapes[input.name] = shape;
      decided_by = "the " + side.what;
    }
  }
  return shapes;
}

Status Foreign::CheckConstants(const std::map<std::string, Tensor>& constants) const {
  for (const auto& [name, value] : constants) {
    for (const Side& side : Sides()) {
      for (const auto* tensors : {&side.set->tensors(), &side.set->constants()}) {
        for (const StoredTensor& tensor : *tensors) {
          if (tensor.name != name) continue;
          PLUMB_ASSIGN_OR_RETURN(const Tensor theirs, tensor.load());
          if (SameValues(value, theirs)) continue;
          return Status::InvalidArgument(
              fmt::format("network input '{}' has another value in the {} '{}' than LoadOptions::input_values gives "
                          "it: run one of them again",
                          name, side.what, side.set->path()));
        }
      }
    }
  }
  return Status::Ok();
}

Status Foreign::Pair(const Graph& graph, const BlobTable& blobs, const ImportRecord& record) {
  if (golden_set_ != nullptr && golden_ == nullptr) {
    PLUMB_ASSIGN_OR_RETURN(
        golden_, PairedBlobs::Create(*golden_set_, graph, blobs, {"golden", golden_names_, options_.layout, &record}));
  }
  if (subject_set_ != nullptr && subject_ == nullptr) {
    PLUMB_ASSIGN_OR_RETURN(subject_, PairedBlobs::Create(*subject_set_, graph, blobs,
                                                         {"subject", subject_names_, options_.layout, &record}));
  }
  return Status::Ok();
}

Result<std::vector<Foreign::Source>> Foreign::SourcesOf(const GraphInput& input, const NetworkInputs* given,
                                                        const std::string& given_name) const {
  std::vector<Source> sources;
  if (given != nullptr) sources.push_back({given_name, given->values.at(input.name)});
  for (const Side& side : Sides()) {
    if (!side.blobs->Has(input.name)) continue;
    PLUMB_ASSIGN_OR_RETURN(Tensor value,
                           side.blobs->LoadInput(input.name, sources.empty() ? nullptr : &sources[0].value));
    if (!sources.empty() && sources[0].value.shape() != value.shape()) {
      return Status::InvalidArgument(fmt::format(
          "network input '{}' is {} in the {}, but {} in {}: run one of them again at the other's size; nothing is "
          "resized",
          input.name, value.shape().ToString(), side.what, sources[0].value.shape().ToString(), sources[0].what));
    }
    sources.push_back({side.what, std::move(value)});
  }
  return sources;
}

Result<NetworkInputs> Foreign::Inputs(const Graph& graph, const NetworkInputs* given, const std::string& given_name,
                                      const std::function<Result<NetworkInputs>()>& generate, bool needs_all,
                                      std::vector<InputMatch>* matches) const {
  NetworkInputs inputs;
  if (given != nullptr) inputs = *given;
  bool all = true, any = given != nullptr;
  for (const GraphInput& input : graph.inputs) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Source> sources, SourcesOf(input, given, given_name));
    for (size_t i = 0; i < sources.size(); ++i) {
      for (size_t j = i + 1; j < sources.size(); ++j) {
        matches->push_back(
            MatchInputs(input.name, sources[i].what, sources[i].value, sources[j].what, sources[j].value));
      }
    }
    all = all && !sources.empty();
    any = any || !sources.empty();
    if (given != nullptr || sources.empty()) continue;
    inputs.values[input.name] = sources[0].value;
    inputs.lines.push_back(fmt::format("{} {} {}: the {}'s", input.name, DTypeName(input.dtype),
                                       sources[0].value.shape().ToString(), sources[0].what));
  }
  if (all) return inputs;
  if (!any && needs_all) return generate();
  if (needs_all) {
    return Status::InvalidArgument(
        "neither InputOptions::files nor golden nor subject has every network input; give all of "
        "them with InputOptions::files");
  }
  for (const GraphInput& input : graph.inputs) {
    if (inputs.values.count(input.name) != 0) continue;
    inputs.lines.push_back(
        fmt::format("{}: not known; give the subject's with InputOptions::files {}=FILE", input.name, input.name));
  }
  return inputs;
}

}  // namespace plumb
