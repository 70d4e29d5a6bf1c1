// SPDX-License-Identifier: Apache-2.0
// ChooseKernels: the first kernel of the list that supports a group; every refusal is kept for the report.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"
#include "runtime/plan.h"

namespace plumb {
namespace {

std::unique_ptr<KernelSpec> MakeSpec(const LayerGroup& group, const Plan& plan) {
  auto spec = std::make_unique<KernelSpec>(
      KernelSpec{group, {}, {}, plan.device.get(), plan.options.precision, &plan.blobs, {}, plan.options.direct});
  for (const auto& port : group.inputs) spec->inputs.push_back(plan.blobs.at(port.blob));
  for (const auto& port : group.outputs) spec->outputs.push_back(plan.blobs.at(port.blob));
  return spec;
}

void FillInfo(Step* step) {
  const LayerGroup& group = step->group;
  GroupedStep& info = step->info;
  info.index = group.last().index;
  info.name = group.last().name;
  info.type = group.last().type;
  info.group = &group;
  for (const Layer* member : group.members) info.members.push_back(MemberOf(*member));
  for (size_t i = 0; i < group.inputs.size(); ++i)
    info.inputs.push_back(PortOf(group, group.inputs[i], step->spec->inputs[i]));
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    info.outputs.push_back(PortOf(group, group.outputs[i], step->spec->outputs[i]));
  }
}

// `asked`: the only name that will do, or null.
const KernelRow* FindRow(const std::vector<KernelRow>& rows, const KernelSpec& spec, const std::string* asked,
                         std::vector<std::string>* refusals) {
  for (const KernelRow& row : rows) {
    if (row.op != spec.layer().kind || (asked != nullptr && *asked != row.name)) continue;
    const Status status = row.supports(spec);
    if (status.ok()) return &row;
    refusals->push_back(fmt::format("{}: {}", row.name, status.message()));
  }
  return nullptr;
}

// The kernel that NetworkOptions::kernels names for one of the group's layers, or nullptr.
const std::string* AskedKernel(const Plan& plan, const LayerGroup& group) {
  for (const Layer* member : group.members) {
    const auto asked = plan.options.kernels.find(member->name);
    if (asked != plan.options.kernels.end()) return &asked->second;
  }
  return nullptr;
}

// True when a kernel of the network's own device was found.
bool TryOwnKernels(const Plan& plan, Step* step) {
  const std::string* asked = AskedKernel(plan, step->group);
  const KernelRow* row = FindRow(plan.device->kernels_in_front, *step->spec, asked, &step->info.refusals);
  if (row == nullptr) row = FindRow(plan.device->kernels(), *step->spec, asked, &step->info.refusals);
  if (row == nullptr) return false;
  step->kernel = plan.device->InPrecision(*step->spec, row->create(*step->spec));
  step->info.device = plan.device->name();
  step->info.kernel = fmt::format("{}/{}", Lower(plan.device->name()), row->name);
  return true;
}

// Why the kernel that was asked for cannot compute the step; OK where it is that of another of the group's layers.
Status RefuseAsked(const Plan& plan, const Step& step, const std::string& asked) {
  std::vector<std::string> names;
  for (const Layer* member : step.group.members) {
    for (const KernelRow& row : plan.device->kernels()) {
      const bool known = std::find(names.begin(), names.end(), row.name) != names.end();
      if (row.op == member->kind && !known) names.emplace_back(row.name);
    }
  }
  const std::string frame = LayerFrame(step.group.last());
  if (std::find(names.begin(), names.end(), asked) == names.end())
    return Status::InvalidArgument(
        UnknownWord(fmt::format("{}: kernel of {}", frame, plan.device->name()), asked, names));
  if (step.info.refusals.empty()) return Status::Ok();
  return Status::NotSupported(
      fmt::format("{}: the kernel that was asked for refuses: {}", frame, step.info.refusals.back()));
}

// Why kernels that were asked for cannot be, by their names in the options; of a smaller group the reason is nearer.
using Refused = std::map<const std::string*, Status>;

// Nobody computes all of the group: the longest beginning that a kernel of the device takes, and the rest.
std::vector<LayerGroup> SplitGroup(const Plan& plan, const LayerGroup& group, Refused* refused) {
  const std::vector<const Layer*>& members = group.members;
  size_t count = members.size() - 1;
  for (; count > 1; --count) {
    Step step;
    step.group = GroupOfLayers({members.begin(), members.begin() + static_cast<ptrdiff_t>(count)});
    step.spec = MakeSpec(step.group, plan);
    if (TryOwnKernels(plan, &step)) break;
    const std::string* asked = AskedKernel(plan, step.group);
    const Status refusal = asked == nullptr ? Status::Ok() : RefuseAsked(plan, step, *asked);
    if (refusal.code() == StatusCode::kNotSupported) (*refused)[asked] = refusal;
  }
  const auto cut = members.begin() + static_cast<ptrdiff_t>(count);
  return {GroupOfLayers({members.begin(), cut}), GroupOfLayers({cut, members.end()})};
}

Status CheckAskedLayers(const Plan& plan) {
  std::vector<std::string> names;
  for (const Layer& layer : plan.graph->layers) names.push_back(layer.name);
  for (const auto& [layer, kernel] : plan.options.kernels) {
    if (std::find(names.begin(), names.end(), layer) != names.end()) continue;
    return Status::InvalidArgument(fmt::format(
        "kernel '{}' was asked for layer '{}', which no device computes: model '{}' has no such layer, or its values "
        "follow from the shapes alone{}",
        kernel, layer, plan.graph->source, DidYouMean(layer, names)));
  }
  return Status::Ok();
}

bool TryFallback(const Plan& plan, Step* step) {
  if (plan.fallback == nullptr) return false;
  std::vector<std::string> refusals;
  const KernelRow* row = FindRow(plan.fallback->kernels(), *step->spec, nullptr, &refusals);
  if (row == nullptr) return false;
  step->kernel = CreateFallbackKernel(*step->spec, *row, plan.fallback);
  step->info.device = plan.fallback->name();
  step->info.kernel = fmt::format("{}/{}", Lower(plan.fallback->name()), row->name);
  step->info.fallback = true;
  return true;
}

std::unique_ptr<Step> MakeStep(LayerGroup group, const Plan& plan) {
  auto step = std::make_unique<Step>();
  step->group = std::move(group);
  step->spec = MakeSpec(step->group, plan);
  return step;
}

// "X86 layer 4 'relu2' (Convolution+ReLU): x86/convolution_blocked; refused winograd: needs stride 1".
void LogChoice(const Plan& plan, const Step& step) {
  if (!Logs(LogLevel::kDebug)) return;
  std::string types;
  for (const Layer* member : step.group.members) types += (types.empty() ? "" : "+") + member->type;
  std::string text = fmt::format("{} layer {} '{}' ({}): ", plan.device->name(), step.group.last().index,
                                 step.group.last().name, types);
  text += step.info.kernel.empty() ? "no kernel" : step.info.kernel;
  for (const std::string& refusal : step.info.refusals) text += "; refused " + refusal;
  Log(LogLevel::kDebug, text);
}

}  // namespace

std::string LayerFrame(const Layer& layer) {
  return fmt::format("layer {} '{}' ({})", layer.index, Printable(layer.name), Printable(layer.type));
}

std::vector<LayerSupport> FindSupport(const Graph& graph, const BlobTable& blobs, Device& device) {
  std::vector<LayerSupport> support;
  for (const Layer& layer : graph.layers) {
    const LayerGroup group = SingleGroup(layer);
    KernelSpec spec{group, {}, {}, &device, Precision::kHigh, &blobs, {}};
    for (const auto& port : group.inputs) spec.inputs.push_back(blobs.at(port.blob));
    for (const auto& port : group.outputs) spec.outputs.push_back(blobs.at(port.blob));
    LayerSupport entry;
    const KernelRow* row = FindRow(device.kernels(), spec, nullptr, &entry.refusals);
    if (row != nullptr) entry.kernel = fmt::format("{}/{}", Lower(device.name()), row->name);
    support.push_back(std::move(entry));
  }
  return support;
}

std::vector<LackingKernel> LackingKernels(const Graph& graph, const BlobTable& blobs, Device& device) {
  std::vector<LackingKernel> lacking;
  const std::vector<LayerSupport> support = FindSupport(graph, blobs, device);
  for (size_t i = 0; i < support.size(); ++i) {
    if (!support[i].kernel.empty()) continue;
    const Layer& layer = graph.layers[i];
    std::string reason;
    for (const std::string& refusal : support[i].refusals) reason += (reason.empty() ? "" : "; ") + refusal;
    lacking.push_back({layer.index, layer.name, layer.type, reason.empty() ? "no kernel for this operator" : reason});
  }
  return lacking;
}

std::string DescribeLacking(const std::string& device, const Graph& graph, const std::vector<LackingKernel>& lacking) {
  constexpr size_t kShown = 3;
  std::string text = fmt::format("{} has no kernel for {} of {} layers: ", device, lacking.size(), graph.layers.size());
  for (size_t i = 0; i < std::min(lacking.size(), kShown); ++i) {
    char index[16];
    std::snprintf(index, sizeof(index), "%05d", lacking[i].index);
    text += fmt::format("{}{} '{}' ({}): {}", i == 0 ? "" : "; ", index, lacking[i].layer, lacking[i].type,
                        lacking[i].reason);
  }
  return text + (lacking.size() > kShown ? fmt::format("; and {} more", lacking.size() - kShown) : "");
}

Status ChooseKernels(std::vector<LayerGroup> groups, Plan* plan) {
  PLUMB_RETURN_IF_ERROR(CheckAskedLayers(*plan));
  std::string missing;
  int count = 0;
  Refused refused;
  for (size_t g = 0; g < groups.size(); ++g) {
    auto step = MakeStep(std::move(groups[g]), *plan);
    const bool found = TryOwnKernels(*plan, step.get());
    if (!found && step->group.members.size() > 1) LogChoice(*plan, *step);
    if (!found) {
      const std::string* asked = AskedKernel(*plan, step->group);
      if (asked != nullptr) {
        Status refusal = RefuseAsked(*plan, *step, *asked);
        const bool unknown = refusal.code() == StatusCode::kInvalidArgument;
        if (unknown && refused.count(asked) == 0) return refusal;
        if (!refusal.ok() && !unknown) refused[asked] = std::move(refusal);
        if (step->group.members.size() == 1 && refused.count(asked) != 0) return refused[asked];
      }
      if (step->group.members.size() > 1) {
        std::vector<LayerGroup> parts = SplitGroup(*plan, step->group, &refused);
        groups.insert(groups.begin() + static_cast<ptrdiff_t>(g) + 1, std::make_move_iterator(parts.begin()),
                      std::make_move_iterator(parts.end()));
        continue;
      }
      if (!TryFallback(*plan, step.get())) {
        LogChoice(*plan, *step);
        ++count;
        missing += "\n  " + LayerFrame(step->group.last());
        for (const std::string& refusal : step->info.refusals) missing += "\n    " + refusal;
        if (step->info.refusals.empty()) missing += ": no kernel for this operator";
        continue;
      }
    }
    FillInfo(step.get());
    LogChoice(*plan, *step);
    plan->steps.push_back(std::move(step));
  }
  if (count == 0) return Status::Ok();
  return Status::NotSupported(
      fmt::format("device {} lacks a kernel for {}{} of model '{}' (NetworkOptions::fallback lets NAIVE run them):{}",
                  plan->device->name(), count, count == 1 ? " layer" : " layers", plan->graph->source, missing));
}

}  // namespace plumb
