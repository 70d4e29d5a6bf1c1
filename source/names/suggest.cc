// SPDX-License-Identifier: Apache-2.0
// SuggestNames: both graphs are traced (trace.h), and tensors of the same formula are pairs. What was rewritten
// beyond recognition is found by the walk (walk.h); its pairs then count as the same in the next trace.
#include "plumb/suggest.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "names/traced_pairs.h"

namespace plumb {
namespace {

// What structure has left, by value.
Status PairLeft(const NameModel& a, const NameModel& b, const TracedPairs& traced, const SuggestOptions& options,
                NameSuggestions* found) {
  const std::set<std::string> left(found->left.begin(), found->left.end());
  std::vector<ValuedTensor> model, other;
  found->values = true;
  if (left.empty()) return Status::Ok();
  if (!options.model_values.empty()) {
    PLUMB_ASSIGN_OR_RETURN(model, ReadForValues(options.model_values, a.graph->tensors));
    PLUMB_ASSIGN_OR_RETURN(other, ReadForValues(options.other_values, b.graph->tensors));
  } else if (!found->untraced.empty()) {
    return Status::InvalidArgument("the graphs cannot be run here, so their values have to be given: " +
                                   found->untraced);
  } else {
    PLUMB_RETURN_IF_ERROR(traced.RunBoth(left, &model, &other));
  }
  for (const auto& [ours, theirs] : PairByValue(model, other, left)) {
    found->pairs.push_back({ours, theirs, "by value", true});
    found->left.erase(std::find(found->left.begin(), found->left.end(), theirs));
  }
  return Status::Ok();
}

}  // namespace

Result<NameSuggestions> SuggestNames(const std::string& model, const std::string& other,
                                     const SuggestOptions& options) {
  if (options.model_values.empty() != options.other_values.empty())
    return Status::InvalidArgument("values are those of both graphs: two dumps of one input, or none");
  PLUMB_ASSIGN_OR_RETURN(const NameModel a, ReadNameModel(model));
  PLUMB_ASSIGN_OR_RETURN(const NameModel b, ReadNameModel(other));
  NameWalk walk(*a.graph, *b.graph);
  const bool tflite = EndsWith(model, ".tflite") || EndsWith(other, ".tflite");  // its converters sort the ends
  walk.PairEndsByName();
  walk.PairInputsInOrder(!tflite);
  TracedPairs traced(a, b, &walk);
  NameSuggestions found;
  Status status = traced.Read(model, other, a, b);
  if (status.ok()) status = traced.Run();
  if (status.ok() && tflite) status = traced.FindTurned();
  if (!status.ok()) found.untraced = status.message();
  walk.PairOutputsInOrder(!tflite);
  walk.Grow();
  found.model = model;
  found.other = other;
  const std::set<std::string> own(a.graph->tensors.begin(), a.graph->tensors.end());
  for (const std::string& name : b.graph->tensors) {
    if (b.graph->foreign.count(name) > 0) continue;
    const std::string* partner = walk.PartnerOf(name);
    const auto again = traced.again().find(name);
    if (partner == nullptr && again != traced.again().end()) {
      found.pairs.push_back({again->second, name, kSameFormula, false});
    } else if (partner == nullptr) {
      found.left.push_back(name);
    } else {
      const bool same_name = own.count(name) > 0 && a.graph->Canonical(name) == *partner;
      found.pairs.push_back({same_name ? name : *partner, name, walk.Because(name), false});
    }
  }
  if (options.by_value || !options.model_values.empty()) PLUMB_RETURN_IF_ERROR(PairLeft(a, b, traced, options, &found));
  return found;
}

}  // namespace plumb
