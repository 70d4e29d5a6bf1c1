// Dumps that were written over after they were read: a runtime whose layer works in its input's memory (MNN's Softplus)
// hands out what that layer left there. Such a tensor contradicts its writer and every reader at once, while the
// readers' results follow from what the writer should have made. It is left out, and its layers are judged as one step
// from the writer's inputs.
//
// A true fault stays wrong: what a layer really wrote is what its readers read, so at least one of them agrees with it.
#ifndef PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_
#define PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_

#include <map>
#include <string>

#include "plumb/check.h"

namespace plumb {

// `report`: of the same subject with the same options. Where tensors of it turn out to be written over: the report
// without these.
Result<RunReport> LeaveOutOverwritten(const Graph& graph, const BlobSource& subject,
                                      const std::map<std::string, Tensor>& inputs, const SubjectOptions& options,
                                      RunReport report);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_OVERWRITTEN_H_
