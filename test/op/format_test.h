// SPDX-License-Identifier: Apache-2.0
// Every case of the operator test through the model format.
#ifndef PLUMB_TEST_OP_FORMAT_TEST_H_
#define PLUMB_TEST_OP_FORMAT_TEST_H_

#include "util/op_case.h"

namespace plumb {

// The case as a model file: written, read again, written again to the same bytes, and run on NAIVE to the same bits.
void TestSavesAndLoads(const OpCase& op_case);

}  // namespace plumb

#endif  // PLUMB_TEST_OP_FORMAT_TEST_H_
