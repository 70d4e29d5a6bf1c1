// SPDX-License-Identifier: Apache-2.0
// The excuse of DynamicQuantizeLinear's scale where the tensor is 0 everywhere: (max - min) / 255 is 0, which nothing
// can be divided by. ONNX Runtime takes 1. The integers are the zero point either way.
#include "check/cause/explainers.h"

namespace plumb {

std::optional<Answer> ExplainAsZeroScale(const Question& q) {
  const Layer& last = *q.record.group.members.back();
  if (q.record.device.size() != 1 || last.kind != OpKind::kDiv) return std::nullopt;
  const Tensor* steps = last.inputs.size() == 2 ? &q.scene.blobs->at(last.inputs[1]).value : last.Resource("element");
  if (steps == nullptr || steps->empty() || steps->NumElements() != 1 || steps->ValueAt(0) != 255) return std::nullopt;
  const Tensor &device = q.record.device[0], &own = q.record.replay.values[0];
  if (device.NumElements() != 1 || device.ValueAt(0) != 1 || own.ValueAt(0) != 0) return std::nullopt;
  Answer answer("computed as 1, the scale of a tensor that is 0 everywhere (ONNX Runtime); the graph says 0");
  answer.why = "and its integers are the zero point by either";
  answer.judged = q.record.report;
  answer.judged.verdict = Verdict::kGrey;  // another value than the graph's, after all
  return answer;
}

}  // namespace plumb
