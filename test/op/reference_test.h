// SPDX-License-Identifier: Apache-2.0
// What the operator test asks of the NAIVE reference.
#ifndef PLUMB_TEST_OP_REFERENCE_TEST_H_
#define PLUMB_TEST_OP_REFERENCE_TEST_H_

#include "util/op_case.h"

namespace plumb {

// Expected values and shapes in f32 and f64; f32 is the rounded f64; one thread and three give the same bits; nothing
// is written outside the outputs or into the inputs; tau is finite and grows with the level; and the spread that inputs
// with a tau of their own cause stays inside the tau that the bound propagates.
void TestReference(const OpCase& op_case);

}  // namespace plumb

#endif  // PLUMB_TEST_OP_REFERENCE_TEST_H_
