// The library's errors name its fields ("InputOptions::range: ..."); who calls a tool knows options ("--input-range:
// ...").
#ifndef PLUMB_TOOLS_COMMON_OPTION_WORDS_H_
#define PLUMB_TOOLS_COMMON_OPTION_WORDS_H_

#include <string>

namespace plumb {

// The message with each field's name as the option that sets it. Once or twice: all the same.
std::string InOptionWords(std::string message);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_OPTION_WORDS_H_
