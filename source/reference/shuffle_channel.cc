// SPDX-License-Identifier: Apache-2.0
// ShuffleChannel: channels of all groups take turns (op/shuffle_channel.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceShuffleChannel() { return StridedOp(); }

}  // namespace plumb
