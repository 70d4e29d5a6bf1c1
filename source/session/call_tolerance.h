// SPDX-License-Identifier: Apache-2.0
// What the outputs of a call may be off by.
#ifndef PLUMB_SESSION_CALL_TOLERANCE_H_
#define PLUMB_SESSION_CALL_TOLERANCE_H_

#include <map>
#include <string>
#include <vector>

#include "session/call_graph.h"

namespace plumb {

// The call's outputs, of the dtypes that the graph carries.
class CallOutputs : public BlobSource {
 public:
  static Result<CallOutputs> Of(const CallGraph& call, const std::vector<Tensor>& outputs) {
    CallOutputs made;
    PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(call.graph));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      const std::string& name = call.graph.outputs[i];
      const DType carried = blobs.at(name).dtype;
      if (IsFloat(carried) != IsFloat(outputs[i].dtype())) {
        return Status::InvalidArgument(fmt::format("output {} is {}, the operator gives {}", i,
                                                   DTypeName(outputs[i].dtype()), DTypeName(carried)));
      }
      PLUMB_ASSIGN_OR_RETURN(made.values_[name], outputs[i].ConvertedTo(carried));
    }
    return made;
  }
  bool Has(const std::string& blob) const override { return values_.count(blob) != 0; }
  Result<Tensor> Load(const std::string& blob) const override { return values_.at(blob); }

 private:
  std::map<std::string, Tensor> values_;
};

// Of one output.
struct CallBound {
  Tensor values, tau;    // f64 (or the integer dtype): the reference, before it is stored
  CallTolerance stored;  // in the arithmetic's storage; without rtol and atol
};

// One per output of the call. `outputs`: which blobs are known decides what is one step.
Result<std::vector<CallBound>> BoundsOf(const CallGraph& call, const CallOutputs& outputs,
                                        const CallArithmetic& arithmetic);

}  // namespace plumb

#endif  // PLUMB_SESSION_CALL_TOLERANCE_H_
