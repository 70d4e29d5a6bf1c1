// SPDX-License-Identifier: Apache-2.0
// How a foreign runtime computed, as a whole: declared (--arithmetic) or found once, never per layer, because an fp16
// layer in an fp32 run is precisely a fault. Each is a row of numeric_model's table.
//
//   fp32           every operation rounded to f32
//   fp32+winograd  the same, convolutions of stride 1 by Winograd's algorithm in any usual form
//   tf32           sums of products take operands of 11 significant bits and accumulate in f32
//   fp16, bf16     blobs, weights and constants stored so, accumulated in f32
//   fp16+f32-chains, bf16+f32-chains
//                  weights stored so, but layers hand each other f32: the dump is a rounded copy that nobody read
//   fp32+f16-storage, fp32+bf16-storage
//                  fp32 whose dump was rounded so: every blob is known to half a unit only, weights are f32
//   fp32+f16-products, fp32+bf16-products
//                  sums of products round their operands so and accumulate in f32; all else is fp32
//   fp32+narrow-products
//                  sums of products take weights, operands or both in fewer bits, in one way for each operator, found
//                  by the causes of what is beyond fp32 (narrow_products.h); all else is fp32
//   int8           blobs and weights stored as int8 with scales that the runtime chose, accumulated exactly (int8.h)
#ifndef PLUMB_CHECK_NUMBERS_ARITHMETIC_H_
#define PLUMB_CHECK_NUMBERS_ARITHMETIC_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/numbers/replay.h"
#include "device/kernel.h"
#include "plumb/check.h"
#include "plumb/observer.h"
#include "plumb/subject.h"
#include "reference/core/reference_op.h"

namespace plumb {

// What replay and judgement need to know of an arithmetic.
struct NumericModel {
  SubjectArithmetic arithmetic = SubjectArithmetic::kFp32;
  const char* name = "fp32";
  DType blobs = DType::kF32;    // in what results stand in the dump: f16, bf16, i8; where some do not: half_storage.h
  DType weights = DType::kF32;  // f16, bf16: of layers whose results are stored so; constants, too
  bool chains = false;          // readers may have used the values before they were rounded
  Numerics products = {};       // how sums of products are computed where fp32 does not explain them
  double u_products = 0x1p-24;

  bool is_half() const { return blobs == DType::kF16 || blobs == DType::kBF16; }
};

const NumericModel& ModelOf(SubjectArithmetic arithmetic);

// The roundoffs of one step, its products computed directly.
Arithmetic ArithmeticFor(const LayerGroup& group, const NumericModel& model);

// Adds what a kernel, or a model's other products, say of how they compute.
void UseNumerics(const Numerics& numerics, Arithmetic* arithmetic, ReplayExtra* extra);

// Makes them those of the model's other products; false: the group has none.
bool UseOtherProducts(const LayerGroup& group, const NumericModel& model, Arithmetic* arithmetic, ReplayExtra* extra);

// Whether runtimes compute one of the members by Winograd's algorithm: a convolution of stride 1, no dilation, no
// groups, with a square kernel of 2x2 to 7x7 or a row or column of such a length.
bool MayBeWinograd(const LayerGroup& group);

// A run of 16 bits that rounds each sum, and each other operation, to its format, as processors with such vectors do.
NumericModel RoundingEachSum(const NumericModel& half);

// Of a run whose steps that are beyond its model were judged by other products, too: how far these explain them.
class ProductEvidence {
 public:
  explicit ProductEvidence(NumericModel model) : model_(std::move(model)) {}

  const NumericModel& model() const { return model_; }
  // A step that may be so computed, by its operator; `beyond` the run's model; `explained`: but not beyond this.
  void Note(const std::string& type, bool beyond, bool explained);
  // Further trials would not make it found.
  bool hopeless(int beyond) const;
  // Most of what is beyond; of Winograd's algorithm three steps, or most of those that may be; of narrower operands
  // most of these, because a runtime has no reason to choose; of sums in 16 bits, which a short one does not show, two.
  bool found(int beyond) const;
  // One operator is computed in one way: a layer that differs from its like is a fault.
  bool adopts(const std::string& type) const;
  std::string Because(int beyond) const;
  // What of an operator that it adopts is so computed, for the report; of Winograd's algorithm, which is f32's,
  // nothing.
  std::vector<ComputedAs> Computed() const;
  int explained() const;
  int possible() const;

 private:
  struct Count {
    int possible = 0, beyond = 0, explained = 0;
  };
  bool winograd() const { return model_.products.algorithm == Numerics::kWinograd; }
  bool sums() const { return model_.products.accumulator != DType::kF32; }
  std::string What() const;
  NumericModel model_;
  std::map<std::string, Count> counts_;
};

// The operator of the group's first sum of products, or "".
std::string ProductOf(const LayerGroup& group);
const Layer* ProductLayerOf(const LayerGroup& group);  // the first; null: there is none

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_ARITHMETIC_H_
