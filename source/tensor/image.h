// SPDX-License-Identifier: Apache-2.0
// Images as f32 [1,C,H,W]: (x - bias) * scale with x the 8-bit value 0..255, channels as rgb, bgr or one gray channel.
// An image whose size or number of channels is not the one expected is an error: nothing is resized or converted.
#ifndef PLUMB_TENSOR_IMAGE_H_
#define PLUMB_TENSOR_IMAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plumb/tensor_file.h"

namespace plumb {

// PNG, JPEG and BMP. Without `expected` the image's own size and channels count, at most max_bytes of pixels.
Result<Tensor> ParseImage(std::string_view bytes, const std::string& path, const ImageOptions& options,
                          const std::optional<Shape>& expected, uint64_t max_bytes);

}  // namespace plumb

#endif  // PLUMB_TENSOR_IMAGE_H_
