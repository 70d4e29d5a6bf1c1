// SPDX-License-Identifier: Apache-2.0
// Pickle: the values that a pickle describes, without running anything (opcodes: Python's pickletools).
//
// Calls are kept as calls. Only collections.OrderedDict() is done, as an empty dict; an object with a state that is a
// dict counts as that dict. Memory: at most a few values per byte of the text. Threading: a value.
#ifndef PLUMB_INTEROP_PICKLE_H_
#define PLUMB_INTEROP_PICKLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/status.h"

namespace plumb {

struct PickleValue {
  enum Kind {
    kOther,    // None, booleans, floats, bytes: nothing that a tensor's description needs
    kInt,      // `number`
    kText,     // `text`
    kGlobal,   // `text`: "module name"
    kTuple,    // `items`; lists too
    kDict,     // `items`: key, value, key, value
    kStorage,  // `items` of a persistent id's tuple
    kCall      // `items`: what is called, and its arguments
  };
  Kind kind = kOther;
  int64_t number = 0;
  std::string text;
  std::vector<size_t> items;  // of Pickle::at
};

class Pickle {
 public:
  // CorruptModel: an opcode that is unknown, cut off or finds nothing to work on. `path` stands in errors.
  static Result<Pickle> Parse(std::string_view text, const std::string& path);

  size_t root() const { return root_; }
  const PickleValue& at(size_t index) const { return values_[index]; }

 private:
  friend class PickleMachine;
  std::vector<PickleValue> values_;
  size_t root_ = 0;
};

}  // namespace plumb

#endif  // PLUMB_INTEROP_PICKLE_H_
