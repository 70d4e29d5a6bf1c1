// SPDX-License-Identifier: Apache-2.0
// Proposals for rotary embeddings whose angles are those of another base: tables of cos(place base^(-2 j / size)) and
// of sines, wherever a product reads them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/text.h"
#include "check/cause/known_ways_util.h"

namespace plumb {
namespace {

// How a table's entries say which pair they turn.
struct AngleTable {
  enum Layout { kPairs, kHalves, kOnce };  // pairs side by side, halves, each pair once
  bool sine = false;
  Layout layout = kOnce;
  double base = 0;
  int64_t places = 0, entries = 0, first = 0;  // first: the place of the first row

  double At(int64_t row, int64_t entry, double of_base) const {
    const int64_t half = entries / 2, size = layout == kOnce ? 2 * entries : entries;
    const int64_t pair = layout == kPairs ? entry / 2 : layout == kHalves ? entry % half : entry;
    const double frequency = std::pow(of_base, -2.0 * static_cast<double>(pair) / static_cast<double>(size));
    const double angle = static_cast<double>(first + row) * frequency;
    return sine ? std::sin(angle) : std::cos(angle);
  }
};

bool HoldsAngles(const AngleTable& table, const Tensor& values) {
  constexpr double kSame = 1e-3;  // angles in f32 of a few thousand places
  const int64_t inner = table.entries, rows = table.places;
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    if (std::fabs(values.ValueAt(i) - table.At(i / inner % rows, i % inner, table.base)) > kSame) return false;
  }
  return true;
}

std::optional<AngleTable> AngleTableOf(const Tensor& values) {
  const int axis = IsFloat(values.dtype()) ? PlacesOf(values.shape()) : -1;
  if (axis < 0) return std::nullopt;
  AngleTable table;
  table.places = values.shape()[axis], table.entries = values.shape().CountFrom(axis + 1);
  if (table.places < 3 || table.entries < 2 || values.shape().rank() == 0) return std::nullopt;
  for (const bool sine : {false, true}) {
    for (const auto layout : {AngleTable::kHalves, AngleTable::kPairs, AngleTable::kOnce}) {
      for (const int64_t first : {0, 1}) {
        table.sine = sine, table.layout = layout, table.first = first;
        const int64_t second = layout == AngleTable::kPairs ? 2 : 1, row = 1 - first;
        if (layout != AngleTable::kOnce && (table.entries % 2 != 0 || table.entries < 4)) continue;
        const double at = values.ValueAt(row * table.entries + second);  // of place 1 and pair 1
        const double frequency = sine ? std::asin(at) : std::acos(at);
        const double size = static_cast<double>(layout == AngleTable::kOnce ? 2 * table.entries : table.entries);
        if (!(frequency > 0 && frequency < 1)) continue;
        const double found = std::pow(frequency, -size / 2);
        for (const int digits : {1, 2, 3, 6}) {
          table.base = std::strtod(Number(found, digits).c_str(), nullptr);
          if (table.base > 1 && HoldsAngles(table, values)) return table;
        }
      }
    }
  }
  return std::nullopt;
}

Result<Tensor> OfBase(const AngleTable& table, const Tensor& values, double base) {
  PLUMB_ASSIGN_OR_RETURN(Tensor other, values.Clone());
  for (int64_t i = 0; i < other.NumElements(); ++i) {
    const auto angle = static_cast<float>(table.At(i / table.entries % table.places, i % table.entries, base));
    if (other.dtype() == DType::kF64) other.data<double>()[i] = static_cast<double>(angle);
    if (other.dtype() == DType::kF32) other.data<float>()[i] = angle;
  }
  return other;
}

// Every table of angles that the step reads, by blob.
std::map<std::string, AngleTable> TablesOf(const ProposalContext& c) {
  std::map<std::string, AngleTable> tables;
  for (const Layer* member : c.group.members) {
    for (const std::string& blob : member->inputs) {
      const Tensor& value = c.blobs.at(blob).value;
      const auto table = value.empty() || member->kind != OpKind::kMul ? std::nullopt : AngleTableOf(value);
      if (table.has_value()) tables[blob] = *table;
    }
  }
  return tables;
}

// A product that reads one of the tables reads that of another base.
MemberChange ReadingBase(const Layer& layer, size_t member, const std::map<std::string, AngleTable>& tables,
                         double base) {
  MemberChange change;
  change.member = static_cast<int>(member);
  change.reads = [inputs = layer.inputs, tables, base](size_t slot, const Tensor& input) -> Result<Tensor> {
    const auto table = tables.find(inputs[slot]);
    if (table == tables.end() || !IsFloat(input.dtype())) return input;
    return OfBase(table->second, input, base);
  };
  return change;
}

// Of products that hold theirs, by member.
std::map<size_t, AngleTable> ConstantsOf(const ProposalContext& c) {
  std::map<size_t, AngleTable> constants;
  for (size_t m = 0; m < c.group.members.size(); ++m) {
    const Tensor* own = c.group.members[m]->kind == OpKind::kMul ? c.group.members[m]->Resource("element") : nullptr;
    const auto table = own == nullptr ? std::nullopt : AngleTableOf(*own);
    if (table.has_value()) constants[m] = *table;
  }
  return constants;
}

// Angles in f32, of so many radians.
std::function<void(Tensor*, Tensor*)> WidenedBy(double places) {
  return [width = 8 * 0x1p-24 * places](Tensor* values, Tensor* tau) {
    if (tau == nullptr || values->dtype() != DType::kF64) return;
    double largest = 0;
    for (int64_t i = 0; i < values->NumElements(); ++i)
      largest = std::max(largest, std::fabs(values->data<double>()[i]));
    ForEachReal(tau, [&](double t) { return std::hypot(t, width * largest); });
  };
}

struct StepTables {
  std::map<std::string, AngleTable> read;
  std::map<size_t, AngleTable> constant;
  const AngleTable& first() const { return read.empty() ? constant.begin()->second : read.begin()->second; }
};

Proposal WithBase(const ProposalContext& c, const StepTables& tables, double base) {
  const AngleTable& own = tables.first();
  Proposal proposal{fmt::format("with RoPE's base {}", Number(base, 6)), Number(own.base, 6), c.layer, {}, "base"};
  proposal.writes = WidenedBy(static_cast<double>(own.places));
  for (size_t m = 0; m < c.group.members.size(); ++m) {
    const Layer& member = *c.group.members[m];
    if (member.kind != OpKind::kMul) continue;
    const auto constant = tables.constant.find(m);
    if (constant != tables.constant.end()) {
      const auto other = OfBase(constant->second, *member.Resource("element"), base);
      if (!other.ok()) continue;
      Layer altered = member;
      altered.resources["element"] = *other;
      if (m == c.member) {
        proposal.layer = std::move(altered);
      } else {
        proposal.also.emplace_back(m, std::move(altered));
      }
      continue;
    }
    MemberChange change = ReadingBase(member, m, tables.read, base);
    if (m == c.member) {
      proposal.reads = change.reads;
    } else {
      proposal.changes.push_back(std::move(change));
    }
  }
  return proposal;
}

}  // namespace

void ProposeForBases(const ProposalContext& c, Proposals* proposals) {
  constexpr double kBases[] = {1e4, 5e5, 1e6, 1e5, 1e7, 5e6, 1.6e5, 2.5e4, 1e3};
  const bool last = c.member + 1 == c.group.members.size();
  if (!last || !c.cheap) return;  // once per step
  const StepTables tables{TablesOf(c), ConstantsOf(c)};
  if (tables.read.empty() && tables.constant.empty()) return;
  for (const double base : kBases) {
    if (base != tables.first().base) proposals->push_back(WithBase(c, tables, base));
  }
}

}  // namespace plumb
