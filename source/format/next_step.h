// SPDX-License-Identifier: Apache-2.0
// What to do with a model file that Plumb does not read, by its ending.
#ifndef PLUMB_FORMAT_NEXT_STEP_H_
#define PLUMB_FORMAT_NEXT_STEP_H_

#include <string>
#include <vector>

namespace plumb {

struct ForeignEnding {
  std::vector<std::string> endings;  // ".pt", ".pth"
  std::string whose;                 // "PyTorch's"
  std::string next;                  // a sentence, with a command where there is one
};
const std::vector<ForeignEnding>& ForeignEndings();

// "PyTorch's: torch.onnx.export writes an .onnx ...", or "" where the ending is none of those.
std::string NextStepFor(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_FORMAT_NEXT_STEP_H_
