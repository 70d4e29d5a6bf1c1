// SPDX-License-Identifier: Apache-2.0
// One pass of the lockstep over the tensors of a runtime that is not ours; nothing runs but the reference.
#ifndef PLUMB_CHECK_SUBJECT_SUBJECT_PASS_H_
#define PLUMB_CHECK_SUBJECT_SUBJECT_PASS_H_

#include <functional>
#include <map>
#include <set>
#include <string>

#include "check/numbers/int8_weights.h"
#include "plumb/check.h"

namespace plumb {

// In what a blob of the subject is stored.
using StorageOfBlob = std::function<DType(const std::string& blob)>;

// Steps of a report, each by the first blob that it writes.
using SomeSteps = std::set<std::string>;

// What a pass looks at.
struct Look {
  // Some steps only: the others keep their earlier reports, which are given by the first blob that they write.
  const SomeSteps* steps = nullptr;
  std::map<std::string, const LayerReport*> earlier;
  // Ends behind the step of which this is true: the report is then of no other use. Asked of what stays as it is
  // judged.
  std::function<bool(const LayerReport& layer)> ends;
  const TiedWeights* ties = nullptr;  // Scene::ties
};

// `graph`: with the weights as the subject has them.
Result<RunReport> RunPass(const Graph& graph, const BlobSource& subject, const std::map<std::string, Tensor>& inputs,
                          const SubjectOptions& options, StorageOfBlob storage, const Look& look);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_SUBJECT_PASS_H_
