// SPDX-License-Identifier: Apache-2.0
// How a foreign runtime computed is found, or declared; then its tensors are judged.
#ifndef PLUMB_SESSION_FOREIGN_JUDGE_H_
#define PLUMB_SESSION_FOREIGN_JUDGE_H_

#include <map>
#include <optional>
#include <string>

#include "check/subject/paired_blobs.h"
#include "plumb/check.h"
#include "plumb/subject.h"

namespace plumb {

// `device`: what the report calls it. `declared`: its arithmetic; nothing: found, once for the whole set of tensors.
Result<RunReport> JudgeForeign(const std::string& device, const Graph& graph, const PairedBlobs& blobs,
                               const std::map<std::string, Tensor>& inputs, std::optional<SubjectArithmetic> declared,
                               CheckOptions check);

// Tells each step of `run` how the golden's own run judged its layers.
void CopyConversion(const RunReport& golden, RunReport* run);

}  // namespace plumb

#endif  // PLUMB_SESSION_FOREIGN_JUDGE_H_
