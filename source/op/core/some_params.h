// SPDX-License-Identifier: Apache-2.0
// SomeParams: a visitor of an operator's parameters that passes over all kinds of fields but those that it overrides.
#ifndef PLUMB_OP_CORE_SOME_PARAMS_H_
#define PLUMB_OP_CORE_SOME_PARAMS_H_

#include <string>
#include <vector>

#include "op/core/op.h"

namespace plumb {

class SomeParams : public ParamVisitor {
 public:
  void Int(const char*, int&, Need) override {}
  void Float(const char*, float&, Need) override {}
  void Bool(const char*, bool&, Need) override {}
  void Text(const char*, std::string&, Need) override {}
  void Counted(const char*, std::vector<int>&, Need) override {}
  void Fixed(const char*, std::vector<int>&, size_t, Need) override {}
  void Rest(const char*, std::vector<int>&) override {}
  void Ignored(const char*) override {}
};

}  // namespace plumb

#endif  // PLUMB_OP_CORE_SOME_PARAMS_H_
