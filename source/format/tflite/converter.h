// SPDX-License-Identifier: Apache-2.0
// Which converter made a .tflite file, and what it could not say.
#ifndef PLUMB_FORMAT_TFLITE_CONVERTER_H_
#define PLUMB_FORMAT_TFLITE_CONVERTER_H_

#include <string>
#include <vector>

#include "format/tflite/model_file.h"

namespace plumb::tflite {

// "2.15.0", out of the file's metadata; "": it says nothing.
std::string ConverterVersion(const ModelFile& file);
// Sentences for who loads the file: a resize of which TensorFlow before 2.3 could not say that it takes the pixels'
// middles.
std::vector<std::string> ConverterNotes(const ModelFile& file);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_CONVERTER_H_
