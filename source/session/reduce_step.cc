// SPDX-License-Identifier: Apache-2.0
#include "session/reduce_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/text.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr double kLeastSeconds = 0.2;  // that a try is begun with
constexpr double kClearExcess = 8;     // twice what is wrong

double ExcessOf(const LayerReport& layer) {
  const OutputReport* worst = layer.Worst();
  if (worst == nullptr) return 0;
  return std::isnan(worst->excess) ? std::numeric_limits<double>::infinity() : worst->excess;
}

std::string OutcomeOf(const LayerReport* guilty, const std::string& otherwise) {
  if (guilty == nullptr) return otherwise;
  const OutputReport* worst = guilty->Worst();
  return worst == nullptr ? VerdictName(guilty->verdict)
                          : fmt::format("{}, E {}", VerdictName(guilty->verdict), Number(worst->excess, 3));
}

bool Holds(const StepInfo& step, const std::set<std::string>& layers, const std::set<std::string>& blobs) {
  for (const PortInfo& port : step.outputs) {
    if (blobs.count(port.blob) > 0) return true;
  }
  return std::any_of(step.members.begin(), step.members.end(),
                     [&](const MemberInfo& member) { return layers.count(member.name) > 0; });
}

}  // namespace

const LayerReport* FindGuilty(const RunReport& report, const std::set<std::string>& layers,
                              const std::set<std::string>& blobs) {
  for (const LayerReport& layer : report.layers) {
    if (layer.verdict == Verdict::kWrong && Holds(layer.step, layers, blobs)) return &layer;
  }
  return nullptr;
}

StepReducer::StepReducer(const ModelFiles& files, const JudgedModel& whole, const LayerReport& wrong,
                         const CaseJudge& judge, const ReduceOptions& options, std::string work)
    : files_(files),
      whole_(whole),
      graph_(*whole.session->graph()),
      wrong_(wrong),
      judge_(judge),
      options_(options),
      work_(std::move(work)) {
  for (const PortInfo& port : wrong.step.outputs) guilty_blobs_.insert(port.blob);
  for (const MemberInfo& member : wrong.step.members) guilty_layers_.insert(member.name);
}

void StepReducer::FindStep() {
  std::set<std::string> read;
  for (const PortInfo& port : wrong_.step.inputs) read.insert(port.blob);
  std::map<std::string, int> makers;
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    for (const std::string& blob : graph_.layers[i].outputs) makers[blob] = static_cast<int>(i);
  }
  std::vector<std::string> wanted(guilty_blobs_.begin(), guilty_blobs_.end());
  while (!wanted.empty()) {
    const std::string blob = wanted.back();
    wanted.pop_back();
    const auto maker = makers.find(blob);
    if (maker == makers.end() || !step_.insert(maker->second).second) continue;
    for (const std::string& input : graph_.layers[static_cast<size_t>(maker->second)].inputs) {
      if (read.count(input) == 0) wanted.push_back(input);
    }
  }
}

StepReducer::Layers StepReducer::Grown(Layers layers, int before, int behind) const {
  const auto touches = [](const std::vector<std::string>& blobs, const std::set<std::string>& known) {
    return std::any_of(blobs.begin(), blobs.end(), [&](const std::string& blob) { return known.count(blob) > 0; });
  };
  for (int round = 0; round < std::max(before, behind); ++round) {
    std::set<std::string> read, made;
    for (const int i : layers) {
      const Layer& layer = graph_.layers[static_cast<size_t>(i)];
      read.insert(layer.inputs.begin(), layer.inputs.end());
      made.insert(layer.outputs.begin(), layer.outputs.end());
    }
    for (size_t i = 0; i < graph_.layers.size(); ++i) {
      const Layer& layer = graph_.layers[i];
      if ((round < before && touches(layer.outputs, read)) || (round < behind && touches(layer.inputs, made)))
        layers.insert(static_cast<int>(i));
    }
  }
  return layers;
}

double StepReducer::SecondsLeft() const {
  return options_.seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

std::string StepReducer::LayerText(int layer) const {
  const Layer& one = graph_.layers[static_cast<size_t>(layer)];
  return fmt::format("'{}' ({})", one.name, one.type);
}

std::string StepReducer::NewFolder() { return fmt::format("{}/try{}", work_, folders_++); }

bool StepReducer::IsTestedWhereRight(const std::string& model, const std::string& inputs) const {
  const auto right = judge_.JudgeRight(model, inputs);
  return right.ok() && std::any_of(right->layers.begin(), right->layers.end(), [this](const LayerReport& layer) {
           return layer.verdict != Verdict::kNotTested && Holds(layer.step, guilty_layers_, guilty_blobs_);
         });
}

Result<bool> StepReducer::Try(const CaseModel& model, const std::string& what) {
  ReduceTry done;
  done.what = what;
  const double left = SecondsLeft();
  if (left < kLeastSeconds) {
    reduced_->in_time = false;
    return false;
  }
  const std::string folder = NewFolder();
  PLUMB_ASSIGN_OR_RETURN(const std::string path, model.Write(folder));
  CheckOptions check;
  check.causes = check.inherited = false;
  const auto judged = judge_.JudgePart(path, folder + "/inputs.npz", folder, left, std::move(check));
  const LayerReport* guilty = judged.ok() ? FindGuilty(judged->report, guilty_layers_, guilty_blobs_) : nullptr;
  const double excess = guilty == nullptr ? 0 : ExcessOf(*guilty);
  const bool near = guilty != nullptr && excess < kClearExcess && excess_ >= kClearExcess;
  const bool tested = guilty != nullptr && IsTestedWhereRight(path, folder + "/inputs.npz");
  const bool blind = guilty != nullptr && !tested && tested_;
  done.wrong = guilty != nullptr && !near && !blind;
  done.outcome = judged.ok() ? OutcomeOf(guilty, "right") : judged.status().message();
  if (near) done.outcome += ": too near to its bound";
  if (blind) done.outcome += ": not tested where it is right";
  if (done.wrong) excess_ = excess, tested_ = tested;
  done.seconds = left - SecondsLeft();
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (options_.tried) options_.tried(wrong_.step.name, done);
  reduced_->tries.push_back(done);
  return done.wrong;
}

Result<bool> StepReducer::TryLayers(const Layers& layers, const std::string& what) {
  const std::vector<std::string> inputs = CaseModel::InputsOf(graph_, layers);
  std::set<std::string> unknown;
  for (const std::string& blob : inputs) {
    if (values_.count(blob) == 0) unknown.insert(blob);
  }
  if (!unknown.empty()) {
    PLUMB_ASSIGN_OR_RETURN(auto values, judge_.ValuesOf(*whole_.session, unknown));
    values_.merge(values);
  }
  const std::string folder = NewFolder();
  auto model = CaseModel::Make(files_, graph_, layers, values_, guilty_blobs_, folder);
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!model.ok()) {
    reduced_->tries.push_back({what, false, model.status().message(), 0});
    return false;
  }
  PLUMB_ASSIGN_OR_RETURN(const bool wrong, Try(*model, what));
  if (!wrong) return false;
  layers_ = layers;
  model_ = std::move(*model);
  return true;
}

Status StepReducer::FindPart() {
  PLUMB_ASSIGN_OR_RETURN(bool found, TryLayers(step_, fmt::format("'{}' alone, on what it read", wrong_.step.name)));
  const size_t all = graph_.layers.size();
  Layers last = step_;
  for (int reach = 1; !found && last.size() < all && SecondsLeft() > kLeastSeconds; reach *= 2) {
    for (const auto& [before, behind] : {std::pair(reach, 0), {0, reach}, {reach, reach}}) {
      const Layers more = Grown(step_, before, behind);
      if (found || more == last || more == step_) continue;
      PLUMB_ASSIGN_OR_RETURN(found, TryLayers(more, fmt::format("with {} layers around it: {} before, {} behind",
                                                                more.size() - step_.size(), before, behind)));
      last = more;
    }
    if (static_cast<size_t>(reach) > all) break;
  }
  return Status::Ok();
}

// Neighbours that are not needed, in halves, quarters ...; of a step that is several layers, these, too.
Status StepReducer::DropLayers() {
  for (size_t chunk = (layers_.size() + 1) / 2; layers_.size() > 1 && chunk > 0; chunk /= 2) {
    for (size_t at = 0; at < layers_.size();) {
      const std::vector<int> all(layers_.begin(), layers_.end());
      Layers rest = layers_;
      for (size_t i = at; i < std::min(at + chunk, all.size()); ++i) rest.erase(all[i]);
      bool dropped = false;
      if (!rest.empty()) {
        const std::string what =
            rest.size() + 1 == all.size()
                ? "without " + LayerText(all[at])
                : fmt::format("without {} layers from {} on", all.size() - rest.size(), LayerText(all[at]));
        PLUMB_ASSIGN_OR_RETURN(dropped, TryLayers(rest, what));
      }
      if (!dropped) at += chunk;
    }
  }
  return Status::Ok();
}

void StepReducer::NameNeeded() {
  for (const int i : layers_) {
    if (step_.count(i) > 0) continue;
    (i < *step_.begin() ? reduced_->needed_before : reduced_->needed_behind).push_back(LayerText(i));
  }
}

Status StepReducer::Go(const std::string& folder, ReducedCase* reduced) {
  reduced_ = reduced;
  reduced->index = wrong_.step.index;
  reduced->layer = wrong_.step.name;
  reduced->type = wrong_.step.type;
  reduced->cause = wrong_.cause;
  reduced->all_layers = static_cast<int>(graph_.layers.size());
  FindStep();
  if (step_.empty()) {
    reduced->tries.push_back({"the step as layers of the model", false, "no layer of the model makes its outputs", 0});
    return Status::Ok();
  }
  PLUMB_RETURN_IF_ERROR(FindPart());
  if (!model_) return Status::Ok();
  PLUMB_RETURN_IF_ERROR(DropLayers());
  PLUMB_RETURN_IF_ERROR(ShrinkSizes());
  NameNeeded();
  reduced->layers = static_cast<int>(layers_.size());
  std::set<std::string> nodes;
  for (const int i : layers_) {
    const Layer& layer = graph_.layers[static_cast<size_t>(i)];
    nodes.insert(layer.nodes.begin(), layer.nodes.end());
    if (layer.nodes.empty()) nodes.insert(layer.name);
  }
  reduced->nodes = static_cast<int>(nodes.size());
  return WriteReducedCase(*model_, judge_, options_, guilty_layers_, guilty_blobs_, folder, NewFolder(), reduced);
}

}  // namespace plumb
