// SPDX-License-Identifier: Apache-2.0
// The rows of tflite_list.def as a table.
#include "format/tflite/op_context.h"

namespace plumb::tflite {

#define PLUMB_TFLITE(number, mapper, file, inputs, outputs) Status Map##mapper(OpContext& c);
#include "format/tflite/tflite_list.def"
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

}  // namespace plumb::tflite
