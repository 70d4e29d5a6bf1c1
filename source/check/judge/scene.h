// SPDX-License-Identifier: Apache-2.0
// Scene: the run that is judged: whose it is, its graph and steps, what can be read of it, and how it counts numbers.
#ifndef PLUMB_CHECK_JUDGE_SCENE_H_
#define PLUMB_CHECK_JUDGE_SCENE_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "check/numbers/arithmetic.h"
#include "check/numbers/int8_weights.h"
#include "plumb/check.h"

namespace plumb {

struct Scene {
  std::string device, description, precision;
  bool direct = false;  // NetworkOptions::direct
  // Both outlive it.
  const Graph* graph = nullptr;
  const BlobTable* blobs = nullptr;
  std::vector<const StepInfo*> steps;                              // all that will be shown, in order
  std::function<Result<Tensor>(const std::string& name)> output;   // a network output; NotFound: left out of the report
  std::function<Result<Tensor>(const std::string& blob)> earlier;  // any blob that was read or written; may be empty
  std::function<DType(const std::string& blob)> storage;           // of float blobs, of a subject
  // The network outputs that the device makes of these blobs by the steps behind one; empty where it cannot run again.
  std::function<Result<std::map<std::string, Tensor>>(size_t position, const std::map<std::string, Tensor>& blobs)>
      rest;
  // From CheckOptions.
  const NumericModel* model = &ModelOf(SubjectArithmetic::kFp32);
  Int8WeightsOf int8_weights;
  bool finds_products = false;
  const TiedWeights* ties = nullptr;     // of an int8 subject whose weights were rounded; null: none
  const ImportRecord* record = nullptr;  // of an ONNX file; null: none
};

// The inputs of any group of the scene as the reference replays them, where `earlier` has them: floats in f64,
// constants in what the group's result is stored in.
Result<std::vector<Tensor>> InputsOf(const Scene& scene, const LayerGroup& group);

// The DequantizeLinear that made a blob, maybe moved since (Reshape, Permute); null: none.
const Layer* DequantizerOf(const Scene& scene, std::string blob);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_SCENE_H_
