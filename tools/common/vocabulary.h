// SPDX-License-Identifier: Apache-2.0
// The words of all tools: one row per option, with every way to spell it. A tool adds an option by its name and gets
// its spellings, so that a word means the same everywhere; TNN's (of its model_check, TNNTest and converters) are among
// them. One dash or two, `-` or `_`, `=` or a space: all the same.
#ifndef PLUMB_TOOLS_COMMON_VOCABULARY_H_
#define PLUMB_TOOLS_COMMON_VOCABULARY_H_

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// What values look like, which decides where a list ends: `-d X86 OPENCL net.onnx` are two devices and a model.
enum class Values {
  kOne,
  kDevices,     // letters and digits that are no file; joined by commas
  kNumbers,     // joined by commas
  kShapes,      // NAME=1,3,224,224, NAME[1,3], NAME:1,3
  kPairs,       // NAME=...
  kWords,       // any that are no model; one that begins with a dash has a blank in it
  kFiles,       // FILE, NAME=FILE: of those that exist, models excepted
  kOutputFile,  // tried before the work; "-" is standard output
};

struct Word {
  std::string name;                    // "device"
  std::string letter;                  // "d", or empty
  std::vector<std::string> spellings;  // "dt": TNN's and older ones
  Values values;
};

// No dashes; `_` counts as `-`.
bool HasSpelling(const Word& word, std::string_view spelling);
// The first row that has this spelling (no dashes; `_` counts as `-`); nullptr when no tool knows it.
const Word* FindWord(std::string_view spelling);

// For TNN's options that ask for what Plumb has not: why. nullptr for all others.
const char* WhyRefused(std::string_view spelling);

// For TNN's switches whose work is done anyway, or never: why. nullptr for all others.
const char* WhyNothingToDo(std::string_view spelling);

// Whether `text`, behind a value of this kind, is one more of its list.
bool ContinuesList(Values values, const std::string& text);

// The values in one argument: files may be separated by commas where each part is a file and the whole is none.
std::vector<std::string> SplitValues(Values values, const std::string& text);

bool PathExists(const std::string& path);
bool IsModelFile(const std::string& path);
bool EndsWith(const std::string& text, const std::string& end);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_VOCABULARY_H_
