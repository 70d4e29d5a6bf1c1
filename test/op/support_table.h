// SPDX-License-Identifier: Apache-2.0
// The support table: which operator runs where, found by asking every device's kernels about every test case.
#ifndef PLUMB_TEST_OP_SUPPORT_TABLE_H_
#define PLUMB_TEST_OP_SUPPORT_TABLE_H_

#include <string>

namespace plumb {

// Markdown, with the devices that are present on this machine as columns (doc/op_support.md).
std::string SupportTable();
// Its end, the same on every machine: which operators of ONNX and TFLite there are.
std::string ImportedNames();

}  // namespace plumb

#endif  // PLUMB_TEST_OP_SUPPORT_TABLE_H_
