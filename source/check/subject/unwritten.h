// SPDX-License-Identifier: Apache-2.0
// Constants of the model that a runtime hands out without having written them: XNNPACK's delegate turns 8-bit weights
// into floats inside of its own memory, and LiteRT shows what its own tensor happens to hold. Such a tensor is wrong,
// while every layer that reads the constant computed with what the model says.
//
// A true fault stays wrong: a layer that read wrong weights is not aligned with the model's.
#ifndef PLUMB_CHECK_SUBJECT_UNWRITTEN_H_
#define PLUMB_CHECK_SUBJECT_UNWRITTEN_H_

#include <map>
#include <set>
#include <string>

#include "plumb/check.h"

namespace plumb {

// `report`: of the same subject with the same options. Where tensors of it turn out to be unwritten: the report without
// these, which are `left_out`; their layers are not tested.
Result<RunReport> LeaveOutUnwritten(const Graph& graph, const BlobSource& subject,
                                    const std::map<std::string, Tensor>& inputs, const SubjectOptions& options,
                                    RunReport report, std::set<std::string>* left_out);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_UNWRITTEN_H_
