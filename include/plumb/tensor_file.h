// SPDX-License-Identifier: Apache-2.0
// Tensor files: the values that a network reads and writes, and what other tools compare them with.
//
//   .txt                   TNN's text form ("<n>", then per tensor "<name> <rank> <dims> <dtype>" and its values), or
//                          plain values between white space (a dumped blob); told apart by the first two lines
//   .npy .npz              numpy's arrays; bf16 is stored as u2, because numpy has no bf16
//   .bin .dat .raw         nothing but little-endian values; shape and dtype come from the hints
//   .png .jpg .jpeg .bmp   an image, as f32 [1,C,H,W], (x - bias) * scale
//   any of them + .zst     the same compressed with zstd
// Files come from anywhere: whatever is wrong with one gives a Status that names file, place, expected and found, and
// the memory that a reader takes is bounded by the file's size (for compressed files: see TensorHints::max_bytes).
// Threading: functions without shared state.
#ifndef PLUMB_TENSOR_FILE_H_
#define PLUMB_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

struct NamedTensor {
  std::string name;  // empty when the format holds one tensor without a name
  Tensor tensor;
};

enum class ChannelOrder { kRgb, kBgr };

struct ImageOptions {
  std::vector<float> bias;   // none: 0; one value for every channel, or one per channel in the order below
  std::vector<float> scale;  // none: 1; likewise
  ChannelOrder order = ChannelOrder::kRgb;  // of the tensor's channels; without meaning for one channel
};

// The values that are really used, for reports: "(x - bias) * scale, bias 123.68,116.78,103.94, scale 1,1,1, rgb,
// NCHW". InvalidArgument when a list has neither 0, 1 nor `channels` values.
Result<std::string> DescribeImageOptions(const ImageOptions& options, int64_t channels);

// What the reader of a file expects. Formats that say it themselves must agree, else Mismatch.
struct TensorHints {
  // Raw and plain text files: the dtype of the values (f32 when not given). An .npy of 16-bit words is read as bf16
  // when that is the hint. Other formats ignore it.
  std::optional<DType> dtype;
  // Needed for raw files; checked against images; plain text without it becomes [count]. Other formats ignore it.
  std::optional<Shape> shape;
  ImageOptions image;
  // A compressed file may become at most so large, and never more than 100 times its own size or 256 MiB, whichever is
  // larger.
  uint64_t max_bytes = uint64_t{1} << 34;
};

// Every tensor of the file, in its order.
Result<std::vector<NamedTensor>> ReadTensors(const std::string& path, const TensorHints& hints = {});
// The same from memory; `path` chooses the format and stands in errors.
Result<std::vector<NamedTensor>> ParseTensors(std::string_view bytes, const std::string& path,
                                              const TensorHints& hints = {});

// Writes .txt (TNN's form), .npy, .npz (stored), .bin/.dat/.raw by the path's suffix; .npy and raw take one tensor. The
// file appears under its name when it is complete. A name or dtype that the format cannot hold is InvalidArgument.
Status WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors);

// One tensor in a file of several without structure (Sophon's input_ref_data.dat).
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};
// Tensors one after the other; the file's size must be exactly their sum.
Result<std::vector<NamedTensor>> ReadRawTensors(const std::string& path, const std::vector<TensorSpec>& specs);

// Which tensor of one side is which of another, where names differ: a CSV file of two columns, name in the model (or in
// A), name in the subject (or in B). Empty lines and lines that begin with '#' are passed over; a name that holds a
// comma or a quote stands in quotes. InvalidArgument names the line.
Result<std::map<std::string, std::string>> ReadNames(const std::string& path);

}  // namespace plumb

#endif  // PLUMB_TENSOR_FILE_H_
