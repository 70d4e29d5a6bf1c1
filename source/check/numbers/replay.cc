// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "check/core/folding.h"
#include "check/numbers/stored_half.h"
#include "plumb/tool/interrupt.h"

namespace plumb {
namespace {

class Chain {
 public:
  Chain(const LayerGroup& group, const BlobTable& blobs, const ReplayExtra& extra)
      : group_(group), blobs_(blobs), extra_(extra), taus_(extra.input_tau) {}

  Result<ReplayResult> Run(const std::vector<Tensor>& inputs, const Arithmetic* arithmetic, int level,
                           ReplayBeside* beside = nullptr) {
    beside_ = beside;
    for (int m = 0; m < static_cast<int>(group_.members.size()); ++m) {
      PLUMB_RETURN_IF_ERROR(Interrupter::Check());
      PLUMB_RETURN_IF_ERROR(RunMember(m, inputs, arithmetic, level));
      Drop(m);
    }
    ReplayResult result;
    for (const auto& port : group_.outputs) {
      result.values.push_back(values_.at(port.blob));
      if (arithmetic == nullptr) continue;
      const auto tau = taus_.find(port.blob);  // none: exact
      auto zeros = tau == taus_.end() ? Tensor::Zeros(DType::kF64, blobs_.at(port.blob).shape) : tau->second;
      if (!zeros.ok()) return zeros.status();
      result.tau.push_back(std::move(zeros).value());
    }
    for (size_t i = 0; beside != nullptr && i < group_.outputs.size(); ++i)
      beside->values.push_back(beside_values_.at(group_.outputs[i].blob));
    return result;
  }

 private:
  // The tensor that port (member, slot) reads: from outside, or made by an earlier member.
  const Tensor& InputOf(int member, int slot, const std::vector<Tensor>& inputs,
                        const std::map<std::string, Tensor>& values) const {
    for (size_t i = 0; i < group_.inputs.size(); ++i) {
      if (group_.inputs[i].member == member && group_.inputs[i].slot == slot) return inputs[i];
    }
    return values.at(group_.members[static_cast<size_t>(member)]->inputs[static_cast<size_t>(slot)]);
  }

  // The outputs of `layer` among `values`: new, or in the memory of the dying input.
  Status MakeOutputs(const Layer& layer, const std::string& dying, std::map<std::string, Tensor>* values,
                     ReferenceArgs* args) const {
    for (const std::string& blob : layer.outputs) {
      const BlobInfo& info = blobs_.at(blob);
      if (dying.empty()) {
        PLUMB_ASSIGN_OR_RETURN((*values)[blob],
                               Tensor::Create(info.dtype == DType::kF32 ? DType::kF64 : info.dtype, info.shape));
      } else {
        (*values)[blob] = values->at(dying);
      }
      args->outputs.push_back(&(*values)[blob]);
    }
    return Status::Ok();
  }

  // Member m on the other inputs: now, or by the replay's own call.
  Status RunBeside(int m, const Layer& layer, const ReferenceOp& op, const std::string& dying, ReferenceArgs* beside,
                   ReferenceArgs* args) {
    for (int slot = 0; slot < static_cast<int>(layer.inputs.size()); ++slot)
      beside->inputs.push_back(&InputOf(m, slot, beside_->inputs, beside_values_));
    PLUMB_RETURN_IF_ERROR(MakeOutputs(layer, dying, &beside_values_, beside));
    if (!op.runs_beside) return op.run(*beside);
    args->beside = beside;
    return Status::Ok();
  }

  Status RunMember(int m, const std::vector<Tensor>& inputs, const Arithmetic* arithmetic, int level) {
    Layer rounded;  // its weights, where operands are
    std::vector<Tensor> operands, operand_taus;
    const Layer& own = *group_.members[static_cast<size_t>(m)];
    const bool narrow = extra_.operands != DType::kF32 && IsProduct(own);
    if (narrow) {
      PLUMB_ASSIGN_OR_RETURN(rounded, WithRoundedWeights(own));
      operands.resize(own.inputs.size()), operand_taus.resize(own.inputs.size());
    }
    const Layer& layer = narrow ? rounded : own;
    const MemberChange* change = ChangeOf(m);
    const ReferenceOp& op = change != nullptr && change->op.run != nullptr ? change->op : GetReferenceOp(layer.kind);
    std::vector<Tensor> read, read_taus;  // otherwise
    const bool reads = change != nullptr && change->reads;
    if (reads) read.resize(own.inputs.size()), read_taus.resize(own.inputs.size());
    ReferenceArgs args{layer, {}, {}}, beside{layer, {}, {}};
    BoundArgs bound;
    bound.level = level;
    bool uncertain = false, uncertain_integers = false;
    for (int slot = 0; slot < static_cast<int>(layer.inputs.size()); ++slot) {
      args.inputs.push_back(&InputOf(m, slot, inputs, values_));
      const auto tau = taus_.find(layer.inputs[static_cast<size_t>(slot)]);
      bound.input_tau.push_back(tau == taus_.end() ? nullptr : &tau->second);
      if (reads) PLUMB_RETURN_IF_ERROR(ReadOtherwise(*change, slot, &read, &read_taus, &args, &bound));
      if (narrow) PLUMB_RETURN_IF_ERROR(RoundOperand(slot, &operands, &operand_taus, &args, &bound));
      uncertain = uncertain || tau != taus_.end();
      const bool moved = GetOp(layer.kind).moves_data_only && HoldsMoved(layer, static_cast<size_t>(slot));
      uncertain_integers =
          uncertain_integers || (tau != taus_.end() && !IsFloat(args.inputs.back()->dtype()) && !moved);
    }
    if (reads) PLUMB_RETURN_IF_ERROR(KeepsShapes(layer, args));
    const std::string dying = op.in_place ? DyingInput(m) : "";
    PLUMB_RETURN_IF_ERROR(MakeOutputs(layer, dying, &values_, &args));
    if (beside_ != nullptr) PLUMB_RETURN_IF_ERROR(RunBeside(m, layer, op, dying, &beside, &args));
    const bool writes = change != nullptr && change->writes;
    if (arithmetic == nullptr) {
      PLUMB_RETURN_IF_ERROR(op.run(args));
      for (size_t i = 0; i < args.outputs.size() && writes; ++i) change->writes(args.outputs[i], nullptr);
      return Status::Ok();
    }
    if ((uncertain && !op.propagates && !op.smooth) || (uncertain_integers && !op.takes_uncertain_integers)) {
      return Status::NotSupported(fmt::format("errors cannot be followed through {} inside a fused group", layer.type));
    }
    if (!uncertain && change == nullptr && GetOp(layer.kind).moves_data_only) return op.run(args);  // exact
    bound.arithmetic = *arithmetic;
    Tensor later, constant;
    if (level > 0 && IsProduct(layer)) {
      later = LaterOf(m, inputs, &constant);
      bound.later = later.empty() ? nullptr : &later;
      bound.later_constant = constant.empty() ? nullptr : &constant;
    }
    for (const std::string& blob : layer.outputs) {
      bound.device_outputs.push_back(op.feeds_back || op.picks ? DeviceOutput(blob) : nullptr);
      if (dying.empty() || taus_.count(dying) == 0) {
        PLUMB_ASSIGN_OR_RETURN(taus_[blob], Tensor::Create(DType::kF64, blobs_.at(blob).shape));
      } else {
        taus_[blob] = taus_.at(dying);
      }
      bound.tau.push_back(&taus_[blob]);
    }
    const bool folds = level > 0 && NoteFolding(layer, args, bound);
    PLUMB_RETURN_IF_ERROR(RunBounded(op, args, &bound, uncertain));
    if (folds) folding_.Widen(layer.outputs[0], *args.outputs[0], *arithmetic, bound.tau[0]);
    for (size_t i = 0; i < args.outputs.size() && writes; ++i) change->writes(args.outputs[i], bound.tau[i]);
    if (extra_.stored) PLUMB_RETURN_IF_ERROR(AddInnerStorage(layer));
    for (const std::string& blob : layer.outputs) DropExact(blob);
    return Status::Ok();
  }

  // Whether the member scales or shifts a blob by constants.
  bool NoteFolding(const Layer& layer, const ReferenceArgs& args, const BoundArgs& bound) {
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      if (!blobs_.at(layer.inputs[i]).value.empty()) continue;
      return folding_.Note(layer, layer.inputs[i], blobs_, *args.inputs[i], bound.input_tau[i]);
    }
    return false;
  }

  const MemberChange* ChangeOf(int m) const {
    for (const MemberChange& change : extra_.changes) {
      if (change.member == m) return &change;
    }
    return nullptr;
  }

  static Status ReadOtherwise(const MemberChange& change, int slot, std::vector<Tensor>* read,
                              std::vector<Tensor>* taus, ReferenceArgs* args, BoundArgs* bound) {
    const auto i = static_cast<size_t>(slot);
    PLUMB_ASSIGN_OR_RETURN((*read)[i], change.reads(i, *args->inputs[i]));
    args->inputs[i] = &(*read)[i];
    if (bound->input_tau[i] == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN((*taus)[i], change.reads(i, *bound->input_tau[i]));
    bound->input_tau[i] = &(*taus)[i];
    return Status::Ok();
  }

  // Sizes, scales and pads that are read otherwise may ask for outputs of another shape; these have the graph's.
  Status KeepsShapes(const Layer& layer, const ReferenceArgs& args) const {
    constexpr int64_t kMostOfShape = 64;  // elements of an operand that a shape follows from
    ShapeContext context{layer, {}, std::vector<BlobInfo>(layer.outputs.size())};
    for (size_t slot = 0; slot < layer.inputs.size(); ++slot) {
      const Tensor& input = *args.inputs[slot];
      BlobInfo info{blobs_.at(layer.inputs[slot]).dtype, input.shape(), {}};
      if (input.NumElements() <= kMostOfShape) {
        PLUMB_ASSIGN_OR_RETURN(info.value, input.ConvertedTo(info.dtype));
      }
      context.inputs.push_back(std::move(info));
    }
    PLUMB_RETURN_IF_ERROR(GetOp(layer.kind).infer(context));
    for (size_t i = 0; i < layer.outputs.size(); ++i) {
      if (context.outputs[i].shape != blobs_.at(layer.outputs[i]).shape)
        return Status::InvalidArgument(fmt::format("'{}' would have another shape", layer.outputs[i]));
    }
    return Status::Ok();
  }

  Result<Layer> WithRoundedWeights(const Layer& layer) const {
    Layer rounded = layer;
    for (const char* slot : {"weight", "bias"}) {
      const auto constant = rounded.resources.find(slot);
      const bool rounds = constant != rounded.resources.end() && (extra_.rounds_bias || *slot == 'w');
      if (!rounds) continue;
      PLUMB_ASSIGN_OR_RETURN(constant->second, RoundedTo(extra_.operands, constant->second));
    }
    return rounded;
  }

  // Puts the operand, rounded, in place of the input; one that is uncertain may fall to either side.
  Status RoundOperand(int slot, std::vector<Tensor>* operands, std::vector<Tensor>* taus, ReferenceArgs* args,
                      BoundArgs* bound) const {
    const auto i = static_cast<size_t>(slot);
    PLUMB_ASSIGN_OR_RETURN((*operands)[i], RoundedTo(extra_.operands, *args->inputs[i]));
    args->inputs[i] = &(*operands)[i];
    if (bound->input_tau[i] == nullptr) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN((*taus)[i], bound->input_tau[i]->Clone());
    PLUMB_RETURN_IF_ERROR(plumb::AddStorageNoise(extra_.operands, (*operands)[i], &(*taus)[i]));
    bound->input_tau[i] = &(*taus)[i];
    return Status::Ok();
  }

  // What rounding adds to blobs that leave a member but not the group.
  Status AddInnerStorage(const Layer& layer) {
    for (const std::string& blob : layer.outputs) {
      const bool outer = std::any_of(group_.outputs.begin(), group_.outputs.end(),
                                     [&](const LayerGroup::Port& port) { return port.blob == blob; });
      const DType storage = extra_.stored(blob);
      if (outer || storage == DType::kF32 || GetOp(layer.kind).moves_data_only) continue;
      PLUMB_RETURN_IF_ERROR(plumb::AddStorageNoise(storage, values_.at(blob), &taus_.at(blob)));
    }
    return Status::Ok();
  }

  static Status RunBounded(const ReferenceOp& op, const ReferenceArgs& args, BoundArgs* bound, bool uncertain) {
    if (!uncertain || op.propagates) return op.run_with_bound(args, *bound);
    const std::vector<const Tensor*> input_tau = std::move(bound->input_tau);
    bound->input_tau.assign(input_tau.size(), nullptr);
    PLUMB_RETURN_IF_ERROR(op.run_with_bound(args, *bound));
    return AddTried(op, args, input_tau, bound->tau);
  }

  // An exact result is what a device has: the next member starts from it anew, as from a blob that was read. So groups
  // of exact members (indices, comparisons, whole numbers, moved elements) replay exactly, however many they are.
  void DropExact(const std::string& blob) {
    const Tensor& tau = taus_.at(blob);
    const double* values = tau.data<double>();
    if (!std::all_of(values, values + tau.NumElements(), [](double t) { return t == 0; })) return;
    taus_.erase(blob);
  }

  // What the device wrote for it, also where it is known only of the Cast that widens it (ArgMax's i32 to ONNX's i64).
  const Tensor* DeviceOutput(const std::string& blob) {
    const auto it = extra_.device_outputs.find(blob);
    if (it != extra_.device_outputs.end()) return &it->second;
    const DType dtype = blobs_.at(blob).dtype;
    for (const Layer* reader : group_.members) {
      if (reader->inputs.size() != 1 || reader->inputs[0] != blob || IsFloat(dtype)) continue;
      const auto cast = extra_.device_outputs.find(reader->outputs[0]);
      const bool is_cast = reader->kind == OpKind::kCast || reader->kind == OpKind::kPlumbCast;
      if (!is_cast || cast == extra_.device_outputs.end() || IsFloat(cast->second.dtype())) continue;
      auto narrow = cast->second.ConvertedTo(dtype);
      if (!narrow.ok()) return nullptr;
      return &(device_[blob] = std::move(narrow).value());
    }
    return nullptr;
  }

  // What members behind m add to its result y, in units of y: with a y + b after the constant scales and shifts right
  // behind it, probed with y = 0 and y = 1, b / a; and (b + r) / a with a sum's other operand r right behind these.
  // Empty: nothing. `constant` becomes b / a where r is added, too.
  Tensor LaterOf(int m, const std::vector<Tensor>& inputs, Tensor* constant) const {
    const Layer& layer = *group_.members[static_cast<size_t>(m)];
    if (layer.outputs.size() != 1) return {};
    auto shift = Tensor::Zeros(DType::kF64, blobs_.at(layer.outputs[0]).shape), one = shift;
    if (!shift.ok() || !(one = shift->Clone()).ok()) return {};
    const int64_t count = shift->NumElements();
    std::fill_n(one->data<double>(), count, 1.0);
    std::string blob = layer.outputs[0];
    size_t next = static_cast<size_t>(m) + 1;
    while (next < group_.members.size() && ScaleOrShift(*group_.members[next], blob, blobs_, &*shift) &&
           ScaleOrShift(*group_.members[next], blob, blobs_, &*one)) {
      blob = group_.members[next++]->outputs[0];
    }
    const Tensor* added = next < group_.members.size() ? AddedTo(blob, static_cast<int>(next), inputs) : nullptr;
    if (added == nullptr && next == static_cast<size_t>(m) + 1) return {};
    double *later = shift->data<double>(), *alone = one->data<double>();
    for (int64_t i = 0; i < count; ++i) {
      const double scale = alone[i] - later[i];
      alone[i] = later[i] / scale;
      later[i] = (later[i] + (added != nullptr ? added->data<double>()[i] : 0)) / scale;
      if (!std::isfinite(later[i]) || !std::isfinite(alone[i])) later[i] = alone[i] = 0;
    }
    if (added != nullptr && next > static_cast<size_t>(m) + 1) *constant = *one;
    return *shift;
  }

  // What member m, a sum of the blob and another one of its shape, adds to it; null: it is something else, or that is
  // not known.
  const Tensor* AddedTo(const std::string& blob, int m, const std::vector<Tensor>& inputs) const {
    const Layer& layer = *group_.members[static_cast<size_t>(m)];
    if (layer.kind != OpKind::kAdd || layer.inputs.size() != 2) return nullptr;
    const int other = layer.inputs[0] == blob ? 1 : 0;
    const std::string& name = layer.inputs[static_cast<size_t>(other)];
    if (layer.inputs[static_cast<size_t>(1 - other)] != blob || name == blob) return nullptr;
    const bool outer = std::any_of(group_.inputs.begin(), group_.inputs.end(), [&](const LayerGroup::Port& port) {
      return port.member == m && port.slot == other;
    });
    if (!outer && values_.count(name) == 0) return nullptr;
    const Tensor& added = InputOf(m, other, inputs, values_);
    return added.dtype() == DType::kF64 && added.shape() == blobs_.at(blob).shape ? &added : nullptr;
  }

  // How far the inputs' errors carry, found by trying: inputs moved by tau with random signs, the largest of kTries
  // outputs' moves taken twice. For independent errors one try is tau_out times a normal deviate; that eight of them
  // all stay below 0.4 has a probability of 1e-4, and 0.8 tau_out is twice what healthy devices need.
  static Status AddTried(const ReferenceOp& op, const ReferenceArgs& args, const std::vector<const Tensor*>& input_tau,
                         const std::vector<Tensor*>& tau) {
    constexpr int kTries = 8;
    std::vector<Tensor> moved(args.outputs.size()), largest(args.outputs.size());
    ReferenceArgs tried{args.layer, args.inputs, {}};
    for (size_t o = 0; o < moved.size(); ++o) {
      PLUMB_ASSIGN_OR_RETURN(moved[o], Tensor::Create(args.outputs[o]->dtype(), args.outputs[o]->shape()));
      PLUMB_ASSIGN_OR_RETURN(largest[o], Tensor::Zeros(DType::kF64, args.outputs[o]->shape()));
      tried.outputs.push_back(&moved[o]);
    }
    uint64_t state = 1;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      std::vector<Tensor> inputs(args.inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (input_tau[i] == nullptr) continue;
        PLUMB_ASSIGN_OR_RETURN(inputs[i], MovedBy(*args.inputs[i], *input_tau[i], &state));
        tried.inputs[i] = &inputs[i];
      }
      PLUMB_RETURN_IF_ERROR(op.run(tried));
      for (size_t o = 0; o < moved.size(); ++o) TakeLargest(moved[o], *args.outputs[o], &largest[o]);
    }
    for (size_t o = 0; o < tau.size(); ++o) {
      for (int64_t i = 0; i < tau[o]->NumElements(); ++i) tau[o]->data<double>()[i] += 2 * largest[o].data<double>()[i];
    }
    return Status::Ok();
  }

  static Result<Tensor> MovedBy(const Tensor& input, const Tensor& tau, uint64_t* state) {
    PLUMB_ASSIGN_OR_RETURN(Tensor moved, input.Clone());
    if (moved.dtype() != DType::kF64) return moved;
    for (int64_t i = 0; i < moved.NumElements(); ++i) {
      *state = *state * 6364136223846793005u + 1442695040888963407u;
      moved.data<double>()[i] += *state >> 63 != 0 ? tau.data<double>()[i] : -tau.data<double>()[i];
    }
    return moved;
  }

  static void TakeLargest(const Tensor& moved, const Tensor& value, Tensor* largest) {
    if (moved.dtype() != DType::kF64) return;
    double* most = largest->data<double>();
    for (int64_t i = 0; i < moved.NumElements(); ++i) {
      const double distance = std::fabs(moved.data<double>()[i] - value.data<double>()[i]);
      if (distance > most[i]) most[i] = distance;
    }
  }

  // A blob of an earlier member that nobody reads after member m and whose memory m's only output may take; or "".
  std::string DyingInput(int m) const {
    const Layer& layer = *group_.members[static_cast<size_t>(m)];
    const BlobInfo& output = blobs_.at(layer.outputs[0]);
    if (output.dtype != DType::kF32 || layer.outputs.size() != 1) return "";
    for (const std::string& blob : layer.inputs) {
      if (values_.count(blob) == 0 || ReadAfter(m, blob)) continue;
      if (blobs_.at(blob).dtype == output.dtype && blobs_.at(blob).shape == output.shape) return blob;
    }
    return "";
  }

  bool ReadAfter(int member, const std::string& blob) const {
    for (const auto& port : group_.outputs) {
      if (port.blob == blob) return true;
    }
    for (size_t m = static_cast<size_t>(member) + 1; m < group_.members.size(); ++m) {
      for (const std::string& input : group_.members[m]->inputs) {
        if (input == blob) return true;
      }
    }
    return false;
  }

  // Frees what the member was the last to read, so that its memory serves the next member.
  void Drop(int member) {
    for (const std::string& blob : group_.members[static_cast<size_t>(member)]->inputs) {
      if (ReadAfter(member, blob)) continue;
      values_.erase(blob);
      beside_values_.erase(blob);
      taus_.erase(blob);
    }
  }

  const LayerGroup& group_;
  const BlobTable& blobs_;
  const ReplayExtra& extra_;
  ReplayBeside* beside_ = nullptr;
  Folding folding_;
  std::map<std::string, Tensor> values_, beside_values_;
  std::map<std::string, Tensor> taus_;    // of what is uncertain
  std::map<std::string, Tensor> device_;  // DeviceOutput's own
};

}  // namespace

Result<ReplayResult> ReplayValues(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                  const ReplayExtra& extra) {
  return Chain(group, blobs, extra).Run(inputs, nullptr, 0);
}

Result<ReplayResult> ReplayWithBound(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs,
                                     const Arithmetic& arithmetic, int level, const ReplayExtra& extra,
                                     ReplayBeside* beside) {
  return Chain(group, blobs, extra).Run(inputs, &arithmetic, level, beside);
}

bool IsProduct(const Layer& layer) { return GetOp(layer.kind).sums == Sums::kProducts; }

bool FeedsBack(const LayerGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const Layer* member) { return GetReferenceOp(member->kind).feeds_back; });
}

int MaxBoundLevel(const LayerGroup& group) {
  int level = MayFold(group) ? 1 : 0;
  for (const Layer* member : group.members) level = std::max(level, GetReferenceOp(member->kind).max_level);
  return level;
}

}  // namespace plumb
