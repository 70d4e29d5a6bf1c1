// SPDX-License-Identifier: Apache-2.0
// A fault planted in a small network: what judges it, what was computed, and the words that must name it.
#ifndef PLUMB_TEST_CHECK_PLANTED_CAUSE_H_
#define PLUMB_TEST_CHECK_PLANTED_CAUSE_H_

#include <cctype>
#include <functional>
#include <string>

#include "computed_otherwise_util.h"

namespace plumb {

struct PlantedCause {
  std::string name;
  Graph says;      // what the subject is judged by
  Graph computed;  // what it computed
  std::string words;
  bool hint = false;
  Tensor x = {};                                 // Gauss where empty
  std::function<void(Tensor*)> spoil = nullptr;  // the computed output
};

inline Tensor One(float value) {
  Tensor tensor = Tensor::Create(DType::kF32, {1}).value();
  tensor.data<float>()[0] = value;
  return tensor;
}

// The fault is wrong, with its own words as the cause (or as a hint) and with no other cause.
inline void ExpectPlanted(const PlantedCause& plant) {
  Graph said = plant.says;
  const Tensor x = plant.x.empty() ? Gauss(said.inputs[0].shape) : plant.x;
  Tensor y = ComputedBy(plant.computed, x);
  if (plant.spoil) plant.spoil(&y);
  const LayerReport report = Judge(said, x, y);
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.reason;
  if (plant.hint) {
    EXPECT_EQ(report.cause, "");
    EXPECT_NE(report.reason.find(plant.words), std::string::npos) << report.reason;
  } else {
    EXPECT_NE(report.cause.find(plant.words), std::string::npos) << report.cause << " | " << report.reason;
    EXPECT_EQ(report.cause.find("; or "), std::string::npos) << report.cause;
  }
}

inline std::string PlantName(const testing::TestParamInfo<PlantedCause>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace plumb

#endif  // PLUMB_TEST_CHECK_PLANTED_CAUSE_H_
