// SPDX-License-Identifier: Apache-2.0
// ShuffleChannel: channel i * group + g of the output is channel g * (C / group) + i of the input.
#ifndef PLUMB_OP_SHUFFLE_CHANNEL_H_
#define PLUMB_OP_SHUFFLE_CHANNEL_H_

#include "op/core/op.h"

namespace plumb {

struct ShuffleChannelParam : ParamBase<ShuffleChannelParam> {
  int group = 1;
  void Visit(ParamVisitor& v) override { v.Int("group", group); }
};

}  // namespace plumb

#endif  // PLUMB_OP_SHUFFLE_CHANNEL_H_
