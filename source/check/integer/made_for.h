// SPDX-License-Identifier: Apache-2.0
// Whose kernels a model is made for.
#ifndef PLUMB_CHECK_INTEGER_MADE_FOR_H_
#define PLUMB_CHECK_INTEGER_MADE_FOR_H_

#include "check/judge/scene.h"

namespace plumb {

// By the file that it was read from, or by the subject's own words.
enum class MadeFor { kOnnxRuntime, kLiteRt, kTnn, kNcnn, kMnn };
MadeFor MadeForOf(const Scene& scene);
// Whether their kernels round halves away from zero everywhere, and no other runtime's rules are asked.
bool HasOwnRules(MadeFor runtime);

// Whether the graph was read from a .tflite file.
bool IsOfTflite(const Graph& graph);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_MADE_FOR_H_
