// SPDX-License-Identifier: Apache-2.0
// Dumps that were written over after they were read: a runtime whose layer works in its input's memory (MNN's Softplus)
// hands out what that layer left there. Such a tensor contradicts its writer and every reader at once, while the
// readers' results follow from what the writer should have made. It is left out, and its layers are judged as one step
// from the writer's inputs.
//
// A true fault stays wrong: what a layer really wrote is what its readers read, so at least one of them agrees with it.
#ifndef PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_
#define PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_

#include <map>
#include <set>
#include <string>
#include <utility>

#include "plumb/check.h"

namespace plumb {

// The subject without some of its tensors.
class SubjectWithout : public BlobSource {
 public:
  SubjectWithout(const BlobSource& all, std::set<std::string> hidden) : all_(all), hidden_(std::move(hidden)) {}
  bool Has(const std::string& blob) const override { return hidden_.count(blob) == 0 && all_.Has(blob); }
  Result<Tensor> Load(const std::string& blob) const override { return all_.Load(blob); }
  Numerics ComputedBy(const std::string& blob) const override { return all_.ComputedBy(blob); }

 private:
  const BlobSource& all_;
  const std::set<std::string> hidden_;
};

// `report`: of the same subject with the same options. Where tensors of it turn out to be written over: the report
// without these, which are `left_out`.
Result<RunReport> LeaveOutOverwritten(const Graph& graph, const BlobSource& subject,
                                      const std::map<std::string, Tensor>& inputs, const SubjectOptions& options,
                                      RunReport report, std::set<std::string>* left_out);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_
