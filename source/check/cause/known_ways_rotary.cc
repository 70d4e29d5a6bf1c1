// SPDX-License-Identifier: Apache-2.0
// Proposals for rotary embeddings, however a step spells them: pairs side by side taken for halves, turned the other
// way, of the place before or behind. x -> y is found as what lies between a blob and the layer that puts the turned
// pairs together; the pairs of another order are the same turning of a reordered x, put back in order.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "check/cause/known_ways_util.h"

namespace plumb {
namespace {

bool MayTurn(const Layer& layer) {
  switch (layer.kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kNeg:
    case OpKind::kConcat:
    case OpKind::kSplitV:
    case OpKind::kStridedSlice:
    case OpKind::kStridedSliceV2:
    case OpKind::kGather:
    case OpKind::kReshape:
    case OpKind::kSqueeze:
    case OpKind::kUnsqueeze:
    case OpKind::kIdentity: return true;
    default: return false;
  }
}

// Between a blob x and the member that puts y together.
struct Rotation {
  std::string x;
  std::set<size_t> members;
  std::set<std::string> tables;  // of cosines and sines: what else floats in
};

class RotationFinder {
 public:
  explicit RotationFinder(const ProposalContext& c) : c_(c) {
    for (size_t m = 0; m < c.group.members.size(); ++m) {
      for (const std::string& blob : c.group.members[m]->outputs) producer_[blob] = m;
    }
  }

  // Those that end in the context's member.
  std::vector<Rotation> Find() const {
    const std::string& end = c_.layer.outputs[0];
    std::vector<Rotation> found;
    std::set<std::string> tried;
    const std::set<size_t> all = Behind(end, "").members;
    for (auto m = all.rbegin(); m != all.rend(); ++m) {
      for (const std::string& blob : c_.group.members[*m]->inputs) {
        if (!tried.insert(blob).second || !IsSource(blob) || blob == end) continue;
        Rotation rotation = Behind(end, blob);
        if (Turns(rotation)) found.push_back(std::move(rotation));
      }
    }
    return found;
  }

 private:
  const Shape& ShapeOf(const std::string& blob) const { return c_.blobs.at(blob).shape; }
  bool IsSource(const std::string& blob) const {
    return c_.blobs.at(blob).value.empty() && ShapeOf(blob) == ShapeOf(c_.layer.outputs[0]);
  }

  // What leads from x to the end.
  Rotation Behind(const std::string& end, const std::string& x) const {
    Rotation rotation;
    rotation.x = x;
    std::vector<std::string> open = {end};
    while (!open.empty()) {
      const std::string blob = open.back();
      open.pop_back();
      const auto it = producer_.find(blob);
      const bool made = it != producer_.end() && MayTurn(*c_.group.members[it->second]) && blob != x;
      if (!made) {
        if (blob != x && IsFloat(c_.blobs.at(blob).dtype)) rotation.tables.insert(blob);
        continue;
      }
      if (!rotation.members.insert(it->second).second) continue;
      const auto& inputs = c_.group.members[it->second]->inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return rotation;
  }

  // Two products at least with something smaller, and pairs that are put together or subtracted.
  bool Turns(const Rotation& rotation) const {
    int products = 0, pairs = 0;
    bool reads = false;
    for (const size_t m : rotation.members) {
      const Layer& layer = *c_.group.members[m];
      products += layer.kind == OpKind::kMul;
      pairs += layer.kind == OpKind::kConcat || layer.kind == OpKind::kNeg || layer.kind == OpKind::kSub;
      reads = reads || std::count(layer.inputs.begin(), layer.inputs.end(), rotation.x) > 0;
    }
    const auto source = [&](const std::string& blob) { return IsSource(blob); };
    const bool alone = std::none_of(rotation.tables.begin(), rotation.tables.end(), source);
    return reads && alone && products >= 2 && pairs >= 1 && rotation.tables.size() >= 2;
  }

  const ProposalContext& c_;
  std::map<std::string, size_t> producer_;
};

// A member reads `blob` through `change`.
MemberChange Reading(const Layer& layer, size_t member, const std::string& blob,
                     const std::function<Result<Tensor>(const Tensor&)>& change) {
  std::vector<bool> reads;
  for (const std::string& input : layer.inputs) reads.push_back(input == blob);
  MemberChange changed;
  changed.member = static_cast<int>(member);
  changed.reads = [reads, change](size_t slot, const Tensor& input) -> Result<Tensor> {
    if (!reads[slot]) return input;
    return change(input);
  };
  return changed;
}

// The pairs in another order: row element i of what is read is from(i) of x, what is written is put back.
Proposal Conjugated(const ProposalContext& c, const Rotation& rotation, const std::string& computed,
                    const std::function<int64_t(int64_t)>& from, const std::function<int64_t(int64_t)>& back) {
  const int64_t size = c.blobs.at(rotation.x).shape.CountFrom(c.blobs.at(rotation.x).shape.rank() - 1);
  const auto moved = [size](const std::function<int64_t(int64_t)>& of) {
    return [size, of](int64_t i) { return i / size * size + of(i % size); };
  };
  Proposal proposal = WithMoved(c, computed, "otherwise", moved(back));
  proposal.family = "rotary";
  for (const size_t m : rotation.members) {
    const Layer& layer = *c.group.members[m];
    if (std::count(layer.inputs.begin(), layer.inputs.end(), rotation.x) == 0) continue;
    MemberChange change =
        Reading(layer, m, rotation.x, [at = moved(from)](const Tensor& x) { return ElementsFrom(x, x.shape(), at); });
    if (m == c.member) {
      proposal.reads = change.reads;
    } else {
      proposal.changes.push_back(std::move(change));
    }
  }
  return proposal;
}

// Row elements whose place `turned` names with the other sign, before and behind: the angles negated.
Proposal TurnedBack(const ProposalContext& c, const Rotation& rotation, bool interleaved) {
  const Shape& shape = c.blobs.at(rotation.x).shape;
  const int64_t size = shape[shape.rank() - 1];
  const auto negated = [size, interleaved](Tensor* tensor) {
    int64_t i = 0;
    ForEachReal(tensor, [&](double v) {
      const int64_t at = i++ % size;
      return (interleaved ? at % 2 != 0 : at >= size / 2) ? -v : v;
    });
  };
  // Where the turned half is put together first, a subtraction explains as much.
  Proposal proposal{"with its pairs turned the other way (the sine's sign)", "otherwise", c.layer, {}, "operator"};
  proposal.writes = [negated](Tensor* values, Tensor*) { negated(values); };
  for (const size_t m : rotation.members) {
    const Layer& layer = *c.group.members[m];
    if (std::count(layer.inputs.begin(), layer.inputs.end(), rotation.x) == 0) continue;
    // Of bounds, too, whose sign does not matter: they are squared.
    proposal.changes.push_back(Reading(layer, m, rotation.x, [negated](const Tensor& x) -> Result<Tensor> {
      PLUMB_ASSIGN_OR_RETURN(Tensor turned, x.Clone());
      negated(&turned);
      return turned;
    }));
  }
  return proposal;
}

// Every table of the rotation one place further or earlier, for it alone or for all that read these tables.
Proposal OtherPlaces(const ProposalContext& c, const Rotation& rotation, int64_t by, bool all) {
  Proposal proposal{fmt::format("with rotary angles of the place {}{}", by > 0 ? "behind" : "before",
                                all ? ", for queries and keys" : ""),
                    "its own",
                    c.layer,
                    {},
                    "rotary"};
  const Shape& shape = c.blobs.at(rotation.x).shape;
  proposal.writes = WidenedAtEnd(shape[shape.rank() - 2], shape[shape.rank() - 1], by);
  for (size_t m = 0; m < c.group.members.size(); ++m) {
    const Layer& layer = *c.group.members[m];
    if (!all && rotation.members.count(m) == 0) continue;
    for (const std::string& table : rotation.tables) {
      if (std::count(layer.inputs.begin(), layer.inputs.end(), table) == 0) continue;
      MemberChange change = Reading(layer, m, table, [by](const Tensor& values) { return NextPlaces(values, by); });
      if (m == c.member) {
        proposal.reads = change.reads;
      } else {
        proposal.changes.push_back(std::move(change));
      }
    }
  }
  return proposal;
}

}  // namespace

int PlacesOf(const Shape& table) {
  for (int axis = table.rank() - 2; axis >= 0; --axis) {
    if (table[axis] > 1) return axis;
  }
  return -1;
}

Result<Tensor> NextPlaces(const Tensor& table, int64_t by) {
  const int axis = PlacesOf(table.shape());
  if (axis < 0 || table.shape()[axis] < 3 || (table.dtype() != DType::kF64 && table.dtype() != DType::kF32))
    return Status::NotSupported("no table of places");
  const int64_t size = table.shape()[axis], inner = table.shape().CountFrom(axis + 1);
  PLUMB_ASSIGN_OR_RETURN(Tensor wide, table.ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(Tensor moved, Tensor::Create(DType::kF64, table.shape()));
  const double* from = wide.data<double>();
  for (int64_t i = 0; i < moved.NumElements(); ++i) {
    const int64_t at = i / inner % size, next = at + by;
    double& value = moved.data<double>()[i];
    if (next >= 0 && next < size) {
      value = from[i + by * inner];
      continue;
    }
    // From the three rows at this end, weighted so that none is divided by next to nothing.
    const double a = from[i], b = from[i - by * inner], z = from[i - 2 * by * inner];
    value = std::fabs(b) > 1e-3 ? (a + z) / b * a - b : 2 * a - b;
  }
  return moved.ConvertedTo(table.dtype());
}

std::function<void(Tensor*, Tensor*)> WidenedAtEnd(int64_t places, int64_t inner, int64_t by) {
  return [=](Tensor* values, Tensor* tau) {
    if (tau == nullptr || values->dtype() != DType::kF64) return;
    for (int64_t i = 0; i < tau->NumElements(); ++i) {
      if (i / inner % places != (by > 0 ? places - 1 : 0)) continue;
      tau->data<double>()[i] = std::hypot(tau->data<double>()[i], 0x1p-16 * (1 + std::fabs(values->data<double>()[i])));
    }
  };
}

void ProposeForRotary(const ProposalContext& c, Proposals* proposals) {
  constexpr size_t kFewest = 5;  // members that spell a rotation
  const OpKind kind = c.layer.kind;
  const bool joins = kind == OpKind::kAdd || kind == OpKind::kConcat || kind == OpKind::kReshape;
  if (!joins || c.group.members.size() < kFewest || !c.cheap) return;
  const Shape& shape = c.blobs.at(c.layer.outputs[0]).shape;
  const int64_t size = shape.rank() < 2 ? 0 : shape[shape.rank() - 1], half = size / 2;
  if (half < 2 || size % 2 != 0) return;
  const auto even = [half](int64_t i) { return i < half ? 2 * i : 2 * (i - half) + 1; };
  const auto split = [half](int64_t i) { return i / 2 + i % 2 * half; };
  for (const Rotation& rotation : RotationFinder(c).Find()) {
    proposals->push_back(
        Conjugated(c, rotation, "with pairs side by side (interleaved) turned, not halves", even, split));
    proposals->push_back(
        Conjugated(c, rotation, "with halves turned, not pairs side by side (interleaved)", split, even));
    for (const bool interleaved : {false, true}) proposals->push_back(TurnedBack(c, rotation, interleaved));
    for (const int64_t by : {1, -1}) {
      proposals->push_back(OtherPlaces(c, rotation, by, false));
      proposals->push_back(OtherPlaces(c, rotation, by, true));
    }
  }
}

}  // namespace plumb
