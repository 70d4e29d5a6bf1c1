// SPDX-License-Identifier: Apache-2.0
// Walks the layers backwards. A need is an interval that a blob's values must lie in; each layer turns the needs of its
// outputs into those of its inputs, and adds its own.
#include "graph/input_ranges.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "base/text.h"
#include "op/binary.h"
#include "op/cast.h"
#include "op/gather.h"
#include "op/gather_elements.h"
#include "op/one_hot.h"
#include "op/recurrent.h"
#include "op/reverse_sequence.h"
#include "op/scatter.h"

namespace plumb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMaxNeeds = 64;  // of one blob: unrolled loops read one thousands of times, all alike

struct Need {
  double lo = -kInfinity, hi = kInfinity;
  bool hard = true;
  std::string why;
  bool weak = false;  // one number that it is compared with: counts where nothing else is known
};

bool IsWhole(DType dtype) { return !IsFloat(dtype); }

std::string Of(const Layer& layer) { return fmt::format("'{}' ({})", layer.name, layer.type); }

class Walk {
 public:
  Walk(const Graph& graph, const BlobTable& blobs) : graph_(graph), blobs_(blobs) {
    for (const Layer& layer : graph.layers) {
      for (const std::string& name : layer.outputs) writers_[name] = &layer;
    }
    for (const std::string& name : graph.outputs) in_full_.insert(name);
    for (auto layer = graph.layers.rbegin(); layer != graph.layers.rend(); ++layer) Visit(*layer);
  }

  // Needs that contradict the ones before them are left out; those without negative values come first.
  bool Find(const GraphInput& input, FoundRange* found) const {
    const auto it = needs_.find(input.name);
    if (it == needs_.end() || input.dtype == DType::kBool) return false;
    std::vector<Need> needs = it->second;
    std::stable_sort(needs.begin(), needs.end(), [](const Need& a, const Need& b) {
      const auto rank = [](const Need& need) { return (need.hard ? 0 : need.weak ? 4 : 2) + (need.lo >= 0 ? 0 : 1); };
      return rank(a) < rank(b);
    });
    Need all;
    bool any = false;
    for (const Need& need : needs) {
      const bool enough = any && (all.hard || need.weak) && all.lo > -kInfinity && all.hi < kInfinity;
      if (!need.hard && (IsFloat(input.dtype) || enough)) continue;
      const double lo = std::max(all.lo, std::ceil(need.lo)), hi = std::min(all.hi, std::floor(need.hi));
      if (lo > hi) continue;
      if (!any || lo > all.lo || hi < all.hi) all.why = need.why;
      all.hard = any ? all.hard || need.hard : need.hard;
      all.lo = lo;
      all.hi = hi;
      any = true;
    }
    if (!any || all.lo == -kInfinity || all.hi == kInfinity) return false;
    found->range = {all.lo, all.hi, IsWhole(input.dtype) || in_full_.count(input.name) == 0};
    found->needed = all.hard;
    found->why = all.why;
    return true;
  }

 private:
  const BlobInfo& Info(const std::string& name) const { return blobs_.at(name); }
  bool Known(const std::string& name) const { return !Info(name).value.empty(); }

  void Add(const std::string& blob, const Need& need) {
    if (Known(blob) || (need.lo == -kInfinity && need.hi == kInfinity)) return;
    std::vector<Need>& needs = needs_[blob];
    for (const Need& old : needs) {
      if (old.lo == need.lo && old.hi == need.hi && old.hard == need.hard) return;
    }
    if (needs.size() < kMaxNeeds) needs.push_back(need);
  }

  void Index(const std::string& blob, int64_t size, const std::string& why) {
    if (size > 0) Add(blob, {0, static_cast<double>(size - 1), true, why});
  }

  void Visit(const Layer& layer) {
    OwnNeeds(layer);
    for (const std::string& output : layer.outputs) {
      const auto it = needs_.find(output);
      if (it == needs_.end()) continue;
      for (const Need& need : std::vector<Need>(it->second)) Pass(layer, need);
    }
    MarkRead(layer);
  }

  // What the layer's operator itself asks of its inputs.
  void OwnNeeds(const Layer& layer) {
    const std::vector<std::string>& in = layer.inputs;
    switch (layer.kind) {
      case OpKind::kGather: {
        const auto& p = ParamOf<GatherParam>(layer);
        const Tensor* table = layer.Resource("data");
        if (p.indices_in_resource || (p.data_in_resource && table == nullptr)) return;
        const Shape& data = p.data_in_resource ? table->shape() : Info(in[0]).shape;
        Index(in.back(), data[p.axis < 0 ? p.axis + data.rank() : p.axis], "rows of " + Of(layer));
        return;
      }
      case OpKind::kGatherND:
        IndexVectors(in[1], Info(in[0]).shape, ParamOf<GatherNDParam>(layer).batch_dims, layer);
        return;
      case OpKind::kScatterND:
      case OpKind::kPlumbScatterND: IndexVectors(in[1], Info(in[0]).shape, 0, layer); return;
      case OpKind::kPlumbGatherElements:
      case OpKind::kScatterElements:
      case OpKind::kPlumbScatterElements: IndexAlong(layer); return;
      case OpKind::kOneHot:
      case OpKind::kPlumbOneHot: {
        const auto shape = ResolveOneHot(layer, Infos(layer));
        if (shape.ok()) Index(in[0], shape->depth, "classes of " + Of(layer));
        return;
      }
      case OpKind::kPlumbReverseSequence: {
        const auto& p = ParamOf<ReverseSequenceParam>(layer);
        const Shape& data = Info(in[0]).shape;
        const int axis = p.time_axis < 0 ? p.time_axis + data.rank() : p.time_axis;
        Add(in[1], {1, static_cast<double>(data[axis]), true, "lengths of " + Of(layer)});
        return;
      }
      case OpKind::kPlumbLSTM:
      case OpKind::kPlumbGRU:
      case OpKind::kPlumbRNN:
      case OpKind::kPlumbDynamicQuantizeLSTM: {
        const auto shape = ResolveRecurrent(layer, Infos(layer));
        if (!shape.ok() || shape->lengths < 0) return;
        Add(in[static_cast<size_t>(shape->lengths)],
            {1, static_cast<double>(shape->time), true, "lengths of " + Of(layer)});
        return;
      }
      case OpKind::kPlumbDequantizeLinear: {
        Quantised(layer);
        return;
      }
      case OpKind::kPlumbQuantizedLSTM: {
        Add(in[0], {-128, 127, false, "8 bits of " + Of(layer)});
        return;
      }
      case OpKind::kCast:
      case OpKind::kPlumbCast: {
        const auto target = CastTarget(layer);
        if (target.ok() && *target == DType::kBool) Add(in[0], {0, 1, false, "truth for " + Of(layer)});
        return;
      }
      default:
        if (Compares(layer.kind)) Compared(layer);
        return;
    }
  }

  // Integers of the width that the model says, or the zero point has.
  void Quantised(const Layer& layer) {
    const std::string& read = layer.inputs[0];
    const DType carried = layer.inputs.size() < 3 ? DType::kI8 : Info(layer.inputs[2]).dtype;
    switch (graph_.ModelDType(read, carried)) {
      case DType::kI8: Add(read, {-128, 127, false, "8 bits of " + Of(layer)}); return;
      case DType::kI16: Add(read, {-32768, 32767, false, "16 bits of " + Of(layer)}); return;
      case DType::kU16: Add(read, {0, 65535, false, "16 bits of " + Of(layer)}); return;
      default: Add(read, {0, 255, false, "8 bits of " + Of(layer)});
    }
  }

  std::vector<BlobInfo> Infos(const Layer& layer) const {
    std::vector<BlobInfo> infos;
    for (const std::string& name : layer.inputs) infos.push_back(Info(name));
    return infos;
  }

  void IndexAlong(const Layer& layer) {
    const int wanted = layer.kind == OpKind::kPlumbGatherElements ? ParamOf<GatherElementsParam>(layer).axis
                       : layer.kind == OpKind::kScatterElements   ? ParamOf<ScatterElementsParam>(layer).axis
                                                                  : ParamOf<PlumbScatterElementsParam>(layer).axis;
    const Shape& data = Info(layer.inputs[0]).shape;
    Index(layer.inputs[1], data[wanted < 0 ? wanted + data.rank() : wanted], "positions of " + Of(layer));
  }

  // Index vectors walk data's dims from `first` on. Where they are put together column by column, each column gets its
  // own.
  void IndexVectors(const std::string& indices, const Shape& data, int first, const Layer& layer) {
    const Shape& shape = Info(indices).shape;
    if (shape.rank() == 0) return;
    const int width = static_cast<int>(std::min<int64_t>(shape[shape.rank() - 1], data.rank() - first));
    const auto writer = writers_.find(indices);
    const bool columns = writer != writers_.end() && writer->second->kind == OpKind::kConcat &&
                         static_cast<int>(writer->second->inputs.size()) == width;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < width; ++i) {
      least = std::min(least, data[first + i]);
      if (columns) Index(writer->second->inputs[static_cast<size_t>(i)], data[first + i], "positions of " + Of(layer));
    }
    if (!columns && width > 0) Index(indices, least, "positions of " + Of(layer));
  }

  // Numbers on both sides of those that the input is compared with. A row of several (0 .. n-1) makes it a length, or,
  // where it is to be equal to one of them, a class.
  void Compared(const Layer& layer) {
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      const Tensor* other = layer.inputs.size() == 2 ? &Info(layer.inputs[1 - i]).value : layer.Resource("element");
      if (other == nullptr || other->empty()) continue;
      const auto [least, most] = Limits(*other);
      // A setting, such as a sampling rate: one of the values that the model knows, so that a branch of it runs.
      if (layer.kind == OpKind::kEqual && Info(layer.inputs[i]).shape.NumElements() == 1 && least == most) {
        Add(layer.inputs[i], {least, least, false, fmt::format("what {} compares it with", Of(layer)), true});
        continue;
      }
      const bool row = other->NumElements() > 1 && least >= 0, is_class = row && layer.kind == OpKind::kEqual;
      const double lo = is_class     ? least
                        : row        ? std::max(1.0, least)
                        : least >= 0 ? std::max(0.0, least - 1)
                                     : least - 1;
      Add(layer.inputs[i], {lo, is_class ? most : std::max(lo, most + 1), false,
                            fmt::format("what {} compares it with", Of(layer)), !row});
    }
  }

  static std::pair<double, double> Limits(const Tensor& values) {
    double least = kInfinity, most = -kInfinity;
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      least = std::min(least, values.ValueAt(i));
      most = std::max(most, values.ValueAt(i));
    }
    return {least, most};
  }

  // An output's need as those of the inputs; nothing where values are computed in another way.
  void Pass(const Layer& layer, const Need& need) {
    const std::vector<std::string>& in = layer.inputs;
    switch (layer.kind) {
      case OpKind::kIdentity:
      case OpKind::kDropout:
      case OpKind::kSplit:
      case OpKind::kReduceMax:
      case OpKind::kReduceMin: Add(in[0], need); return;
      case OpKind::kCast:
      case OpKind::kPlumbCast: {
        const auto target = CastTarget(layer);
        if (target.ok() && *target != DType::kBool) Add(in[0], need);
        return;
      }
      case OpKind::kGather:
        if (!ParamOf<GatherParam>(layer).data_in_resource) Add(in[0], need);
        return;
      case OpKind::kGatherND:
      case OpKind::kPlumbGatherElements: Add(in[0], need); return;
      case OpKind::kWhere:
        Add(in[1], need);
        Add(in[2], need);
        return;
      case OpKind::kNeg: Add(in[0], {-need.hi, -need.lo, need.hard, need.why, need.weak}); return;
      case OpKind::kAdd:
      case OpKind::kSub:
      case OpKind::kMul:
      case OpKind::kDiv:
      case OpKind::kMaximum:
      case OpKind::kMinimum: PassBinary(layer, need); return;
      default: break;
    }
    const OpDef& op = GetOp(layer.kind);
    if (!op.moves_data_only && op.map == nullptr) return;
    const size_t count = layer.kind == OpKind::kConcat ? in.size() : 1;
    for (size_t i = 0; i < count; ++i) Add(in[i], need);
  }

  void PassBinary(const Layer& layer, const Need& need) {
    const std::vector<std::string>& in = layer.inputs;
    if (in.size() == 2 && !Known(in[0]) && !Known(in[1])) {
      // A sum of two that are both drawn: half of the room for each.
      if (layer.kind != OpKind::kAdd || need.lo > 0) return;
      for (const std::string& name : in)
        Add(name, {std::ceil(need.lo / 2), std::floor(need.hi / 2), need.hard, need.why, need.weak});
      return;
    }
    const size_t at = in.size() == 2 && Known(in[0]) ? 1 : 0;
    const Tensor* constant = in.size() == 2 ? &Info(in[1 - at]).value : layer.Resource("element");
    if (constant == nullptr || constant->empty()) return;
    const bool constant_first = in.size() == 2 ? at == 1 : ParamOf<BinaryParam>(layer).weight_input_index == 0;
    const auto [least, most] = Limits(*constant);
    Need passed = need;
    switch (layer.kind) {
      case OpKind::kAdd:
        passed.lo = need.lo - least;
        passed.hi = need.hi - most;
        break;
      case OpKind::kSub:
        passed.lo = constant_first ? most - need.hi : need.lo + most;
        passed.hi = constant_first ? least - need.lo : need.hi + least;
        break;
      case OpKind::kMul:
        if (least <= 0) return;
        passed.lo = need.lo / (need.lo > 0 ? least : most);
        passed.hi = need.hi / (need.hi > 0 ? most : least);
        break;
      case OpKind::kDiv:
        if (constant_first || least <= 0) return;
        passed.lo = need.lo * (need.lo > 0 ? most : least);
        passed.hi = need.hi * (need.hi > 0 ? least : most);
        break;
      case OpKind::kMaximum:
        if (least >= need.lo) passed.lo = -kInfinity;
        break;
      default:
        if (most <= need.hi) passed.hi = kInfinity;
        break;
    }
    Add(in[at], passed);
  }

  static bool Compares(OpKind kind) {
    return kind == OpKind::kEqual || kind == OpKind::kGreater || kind == OpKind::kLess ||
           kind == OpKind::kPlumbGreaterOrEqual || kind == OpKind::kPlumbLessOrEqual;
  }

  // A blob is read in full where more than its whole part counts: by anything but a cast to integers or a comparison.
  void MarkRead(const Layer& layer) {
    if (Compares(layer.kind)) return;
    const OpDef& op = GetOp(layer.kind);
    const auto target = layer.kind == OpKind::kCast || layer.kind == OpKind::kPlumbCast ? CastTarget(layer)
                                                                                        : Result<DType>(DType::kF32);
    if (target.ok() && !IsFloat(*target)) return;
    const bool moves = op.moves_data_only || op.map != nullptr || layer.kind == OpKind::kIdentity;
    const bool full = !moves || std::any_of(layer.outputs.begin(), layer.outputs.end(),
                                            [&](const std::string& name) { return in_full_.count(name) != 0; });
    if (full) in_full_.insert(layer.inputs.begin(), layer.inputs.end());
  }

  const Graph& graph_;
  const BlobTable& blobs_;
  std::map<std::string, const Layer*> writers_;
  std::map<std::string, std::vector<Need>> needs_;
  std::set<std::string> in_full_;
};

// What a decoder's inputs say of its cache: how many positions it holds, and how many are new.
struct CachedPositions {
  int64_t past = -1, fresh = -1;
  bool known() const { return past >= 0 && fresh > 0; }
};

CachedPositions FindCachedPositions(const Graph& graph) {
  CachedPositions found;
  for (const GraphInput& input : graph.inputs) {
    const std::string name = Lower(input.name);
    if (ContainsOneOf(name, {"past"}) && input.shape.rank() == 4) found.past = input.shape[2];
    if (ContainsOneOf(name, {"input_ids", "inputs_embeds"}) && input.shape.rank() >= 2) found.fresh = input.shape[1];
  }
  return found;
}

bool NamesPositions(const std::string& name) { return ContainsOneOf(name, {"position_id", "cache_position"}); }

// Positions go on, one by one, where the cache ends, and lengths count both; within what indices allow.
void FitToCache(const CachedPositions& cache, const GraphInput& input, std::map<std::string, FoundRange>* ranges) {
  const std::string name = Lower(input.name);
  double lo = 0, hi = -1;
  const bool positions = NamesPositions(name);
  if (positions) {
    const int rank = input.shape.rank();
    lo = static_cast<double>(std::max<int64_t>(cache.past, 0)),
    hi = lo + static_cast<double>(rank == 0 ? 0 : input.shape[rank - 1] - 1);
  } else if (cache.known() && ContainsOneOf(name, {"seqlens_k"})) {
    lo = hi = static_cast<double>(cache.past + cache.fresh - 1);  // ONNX Runtime counts one less
  } else if (cache.known() && ContainsOneOf(name, {"total_sequence_length"})) {
    lo = hi = static_cast<double>(cache.past + cache.fresh);
  }
  const auto it = ranges->find(input.name);
  const bool needed = it != ranges->end() && it->second.needed;
  if (needed) lo = std::max(lo, it->second.range.lo), hi = std::min(hi, it->second.range.hi);
  if (lo > hi || !IsWhole(input.dtype)) return;
  const std::string why =
      cache.known() ? fmt::format("behind the {} positions of the cache", cache.past) : "positions in their order";
  (*ranges)[input.name] = {{lo, hi, true, positions}, needed, why};
}

}  // namespace

std::map<std::string, FoundRange> FindInputRanges(const Graph& graph, const BlobTable& blobs) {
  const Walk walk(graph, blobs);
  const CachedPositions cache = FindCachedPositions(graph);
  std::map<std::string, FoundRange> ranges;
  for (const GraphInput& input : graph.inputs) {
    FoundRange found;
    if (walk.Find(input, &found)) ranges[input.name] = found;
    FitToCache(cache, input, &ranges);
    // A mask of chance would close whole rows, which runtimes compute each in its own way.
    if (IsWhole(input.dtype) && !found.needed && ContainsOneOf(Lower(input.name), {"attention_mask"}))
      ranges[input.name] = {{1, 1, true}, false, "a mask that closes nothing"};
  }
  return ranges;
}

}  // namespace plumb
