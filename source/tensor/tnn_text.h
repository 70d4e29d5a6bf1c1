// SPDX-License-Identifier: Apache-2.0
// TNN's text form of tensors, which its model_check reads as input and as reference:
//   <number of tensors>
//   <name> <rank> <d0> ... <dtype number>     then the values in NCHW order, one per line; repeated per tensor
// dtype 0 f32, 1 f16, 2 i8 (TNN writes bool so too), 3 i32, 4 bf16, 5 i64, 6 u32; TNN itself reads only 0, 2 and 3.
// A name with white space cannot be held and, as there is no header field that could announce an escape, is refused.
#ifndef PLUMB_TENSOR_TNN_TEXT_H_
#define PLUMB_TENSOR_TNN_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "plumb/tensor_file.h"

namespace plumb {

// Whether the text is in this form rather than plain values: one whole number stands alone on the first line and at
// least three tokens on the next, or the second token is no number.
bool LooksLikeTnnText(std::string_view text);
Result<std::vector<NamedTensor>> ParseTnnText(std::string_view text, const std::string& path);
Status WriteTnnText(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace plumb

#endif  // PLUMB_TENSOR_TNN_TEXT_H_
