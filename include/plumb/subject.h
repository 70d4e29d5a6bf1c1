// SPDX-License-Identifier: Apache-2.0
// A subject: what another runtime, or a phone, computed for a model's blobs, in files of any kind or in memory; judged
// in place of a device. How its tensors become the model's blobs is found, or said here. plumb/session.h judges it;
// doc/subjects.md says how to get such tensors.
//
// Example:
//   plumb::SessionOptions options;
//   options.subject.path = "their_dump";
//   options.pairing.layout = "NCHW";                       // else found by the shapes of all tensors
//   options.arithmetic = plumb::SubjectArithmetic::kFp32;  // else found by the values
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto", options));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport report, session->JudgeSubject());
//   std::printf("%s: %s\n", report.judged_as.c_str(), plumb::VerdictName(report.verdict));
#ifndef PLUMB_SUBJECT_H_
#define PLUMB_SUBJECT_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/check.h"
#include "plumb/tensor_file.h"

namespace plumb {

// Where another runtime's tensors are: a path, or memory.
struct TensorSource {
  std::string path;                  // dump folder, folder of files, .npz, .npy, .txt, Polygraphy's .json, ...
  std::vector<NamedTensor> tensors;  // used when there is no path; they share memory with the caller's
  bool given() const { return !path.empty() || !tensors.empty(); }
};

// Which tensor is which blob, in what layout. What is empty is found.
struct PairingOptions {
  std::map<std::string, std::string> names;  // blob -> tensor, where they differ (ReadNames)
  bool by_order = false;  // pair what no name pairs by its place in the order; the pairs are among the report's notes
  std::string layout;     // "NCHW" or "NHWC": of the whole set of tensors
  std::vector<TensorSpec> tensors;  // what a file of values only holds (.dat .bmrt .bin .raw), in its order
};

// "fp32", "fp32+winograd", "tf32", "fp16", "bf16", "fp16+f32-chains", "bf16+f32-chains", "fp32+f16-storage",
// "fp32+bf16-storage", "fp32+f16-products", "fp32+bf16-products", "fp32+narrow-products", "int8". InvalidArgument lists
// them.
Result<SubjectArithmetic> ParseArithmetic(const std::string& name);
const char* ArithmeticName(SubjectArithmetic arithmetic);

}  // namespace plumb

#endif  // PLUMB_SUBJECT_H_
