// SPDX-License-Identifier: Apache-2.0
// TNNTest's -ip: a text of plain numbers.
#ifndef PLUMB_TOOLS_COMMON_PLAIN_VALUES_H_
#define PLUMB_TOOLS_COMMON_PLAIN_VALUES_H_

#include <string>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// As many numbers from the text's start as the shape has, of whatever follows them nothing. InvalidArgument: there are
// fewer. Takes no memory for a shape that the text cannot fill.
Result<Tensor> ParsePlainValues(const std::string& text, DType dtype, const Shape& shape);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_PLAIN_VALUES_H_
