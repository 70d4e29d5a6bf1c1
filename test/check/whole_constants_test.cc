// SPDX-License-Identifier: Apache-2.0
// Which DequantizeLinear made a constant where several made the same values.
#include "check/integer/whole_constants.h"

#include <gtest/gtest.h>

#include "plumb/model.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

void AddZeros(const std::string& name, float scale, ImportRecord::Part* folded) {
  folded->constants[name + "_q"] = Tensor::Zeros(DType::kI64, Shape{4}).value();
  folded->constants[name + "_scale"] = Tensor::Zeros(DType::kF32, Shape{}).value();
  folded->constants[name + "_scale"].data<float>()[0] = scale;
  folded->constants[name] = Tensor::Zeros(DType::kF32, Shape{4}).value();
  folded->layers.push_back(MakeLayer(OpKind::kPlumbDequantizeLinear, name, {name + "_q", name + "_scale"}, {name}));
}

// Biases of zeros are equal, and each has its own scale.
TEST(WholeConstants, AreThoseOfTheSameMemoryFirst) {
  ImportRecord record;
  AddZeros("first", 0.5f, &record.folded);
  AddZeros("second", 0.25f, &record.folded);
  Scene scene;
  scene.record = &record;
  EXPECT_EQ(WholeConstantOf(scene, record.folded.constants["second"]).value().scale.data<float>()[0], 0.25f);
  const Tensor copy = record.folded.constants["second"].Clone().value();
  EXPECT_EQ(WholeConstantOf(scene, copy).value().scale.data<float>()[0], 0.5f);
}

}  // namespace
}  // namespace plumb
