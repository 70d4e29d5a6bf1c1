// SPDX-License-Identifier: Apache-2.0
#include "plumb/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "check/cause/signature_order.h"
#include "check/core/metrics.h"
#include "dump/reader.h"
#include "dump/statistics.h"
#include "interop/pairing.h"
#include "interop/tensor_set.h"

namespace plumb {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

std::string PlaceName(const BlobPlace& place) {
  char index[16];
  std::snprintf(index, sizeof(index), "%05d ", place.layer_index);
  return fmt::format("{}{}{}{} '{}'", index, place.layer, place.output ? " out " : " in ", place.slot, place.blob);
}

// Integers side by side are both made i64, so that no difference is lost; other pairs of unequal types meet in float64.
Status MakeAlike(Tensor* a, Tensor* b) {
  if (a->dtype() == b->dtype() && (a->dtype() == DType::kF32 || a->dtype() == DType::kI64)) return Status::Ok();
  const DType wide = IsFloat(a->dtype()) || IsFloat(b->dtype()) ? DType::kF64 : DType::kI64;
  PLUMB_ASSIGN_OR_RETURN(*a, a->ConvertedTo(wide));
  PLUMB_ASSIGN_OR_RETURN(*b, b->ConvertedTo(wide));
  return Status::Ok();
}

void Describe(const Tensor& tensor, DiffSide* side) {
  const Statistics values = ComputeStatistics(tensor);
  side->dtype = tensor.dtype();
  side->shape = tensor.shape();
  side->finite = values.finite;
  side->nans = values.nans;
  side->infinities = values.infinities;
  side->min = values.min;
  side->max = values.max;
  side->mean = values.mean;
}

// In which order of A's axes B's memory holds A's values: NHWC for NCHW; "" when in none.
std::string OrderOf(const Tensor& a, const Tensor& b) {
  const auto x = b.ConvertedTo(DType::kF64), y = a.ConvertedTo(DType::kF64);
  if (!x.ok() || !y.ok() || a.NumElements() != b.NumElements()) return "";
  WrongOutput output{a.shape(), {}, {}};
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    output.x.push_back(x->data<double>()[i]);
    output.y.push_back(y->data<double>()[i]);
    output.largest = std::max(output.largest, std::fabs(output.y.back()));
    output.error = std::max(output.error, std::fabs(output.x.back() - output.y.back()));
    if (!std::isfinite(output.x.back()) || !std::isfinite(output.y.back())) return "";
  }
  return DescribeAxes(output);
}

void Judge(const ComparisonRule& rule, Tensor a, Tensor b, DiffPair* pair) {
  Describe(a, &pair->a);
  Describe(b, &pair->b);
  const Status alike = MakeAlike(&a, &b);
  auto result = alike.ok() ? CompareByRule(rule, a, b) : Result<ComparisonResult>(alike);
  if (!result.ok()) {
    pair->verdict = Verdict::kWrong;
    pair->reason = result.status().message();
    return;
  }
  pair->result = std::move(result).value();
  pair->reason = pair->result.reason;
  const DifferenceSums sums = SumDifferences(a, b);
  pair->sum_diff = sums.sum;
  pair->sum_abs_diff = sums.sum_abs;
  if (a.NumElements() == 0) {
    pair->reason = "no values";
    return;
  }
  pair->verdict = pair->result.pass ? Verdict::kAligned : Verdict::kWrong;
  if (a.shape() == b.shape()) return;
  const std::string shapes = fmt::format("shapes differ: {} in A, {} in B", a.shape().ToString(), b.shape().ToString());
  if (pair->result.pass) {
    pair->reason = shapes;
    return;
  }
  const std::string order = OrderOf(a, b);
  pair->reason = fmt::format("{}, {}; {}", shapes, order.empty() ? "compared in memory's order" : order, pair->reason);
}

void NoteIncomplete(const DumpReader& reader, DiffReport* report) {
  if (!reader.has_manifest() || reader.manifest().complete) return;
  const auto& errors = reader.manifest().errors;
  report->notes.push_back(
      fmt::format("the dump in '{}' is incomplete{}", reader.folder(), errors.empty() ? "" : ": " + errors[0]));
}

// "00001 bn out 0 'y'", and why the other dump has it not.
std::string Unpaired(const DumpEntry& entry, const DumpReader& other) {
  std::string text = PlaceName(entry.place);
  for (const AbsentBlob& absent : other.manifest().absent) {
    const BlobPlace& p = absent.place;
    if (p.layer != entry.place.layer || p.blob != entry.place.blob || p.output != entry.place.output) continue;
    if (absent.fused_into >= 0)
      return fmt::format("{} (the other side fused it into '{}')", text, absent.fused_into_name);
    return fmt::format("{} ({})", text, absent.reason);
  }
  return text;
}

// Blobs that layers read and none writes, as far as the dump tells: one of inputs only tells it of its first layer's.
std::set<std::string> InputsOf(const DumpReader& reader) {
  std::set<std::string> written, inputs;
  int first = INT_MAX;
  for (const DumpEntry& entry : reader.entries()) {
    if (entry.place.output)
      written.insert(entry.place.blob);
    else
      first = std::min(first, entry.place.layer_index);
  }
  for (const AbsentBlob& absent : reader.manifest().absent) {
    if (absent.place.output) written.insert(absent.place.blob);
  }
  for (const DumpEntry& entry : reader.entries()) {
    if (entry.place.output || written.count(entry.place.blob) != 0) continue;
    if (!written.empty() || entry.place.layer_index == first) inputs.insert(entry.place.blob);
  }
  return inputs;
}

Status CompareFolders(const DiffOptions& options, DiffReport* report) {
  PLUMB_ASSIGN_OR_RETURN(const DumpReader a, DumpReader::Open(report->a));
  PLUMB_ASSIGN_OR_RETURN(const DumpReader b, DumpReader::Open(report->b));
  NoteIncomplete(a, report);
  NoteIncomplete(b, report);
  const Pairing pairing = PairBlobs(a.entries(), b.entries());
  const std::set<std::string> inputs_a = InputsOf(a), inputs_b = InputsOf(b);
  for (const auto& [i, j] : pairing.pairs) {
    const DumpEntry& from_a = a.entries()[i];
    const DumpEntry& from_b = b.entries()[j];
    DiffPair pair;
    const BlobPlace& place = from_a.place;
    pair.has_layer = true;
    pair.layer_index = place.layer_index;
    pair.layer = place.layer;
    pair.type = place.type;
    pair.output = place.output;
    pair.slot = place.slot;
    pair.blob = place.blob;
    pair.network_input = inputs_a.count(from_a.place.blob) != 0 && inputs_b.count(from_b.place.blob) != 0;
    pair.a.path = from_a.path;
    pair.b.path = from_b.path;
    pair.a.shape = from_a.shape;
    pair.b.shape = from_b.shape;
    if (from_a.path.empty() || from_b.path.empty()) {
      pair.reason = "statistics only";
    } else {
      PLUMB_ASSIGN_OR_RETURN(const Tensor tensor_a, DumpReader::Load(from_a));
      PLUMB_ASSIGN_OR_RETURN(const Tensor tensor_b, DumpReader::Load(from_b));
      Judge(report->rule, tensor_a, tensor_b, &pair);
    }
    report->pairs.push_back(std::move(pair));
    if (options.progress) options.progress(report->pairs.size(), pairing.pairs.size());
  }
  for (size_t i : pairing.only_a) report->only_a.push_back(Unpaired(a.entries()[i], b));
  for (size_t j : pairing.only_b) report->only_b.push_back(Unpaired(b.entries()[j], a));
  return Status::Ok();
}

bool SaysItsDtype(const std::string& path) {
  return EndsWith(path, ".npy") || EndsWith(path, ".npz") || EndsWith(path, ".npy.zst");
}

// Raw files and plain text take dtype and shape from the other side when the user gave none.
Status ReadFiles(const TensorHints& hints, const DiffReport& report, std::vector<NamedTensor>* a,
                 std::vector<NamedTensor>* b) {
  const bool a_first = SaysItsDtype(report.a) || !SaysItsDtype(report.b);
  std::vector<NamedTensor>* first = a_first ? a : b;
  std::vector<NamedTensor>* second = a_first ? b : a;
  PLUMB_ASSIGN_OR_RETURN(*first, ReadTensors(a_first ? report.a : report.b, hints));
  TensorHints guided = hints;
  if (first->size() == 1) {
    if (!guided.dtype) guided.dtype = (*first)[0].tensor.dtype();
    if (!guided.shape) guided.shape = (*first)[0].tensor.shape();
  }
  const std::string& path = a_first ? report.b : report.a;
  auto tensors = ReadTensors(path, guided);
  if (!tensors.ok() && !SaysItsDtype(path)) tensors = ReadTensors(path, hints);  // its own count or numbers, then
  if (!tensors.ok()) return tensors.status();
  *second = std::move(tensors).value();
  return Status::Ok();
}

Status CompareFiles(const TensorHints& hints, DiffReport* report) {
  std::vector<NamedTensor> a, b;
  PLUMB_RETURN_IF_ERROR(ReadFiles(hints, *report, &a, &b));
  std::map<std::string, size_t> in_b;
  for (size_t j = 0; j < b.size(); ++j) in_b[b[j].name] = j;
  const bool alone = a.size() == 1 && b.size() == 1;
  for (const NamedTensor& tensor : a) {
    const auto it = alone ? in_b.begin() : in_b.find(tensor.name);
    if (it == in_b.end()) {
      report->only_a.push_back(fmt::format("'{}'", tensor.name));
      continue;
    }
    DiffPair pair;
    pair.blob = tensor.name;
    pair.a.path = report->a;
    pair.b.path = report->b;
    Judge(report->rule, tensor.tensor, b[it->second].tensor, &pair);
    in_b.erase(it);
    report->pairs.push_back(std::move(pair));
  }
  for (const auto& [name, j] : in_b) report->only_b.push_back(fmt::format("'{}'", name));
  return Status::Ok();
}

// Any two sets of named tensors: a dump and an .npz, a folder of .npy and a dump.
Status CompareSets(const DiffOptions& options, DiffReport* report) {
  PLUMB_ASSIGN_OR_RETURN(const TensorSet a, TensorSet::Open(report->a));
  PLUMB_ASSIGN_OR_RETURN(const TensorSet b, TensorSet::Open(report->b));
  std::vector<std::string> names_a, names_b;
  for (const StoredTensor& tensor : a.tensors()) names_a.push_back(tensor.name);
  for (const StoredTensor& tensor : b.tensors()) names_b.push_back(tensor.name);
  PLUMB_ASSIGN_OR_RETURN(const NamePairing pairing,
                         PairNames(names_a, names_b, {options.names, options.pair_by_order}));
  for (const auto& [i, j] : pairing.by_order)
    report->notes.push_back(fmt::format("paired by order only, as asked: '{}' = '{}'", names_a[i], names_b[j]));
  // A plain set of tensors does not know; a dump knows what layers wrote.
  const auto knows = [](const TensorSet& set) {
    return std::any_of(set.tensors().begin(), set.tensors().end(),
                       [](const StoredTensor& tensor) { return !tensor.is_input; });
  };
  const bool known = knows(a) || knows(b);
  for (const auto& [i, j] : pairing.pairs) {
    DiffPair pair;
    pair.network_input = known && a.tensors()[i].is_input && b.tensors()[j].is_input;
    pair.blob = names_a[i];
    pair.a.path = a.tensors()[i].origin;
    pair.b.path = b.tensors()[j].origin;
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor_a, a.tensors()[i].load());
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor_b, b.tensors()[j].load());
    Judge(report->rule, tensor_a, tensor_b, &pair);
    report->pairs.push_back(std::move(pair));
    if (options.progress) options.progress(report->pairs.size(), pairing.pairs.size());
  }
  for (size_t i : pairing.only_a) report->only_a.push_back(fmt::format("'{}'", names_a[i]));
  for (size_t j : pairing.only_b) report->only_b.push_back(fmt::format("'{}'", names_b[j]));
  return Status::Ok();
}

// Ours by its manifest, TNN's by its file names.
bool IsDump(const std::string& path) {
  const auto reader = DumpReader::Open(path);
  return reader.ok() || reader.status().code() != StatusCode::kNotFound;
}

}  // namespace

std::string DiffPair::Name() const {
  if (has_layer) return PlaceName({layer_index, layer, type, output, slot, blob});
  return blob.empty() ? "(tensor)" : fmt::format("'{}'", blob);
}

int DiffReport::Count(Verdict which) const {
  int count = 0;
  for (const DiffPair& pair : pairs) count += pair.verdict == which;
  return count;
}

const DiffPair* DiffReport::FirstWrong() const {
  for (const DiffPair& pair : pairs) {
    if (pair.verdict == Verdict::kWrong) return &pair;
  }
  return nullptr;
}

std::vector<const DiffPair*> DiffReport::DifferentInputs() const {
  std::vector<const DiffPair*> inputs;
  for (const DiffPair& pair : pairs) {
    const bool again =
        std::any_of(inputs.begin(), inputs.end(), [&](const DiffPair* p) { return p->blob == pair.blob; });
    if (pair.network_input && pair.verdict == Verdict::kWrong && !again) inputs.push_back(&pair);
  }
  return inputs;
}

Result<DiffReport> DiffDumps(const std::string& a, const std::string& b, const DiffOptions& options) {
  for (const std::string& side : {a, b}) {
    std::error_code error;
    if (!std::filesystem::exists(side, error))
      return Status::NotFound(fmt::format("there is no file or folder '{}'", side));
  }
  PLUMB_RETURN_IF_ERROR(options.rule.CheckTolerances());
  DiffReport report;
  report.a = a;
  report.b = b;
  report.rule = options.rule;
  const bool named = !options.names.empty() || options.pair_by_order;
  if (!named && !IsFolder(a) && !IsFolder(b)) {
    PLUMB_RETURN_IF_ERROR(CompareFiles(options.hints, &report));
  } else if (!named && IsFolder(a) && IsFolder(b) && IsDump(a) && IsDump(b)) {
    PLUMB_RETURN_IF_ERROR(CompareFolders(options, &report));
  } else {
    PLUMB_RETURN_IF_ERROR(CompareSets(options, &report));
  }
  if (report.Count(Verdict::kWrong) > 0) {
    report.verdict = Verdict::kWrong;
  } else if (report.Count(Verdict::kAligned) > 0) {
    report.verdict = Verdict::kAligned;
  }
  return report;
}

}  // namespace plumb
