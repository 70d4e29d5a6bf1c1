// Whether an image file is whole and fit for stb_image, which fills what is missing with zeros or grey, checks no
// checksum, and (2.27) writes past its tables when a JPEG's Huffman table declares more than 256 codes.
#ifndef PLUMB_TENSOR_IMAGE_CHECK_H_
#define PLUMB_TENSOR_IMAGE_CHECK_H_

#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb {

// `file` begins each message. To be asked before stb_image sees the bytes, even for their size.
Status CheckImage(std::string_view bytes, const std::string& file);

}  // namespace plumb

#endif  // PLUMB_TENSOR_IMAGE_CHECK_H_
