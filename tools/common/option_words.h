// SPDX-License-Identifier: Apache-2.0
// The library's errors and reports name its fields ("InputOptions::range: ..."); who calls a tool knows options
// ("--input-range: ..."). This is the one place where they are mapped, for the tools and for plumbnn's reports, which
// are model_check's.
#ifndef PLUMB_TOOLS_COMMON_OPTION_WORDS_H_
#define PLUMB_TOOLS_COMMON_OPTION_WORDS_H_

#include <string>

#include "plumb/report.h"

namespace plumb {

// The message with each field's name as the option that sets it. Once or twice: all the same.
std::string InOptionWords(std::string message);

// The same for every sentence of a report, before it is formatted: lines are broken by what stands in them.
void PutInOptionWords(CheckedModel* checked);
void PutInOptionWords(RunReport* run);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_OPTION_WORDS_H_
