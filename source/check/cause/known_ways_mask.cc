// Proposals for masks: what kernels make of a row whose keys a mask hides all.
#include <algorithm>
#include <optional>

#include "check/cause/known_ways_util.h"
#include "op/softmax.h"

namespace plumb {
namespace {

// Sets the rows (values, or their bounds) to 0 whose scores all lie below any that a key has which is not hidden.
void ClearHiddenRows(const Tensor& scores, int axis, Tensor* tensor) {
  constexpr double kHidden = -1e3;
  const int64_t size = scores.shape()[axis], inner = scores.shape().CountFrom(axis + 1);
  const double* x = scores.data<double>();
  for (int64_t row = 0; size > 0 && row < scores.NumElements() / size; ++row) {
    const int64_t first = row / inner * size * inner + row % inner;
    int64_t hidden = 0;
    while (hidden < size && x[first + hidden * inner] < kHidden) ++hidden;
    for (int64_t i = 0; hidden == size && i < size; ++i) tensor->data<double>()[first + i * inner] = 0;
  }
}

// Flash attention and kernels with masks of their own write zeros there.
void HiddenRowsAsZeros(const ProposalContext& c, Proposals* proposals) {
  const auto axis = NormalizeAxis(ParamOf<SoftmaxParam>(c.layer).axis, c.input.rank());
  if (!axis.ok()) return;
  Proposal proposal{"with weights of 0 where the mask hides every key of a row", "weights that add up to 1", c.layer};
  const auto scores = std::make_shared<std::optional<Tensor>>();  // asked for before their bounds are
  proposal.reads = [scores](size_t, const Tensor& input) -> Result<Tensor> {
    if (scores->has_value() || input.dtype() != DType::kF64) return input;
    PLUMB_ASSIGN_OR_RETURN(*scores, input.Clone());  // Softmax may write into the memory of what it reads
    return input;
  };
  proposal.writes = [scores, at = *axis](Tensor* values, Tensor* tau) {
    for (Tensor* tensor : {values, tau}) {
      if (scores->has_value() && tensor != nullptr && tensor->dtype() == DType::kF64)
        ClearHiddenRows(**scores, at, tensor);
    }
    scores->reset();
  };
  proposals->push_back(std::move(proposal));
}

}  // namespace

void ProposeForMasks(const ProposalContext& context, Proposals* proposals) {
  if (context.layer.kind == OpKind::kSoftmax) HiddenRowsAsZeros(context, proposals);
}

}  // namespace plumb
