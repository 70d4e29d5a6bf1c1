// SPDX-License-Identifier: Apache-2.0
// What reading an image for a network does to it, written down as stages (plumb/stage.h).
#ifndef PLUMB_SESSION_STAGE_IMAGE_H_
#define PLUMB_SESSION_STAGE_IMAGE_H_

#include <string>

#include "plumb/tensor_file.h"

namespace plumb {

// `decode`: the file's pixels; `normalise`: `values`, what (x - bias) * scale made of them; `turned`: NHWC.
Status WriteImageStages(const std::string& path, const ImageOptions& options, const Tensor& values, bool turned);

}  // namespace plumb

#endif  // PLUMB_SESSION_STAGE_IMAGE_H_
