// Other ways to compute sums of products (Winograd's algorithm, operands of 16 bits), found in one pass over a foreign
// runtime's tensors: a step that is beyond fp32 is judged by their bounds while its tensors are at hand, and what it is
// stands when the whole run is known. Causes, which take many replays, wait until then.
#include "check/judge/lockstep.h"
#include "check/subject/arithmetic.h"

namespace plumb {

bool Lockstep::PutOffAsProduct(const StepInfo& info, const LayerReport& layer) {
  const std::string type = ProductOf(*info.group);
  const bool beyond = (layer.verdict == Verdict::kWrong || layer.verdict == Verdict::kGrey) && layer.cause.empty();
  beyond_fp32_ += beyond;
  if (type.empty() || layer.verdict == Verdict::kNotTested) return false;
  const bool trial = beyond && changed_.empty() && !replayed_.tau.empty();
  bool any = false;
  for (OtherProducts& other : products_) {
    const NumericModel& model = other.evidence.model();
    if (model.winograd && !MayBeWinograd(*info.group)) continue;
    LayerReport tried = layer;
    const bool explained = trial && !other.evidence.hopeless(beyond_fp32_) && TryProduct(info, model, layer, &tried);
    other.evidence.Note(type, explained);
    if (explained) other.put_off.emplace(report_.layers.size(), std::move(tried));
    any = any || explained;
  }
  return any;
}

bool Lockstep::TryProduct(const StepInfo& info, const NumericModel& model, const LayerReport& layer,
                          LayerReport* tried) {
  const ReplayResult replayed = replayed_;
  Arithmetic arithmetic = ArithmeticFor(*info.group, model);
  ReplayExtra extra;
  UseOtherProducts(*info.group, model, &arithmetic, &extra);
  *tried = layer;
  const bool judged = JudgeBounded(info, arithmetic, extra, false, tried).ok();
  replayed_ = replayed;
  return judged && tried->verdict == Verdict::kAligned;
}

Status Lockstep::SettleProducts() {
  const OtherProducts* found = nullptr;
  for (const OtherProducts& other : products_) {
    const bool more = found == nullptr || other.evidence.explained() > found->evidence.explained();
    if (other.evidence.found(beyond_fp32_) && more) found = &other;
  }
  std::map<size_t, const LayerReport*> put_off;  // null: as it was judged
  for (const OtherProducts& other : products_) {
    for (const auto& [position, layer] : other.put_off) {
      const bool adopted = &other == found && found->evidence.adopts(ProductOf(*scene_.steps[position]->group));
      const LayerReport*& chosen = put_off[position];
      if (adopted) chosen = &layer;
    }
  }
  for (const auto& [position, layer] : put_off) {
    if (layer != nullptr) {
      report_.layers[position] = *layer;
    } else {
      PLUMB_RETURN_IF_ERROR(ExplainPutOff(position));
    }
  }
  if (found == nullptr) return Status::Ok();
  report_.found_arithmetic = found->evidence.model().arithmetic;
  report_.found_because = found->evidence.Because(beyond_fp32_);
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
      replayed_, ReplayWithBound(*info.group, inputs_, *scene_.blobs,
                                 ArithmeticFor(*info.group, ModelOf(options_.arithmetic)), MaxBoundLevel(*info.group)));
  NameCause(info, &layer);
  if (layer.cause.empty()) {
    DescribeWrong(&layer);
    const bool winograd = products_[0].put_off.count(position) != 0;
    if (winograd) {
      layer.reason += std::string(layer.reason.empty() ? "" : "; ") +
                      "Winograd's algorithm would explain it (SessionOptions::arithmetic fp32+winograd), but other "
                      "layers do not speak for that";
    }
  }
  return HandOverWrong(layer);
}

}  // namespace plumb
