// SPDX-License-Identifier: Apache-2.0
// The rows of tflite_list.def as a table.
#include "format/tflite/op_context.h"

namespace plumb::tflite {

#define PLUMB_TFLITE(number, mapper, file, inputs, outputs) Status Map##mapper(OpContext& c);
#define PLUMB_TFLITE_CUSTOM(name, file) Status Map##name(OpContext& c);
#include "format/tflite/tflite_list.def"
#undef PLUMB_TFLITE_CUSTOM
#undef PLUMB_TFLITE

const std::vector<TfliteRow>& AllTfliteRows() {
  static const std::vector<TfliteRow> kRows = {
#define PLUMB_TFLITE(number, mapper, file, inputs, outputs) \
  {schema::BuiltinOperator::number, #number, &Map##mapper, inputs, outputs},
#include "format/tflite/tflite_list.def"
#undef PLUMB_TFLITE
  };
  return kRows;
}

const TfliteRow* FindTfliteRow(schema::BuiltinOperator code) {
  for (const TfliteRow& row : AllTfliteRows()) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

TfliteMapper FindCustom(const std::string& name) {
#define PLUMB_TFLITE(number, mapper, file, inputs, outputs)
#define PLUMB_TFLITE_CUSTOM(custom, file) \
  if (name == #custom) return &Map##custom;
#include "format/tflite/tflite_list.def"
#undef PLUMB_TFLITE_CUSTOM
#undef PLUMB_TFLITE
  return nullptr;
}

}  // namespace plumb::tflite
