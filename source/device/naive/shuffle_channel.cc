// ShuffleChannel: channels of all groups take turns (op/shuffle_channel.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveShuffleChannel() { return StridedOp(); }

}  // namespace plumb
