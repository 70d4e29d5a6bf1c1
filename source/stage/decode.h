// SPDX-License-Identifier: Apache-2.0
// Decoding replayed: the file that a stage names (parameter `file`) through the decoders of this machine.
#ifndef PLUMB_STAGE_DECODE_H_
#define PLUMB_STAGE_DECODE_H_

#include <vector>

#include "stage/explain.h"

namespace plumb {

// Nothing where the stage names no file, or one that is not there or no picture.
std::vector<Explained> ExplainDecode(const StageRecord& stage, const Picture& after);

}  // namespace plumb

#endif  // PLUMB_STAGE_DECODE_H_
