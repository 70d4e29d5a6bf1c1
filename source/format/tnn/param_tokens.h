// SPDX-License-Identifier: Apache-2.0
// A layer's parameters as tnnproto tokens: the visitors that read and write them in the order of OpParam::Visit.
//
// Reading is strict where TNN's atoi is not (`3x` is an error, not 3) and tolerant where old files need it: a missing
// optional field keeps its default. Floats are written with the fewest digits that read back exactly.
#ifndef PLUMB_FORMAT_TNN_PARAM_TOKENS_H_
#define PLUMB_FORMAT_TNN_PARAM_TOKENS_H_

#include <string>
#include <string_view>
#include <vector>

#include "op/core/op.h"

namespace plumb::tnn {

// "expected an integer, found '3x'" and the like; the whole token must be the number.
Result<int64_t> ParseInteger(std::string_view token, int64_t min, int64_t max);
Result<float> ParseFloat(std::string_view token);
// The shortest text that ParseFloat reads back to the same bits (a NaN: to a NaN).
std::string FormatFloat(float value);

// Reads `tokens` into the parameters; returns how many tokens were used. `escaped`: text parameters hold %XX.
Result<size_t> ReadParams(const std::vector<std::string_view>& tokens, bool escaped, OpParam* param);
// The parameters as tokens; text parameters as they are.
std::vector<std::string> ParamTokens(const Layer& layer);
// The text parameters alone.
std::vector<std::string> TextParams(const Layer& layer);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_PARAM_TOKENS_H_
