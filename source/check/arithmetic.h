// How a foreign runtime computed, as a whole: declared (--arithmetic) or found once, never per layer, because an fp16
// layer in an fp32 run is precisely a fault.
//
//   fp32           every operation rounded to f32
//   fp32+winograd  the same, 3x3 convolutions by Winograd's algorithm in any usual tile size
//   tf32           sums of products take operands of 11 significant bits and accumulate in f32
//   fp16, bf16     blobs, weights and constants stored so, accumulated in f32
//   fp32+f16-storage, fp32+bf16-storage
//                  fp32 whose dump was rounded so: every blob is known to half a unit only, weights are f32
//   int8           blobs and weights stored as int8 with scales that the runtime chose, accumulated exactly (int8.h)
#ifndef PLUMB_CHECK_ARITHMETIC_H_
#define PLUMB_CHECK_ARITHMETIC_H_

#include <string>

#include "device/kernel.h"
#include "device/naive/naive_op.h"
#include "plumb/check.h"
#include "plumb/subject.h"

namespace plumb {

// A sentence's part for the report.
const char* Int8WeightsName(Int8Weights weights);

// In what blobs, weights and constants are stored: f32, f16, bf16 or i8.
DType StorageOf(SubjectArithmetic arithmetic);

// Whether weights and constants are rounded to that storage, too.
bool RoundsWeights(SubjectArithmetic arithmetic);

// The roundoffs of one step.
Arithmetic ArithmeticFor(const LayerGroup& group, SubjectArithmetic arithmetic);

// Whether runtimes compute one of the members by Winograd's algorithm: 3x3, stride 1, no dilation, no groups.
bool MayBeWinograd(const LayerGroup& group);

// Of a run judged as fp32 whose steps beyond it were judged as Winograd's algorithm, too.
struct WinogradEvidence {
  int possible = 0;   // steps that may be Winograd's
  int beyond = 0;     // steps of any kind that are beyond fp32, wrong or grey
  int explained = 0;  // of these: not beyond Winograd's algorithm
  // The algorithm, not some faulty layers: most of what is beyond fp32, and three layers or most of those that may be.
  bool found() const {
    return explained >= 2 && 2 * explained > beyond && (explained >= 3 || 2 * explained > possible);
  }
};

}  // namespace plumb

#endif  // PLUMB_CHECK_ARITHMETIC_H_
