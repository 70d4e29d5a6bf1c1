// Winograd's algorithm as a foreign runtime's, found in one pass: a step that is beyond fp32 is judged by that bound
// while its tensors are at hand, and what it is stands when the whole run is known. Causes, which take many replays,
// wait until then.
#include "check/arithmetic.h"
#include "check/lockstep.h"

namespace plumb {

bool Lockstep::PutOffAsWinograd(const StepInfo& info, const LayerReport& layer) {
  if (!options_.find_winograd || !scene_.earlier) return false;
  const bool possible = MayBeWinograd(*info.group) && layer.verdict != Verdict::kNotTested;
  const bool beyond = (layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey) && layer.cause.empty();
  winograd_.possible += possible;
  winograd_.beyond += beyond;
  if (!possible || !beyond || !changed_.empty() || replayed_.tau.empty()) return false;
  Arithmetic arithmetic = ArithmeticFor(*info.group, options_.arithmetic);
  arithmetic.any_winograd = true;
  LayerReport tried = layer;
  if (!JudgeBounded(info, arithmetic, {}, false, &tried).ok() || tried.verdict != Verdict::kAligned) return false;
  ++winograd_.explained;
  as_winograd_.emplace(report_.layers.size(), std::move(tried));
  return true;
}

Status Lockstep::SettleWinograd() {
  if (winograd_.found()) {
    for (auto& [position, layer] : as_winograd_) report_.layers[position] = std::move(layer);
    report_.found_winograd = std::to_string(winograd_.explained) + " of " + std::to_string(winograd_.beyond) +
                             " layers that are beyond fp32 are not beyond Winograd's algorithm";
    return Status::Ok();
  }
  for (const auto& entry : as_winograd_) PLUMB_RETURN_IF_ERROR(ExplainPutOff(entry.first));
  return Status::Ok();
}

// What After leaves out of a step that was put off.
Status Lockstep::ExplainPutOff(size_t position) {
  const StepInfo& info = *scene_.steps[position];
  LayerReport& layer = report_.layers[position];
  PLUMB_ASSIGN_OR_RETURN(inputs_, InputsOf(*info.group));
  device_.clear();
  for (const PortInfo& port : info.outputs) {
    PLUMB_ASSIGN_OR_RETURN(Tensor output, scene_.earlier(port.blob));
    device_.push_back(std::move(output));
  }
  PLUMB_ASSIGN_OR_RETURN(
      replayed_, ReplayWithBound(*info.group, inputs_, *scene_.blobs, ArithmeticFor(*info.group, options_.arithmetic),
                                 MaxBoundLevel(*info.group)));
  NameCause(info, &layer);
  if (layer.cause.empty()) {
    DescribeWrong(&layer);
    layer.reason +=
        std::string(layer.reason.empty() ? "" : "; ") +
        "Winograd's algorithm would explain it (--arithmetic fp32+winograd), but other layers do not speak for that";
  }
  return HandOverWrong(layer);
}

}  // namespace plumb
