// SPDX-License-Identifier: Apache-2.0
// How a foreign runtime computed, found or declared, and its steps judged so. What another way to compute may change
// is judged again; the whole network only in a way that explains more.
#ifndef PLUMB_SESSION_FIND_ARITHMETIC_H_
#define PLUMB_SESSION_FIND_ARITHMETIC_H_

#include <optional>
#include <string>

#include "check/subject/paired_blobs.h"
#include "check/subject/subject_judge.h"

namespace plumb {

// A run and how its arithmetic came to be known.
struct Judged {
  RunReport report;
  SubjectArithmetic arithmetic = SubjectArithmetic::kFp32;
  std::string how;
  Int8WeightsOf int8_weights;
};

// `blobs`: what `judge` judges. Without `declared` it is found: by the values when these are f16 or bf16; by the layers
// that are beyond fp32 but not beyond other products.
Result<Judged> JudgeAsComputed(std::optional<SubjectArithmetic> declared, const PairedBlobs& blobs,
                               const SubjectOptions& options, SubjectJudge* judge);

}  // namespace plumb

#endif  // PLUMB_SESSION_FIND_ARITHMETIC_H_
