// SPDX-License-Identifier: Apache-2.0
#include "interop/ggml_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/half.h"

namespace plumb {
namespace {

using Byte = uint8_t;

float HalfAt(const Byte* bytes) {
  uint16_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return HalfToFloat(bits);
}

int Nibble(const Byte* quants, int i, int half) { return i < half ? quants[i] & 15 : quants[i - half] >> 4; }

// scale, 32 x i8
void ReadQ80(const Byte* block, float* values) {
  const float scale = HalfAt(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// scale, 32 x 4 bits: the first half below, the second above
void ReadQ40(const Byte* block, float* values) {
  const float scale = HalfAt(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(Nibble(block + 2, i, 16) - 8);
}

// scale, least, 32 x 4 bits
void ReadQ41(const Byte* block, float* values) {
  const float scale = HalfAt(block), least = HalfAt(block + 2);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(Nibble(block + 4, i, 16)) + least;
}

// scale, least, 32 fifth bits, 32 x 4 bits
void ReadQ51(const Byte* block, float* values) {
  const float scale = HalfAt(block), least = HalfAt(block + 2);
  for (int i = 0; i < 32; ++i) {
    const int fifth = (block[4 + i / 8] >> (i % 8)) & 1;
    values[i] = scale * static_cast<float>(Nibble(block + 8, i, 16) | fifth << 4) + least;
  }
}

// scale, 32 fifth bits, 32 x 4 bits
void ReadQ50(const Byte* block, float* values) {
  const float scale = HalfAt(block);
  for (int i = 0; i < 32; ++i) {
    const int fifth = (block[2 + i / 8] >> (i % 8)) & 1;
    values[i] = scale * static_cast<float>((Nibble(block + 6, i, 16) | fifth << 4) - 16);
  }
}

// The 6 bits of scale and of minimum of the eight parts, in 12 bytes.
void ScaleAndMin(const Byte* packed, int part, int* scale, int* least) {
  if (part < 4) {
    *scale = packed[part] & 63;
    *least = packed[part + 4] & 63;
    return;
  }
  *scale = (packed[part + 4] & 15) | (packed[part - 4] >> 6) << 4;
  *least = packed[part + 4] >> 4 | (packed[part] >> 6) << 4;
}

// scale, minimum, 12 bytes of these, fifth bits (of Q5_K), quants: parts of 32, two of them in the same bytes
void ReadK45(const Byte* block, bool fifths, float* values) {
  const float scale = HalfAt(block), least = HalfAt(block + 2);
  const Byte* high = block + 16;
  const Byte* low = block + (fifths ? 48 : 16);
  for (int part = 0; part < 8; ++part) {
    int steps = 0, offset = 0;
    ScaleAndMin(block + 4, part, &steps, &offset);
    const float step = scale * static_cast<float>(steps), shift = least * static_cast<float>(offset);
    for (int i = 0; i < 32; ++i) {
      const Byte both = low[part / 2 * 32 + i];
      int quant = part % 2 == 0 ? both & 15 : both >> 4;
      if (fifths) quant |= ((high[i] >> part) & 1) << 4;
      values[part * 32 + i] = step * static_cast<float>(quant) - shift;
    }
  }
}
void ReadQ4K(const Byte* block, float* values) { ReadK45(block, false, values); }
void ReadQ5K(const Byte* block, float* values) { ReadK45(block, true, values); }

// 256 x 4 lower bits, 256 x 2 upper bits, 16 scales of i8, scale; in halves of 128
void ReadQ6K(const Byte* block, float* values) {
  const float scale = HalfAt(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i % 128 / 32, at = i % 32;
    const Byte low = block[half * 64 + quarter % 2 * 32 + at];
    const Byte high = block[128 + half * 32 + at];
    const int quant = ((quarter < 2 ? low & 15 : low >> 4) | ((high >> 2 * quarter) & 3) << 4) - 32;
    const auto part = static_cast<int8_t>(block[192 + i / 16]);
    values[i] = scale * static_cast<float>(part) * static_cast<float>(quant);
  }
}

// 16 scales and minimums of 4 bits, 256 x 2 bits, scale, minimum; parts of 16
void ReadQ2K(const Byte* block, float* values) {
  const float scale = HalfAt(block + 80), least = HalfAt(block + 82);
  for (int i = 0; i < 256; ++i) {
    const Byte part = block[i / 16];
    const int quant = (block[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
    values[i] =
        scale * static_cast<float>(part & 15) * static_cast<float>(quant) - least * static_cast<float>(part >> 4);
  }
}

// 256 third bits, 256 x 2 bits, 16 scales of 6 bits (the lower four, then the upper two), scale; parts of 16
void ReadQ3K(const Byte* block, float* values) {
  const float scale = HalfAt(block + 108);
  const Byte* scales = block + 96;
  for (int i = 0; i < 256; ++i) {
    const int part = i / 16, bits = i / 32;
    const int low = part < 8 ? scales[part] & 15 : scales[part - 8] >> 4;
    const int step = (low | ((scales[8 + part % 4] >> part / 4 * 2) & 3) << 4) - 32;
    const int third = (block[i % 32] >> bits) & 1;
    const int quant = ((block[32 + i / 128 * 32 + i % 32] >> (bits % 4 * 2)) & 3) - (third != 0 ? 0 : 4);
    values[i] = scale * static_cast<float>(step) * static_cast<float>(quant);
  }
}

// What the 4 bits of the IQ4 types stand for.
constexpr int kUneven[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// scale, 32 x 4 bits as of Q4_0
void ReadIq4Nl(const Byte* block, float* values) {
  const float scale = HalfAt(block);
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(kUneven[Nibble(block + 2, i, 16)]);
}

// scale, the upper two bits of eight scales, their lower four, parts of 32 x 4 bits
void ReadIq4Xs(const Byte* block, float* values) {
  const float scale = HalfAt(block);
  const int high = block[2] | block[3] << 8;
  for (int part = 0; part < 8; ++part) {
    const int low = (block[4 + part / 2] >> part % 2 * 4) & 15;
    const float step = scale * static_cast<float>((low | ((high >> 2 * part) & 3) << 4) - 32);
    for (int i = 0; i < 32; ++i)
      values[part * 32 + i] = step * static_cast<float>(kUneven[Nibble(block + 8 + part * 16, i, 16)]);
  }
}

struct BlockType {
  const char* name;
  int64_t values, bytes;
  void (*read)(const Byte* block, float* values);
};

constexpr BlockType kBlockTypes[] = {
    {"q4_1", 32, 20, ReadQ41},   {"q5_1", 32, 24, ReadQ51},     {"q8_0", 32, 34, ReadQ80},
    {"q4_0", 32, 18, ReadQ40},   {"q5_0", 32, 22, ReadQ50},     {"q2_K", 256, 84, ReadQ2K},
    {"q3_K", 256, 110, ReadQ3K}, {"q4_K", 256, 144, ReadQ4K},   {"q5_K", 256, 176, ReadQ5K},
    {"q6_K", 256, 210, ReadQ6K}, {"iq4_nl", 32, 18, ReadIq4Nl}, {"iq4_xs", 256, 136, ReadIq4Xs}};

const BlockType* FindBlockType(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kBlockTypes), std::end(kBlockTypes), [&](const BlockType& t) { return name == t.name; });
  return found == std::end(kBlockTypes) ? nullptr : found;
}

// The bytes are the blocks of the shape.
Status CheckBlocks(const BlockType& blocks, const Tensor& bytes, const Shape& shape) {
  const int64_t row = shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  const int64_t held = bytes.shape().rank() == 0 ? 0 : bytes.shape()[bytes.shape().rank() - 1];
  const int64_t count = shape.NumElements() / blocks.values;
  if (bytes.dtype() == DType::kU8 && row >= 1 && row % blocks.values == 0 &&
      held == row / blocks.values * blocks.bytes && bytes.NumElements() == count * blocks.bytes) {
    return Status::Ok();
  }
  return Status::CorruptModel(fmt::format("{} {} are no blocks of {} for {}: {} bytes hold {} values",
                                          DTypeName(bytes.dtype()), bytes.shape().ToString(), blocks.name,
                                          shape.ToString(), blocks.bytes, blocks.values));
}

}  // namespace

bool KnowsGgmlBlocks(const std::string& type) { return FindBlockType(type) != nullptr; }

bool HasGgmlLeast(const std::string& type) { return type == "q4_1" || type == "q5_1"; }

Result<Tensor> FromGgmlBlocks(const std::string& type, const Tensor& bytes, const Shape& shape) {
  const BlockType& blocks = *FindBlockType(type);
  PLUMB_RETURN_IF_ERROR(CheckBlocks(blocks, bytes, shape));
  PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF32, shape));
  const Byte* from = bytes.data<uint8_t>();
  for (int64_t i = 0; i < shape.NumElements() / blocks.values; ++i)
    blocks.read(from + i * blocks.bytes, values.data<float>() + i * blocks.values);
  return values;
}

Result<Tensor> LeastOfGgmlBlocks(const std::string& type, const Tensor& bytes, const Shape& shape) {
  const BlockType& blocks = *FindBlockType(type);
  PLUMB_RETURN_IF_ERROR(CheckBlocks(blocks, bytes, shape));
  std::vector<int64_t> dims = shape.dims();
  dims.back() /= blocks.values;
  PLUMB_ASSIGN_OR_RETURN(Tensor least, Tensor::Create(DType::kF32, Shape(dims)));
  for (int64_t i = 0; i < least.NumElements(); ++i)
    least.data<float>()[i] = HalfAt(bytes.data<uint8_t>() + i * blocks.bytes + 2);
  return least;
}

}  // namespace plumb
