// SPDX-License-Identifier: Apache-2.0
// The weights of a model beside those of the model that it was converted from: constants are compared after undoing
// what a conversion may fold, and what it may not is named.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::WeightsReport report, plumb::DiffWeights("net.pt", "net.tflite"));
//   std::fputs(plumb::FormatWeightsText(report).c_str(), stdout);
//
// Read are .onnx, .tflite, .tnnproto with its .tnnmodel, .safetensors, .npz, and what torch.save wrote (.pt .pth; no
// code of the file is run). Threading: free functions without shared state; both sides are in memory.
#ifndef PLUMB_WEIGHTS_H_
#define PLUMB_WEIGHTS_H_

#include <optional>
#include <string>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

struct WeightsOptions {
  // Of the original's batch norms, where its file does not say it: a state dict does not.
  std::optional<double> epsilon;
};

struct WeightsPair {
  enum Verdict {
    kEqual,     // within 1e-6 of the tensor's largest value
    kFolded,    // equal once a batch norm of the original is folded in
    kRounded,   // equal but for a narrower type
    kDifferent  // anything else; `cause` says what
  };
  std::string original, converted;  // names; an absent tensor has none
  Shape shape;                      // the original's
  std::string paired_by;            // "name", "values", "layer", "shape" or "missing"
  Verdict verdict = kDifferent;
  std::string cause;  // one clause; of what is equal empty
  double max_abs = 0;
};

struct WeightsReport {
  std::string original, converted;  // as given, with what they are
  std::vector<WeightsPair> pairs;   // in the order of the original
  std::vector<std::string> only_original, only_converted;
  std::vector<std::string> notes;

  int Count(WeightsPair::Verdict verdict) const;
  const WeightsPair* FirstDifferent() const;  // or null
};

// "equal", "folded", "rounded", "different".
const char* WeightsVerdictName(WeightsPair::Verdict verdict);

// NotFound, IoError, CorruptModel, NotSupported or InvalidArgument (a file that holds no weights). A difference is no
// error.
Result<WeightsReport> DiffWeights(const std::string& original, const std::string& converted,
                                  const WeightsOptions& options = {});

struct WeightsStyle {
  bool color = false;
  bool all = false;  // every pair; otherwise those that are not equal, five of each other kind
  size_t width = 100;
};

std::string FormatWeightsText(const WeightsReport& report, const WeightsStyle& style = {});
std::string FormatWeightsSummary(const WeightsReport& report);
std::string FormatWeightsJson(const WeightsReport& report);

}  // namespace plumb

#endif  // PLUMB_WEIGHTS_H_
