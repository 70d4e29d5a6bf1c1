// SPDX-License-Identifier: Apache-2.0
// StoredTensor: one tensor of a file or folder that some runtime wrote, read when it is asked for.
#ifndef PLUMB_INTEROP_STORED_TENSOR_H_
#define PLUMB_INTEROP_STORED_TENSOR_H_

#include <functional>
#include <string>

#include "dump/integer_scale.h"
#include "plumb/observer.h"
#include "plumb/tensor.h"

namespace plumb {

struct StoredTensor {
  std::string name;       // as the writer named it
  std::string origin;     // file, for messages
  bool has_shape = true;  // false: a text of values only, whose tensor is [count]
  bool has_dtype = true;  // false: a text of values only; whole numbers arrive as i64
  bool has_bits = false;  // true: values of a known size and nobody says of which dtype; floats of that size arrive
  std::function<Result<Tensor>()> load;
  bool is_input = true;  // of the network, or of nobody knows what: false only where a dump says that a layer wrote it
  std::string layer =
      {};        // which layer (node, module) wrote it, where its writer names these and not tensors; else empty
  int slot = 0;  // of that layer's outputs
  bool is_read = false;         // `slot` is of its inputs
  Numerics numerics = {};       // how it was computed, where a dump of Plumb says it
  std::string stands_for = {};  // in a quantised copy of a model: the float model's blob whose readers read this
  std::string order = {};       // of its dims, where a dump says that it is not N, C and the spatial ones
  IntegerScale integers = {};   // of quantised ones, where a dump says it
};

}  // namespace plumb

#endif  // PLUMB_INTEROP_STORED_TENSOR_H_
