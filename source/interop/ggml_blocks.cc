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

struct BlockType {
  const char* name;
  int64_t values, bytes;
  void (*read)(const Byte* block, float* values);
};

constexpr BlockType kBlockTypes[] = {{"q8_0", 32, 34, ReadQ80},   {"q4_0", 32, 18, ReadQ40},
                                     {"q5_0", 32, 22, ReadQ50},   {"q4_K", 256, 144, ReadQ4K},
                                     {"q5_K", 256, 176, ReadQ5K}, {"q6_K", 256, 210, ReadQ6K}};

const BlockType* FindBlockType(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kBlockTypes), std::end(kBlockTypes), [&](const BlockType& t) { return name == t.name; });
  return found == std::end(kBlockTypes) ? nullptr : found;
}

}  // namespace

bool KnowsGgmlBlocks(const std::string& type) { return FindBlockType(type) != nullptr; }

Result<Tensor> FromGgmlBlocks(const std::string& type, const Tensor& bytes, const Shape& shape) {
  const BlockType& blocks = *FindBlockType(type);
  const int64_t row = shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  const int64_t held = bytes.shape().rank() == 0 ? 0 : bytes.shape()[bytes.shape().rank() - 1];
  const int64_t count = shape.NumElements() / blocks.values;
  if (bytes.dtype() != DType::kU8 || row < 1 || row % blocks.values != 0 ||
      held != row / blocks.values * blocks.bytes || bytes.NumElements() != count * blocks.bytes) {
    return Status::CorruptModel(fmt::format("{} {} are no blocks of {} for {}: {} bytes hold {} values",
                                            DTypeName(bytes.dtype()), bytes.shape().ToString(), type, shape.ToString(),
                                            blocks.bytes, blocks.values));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF32, shape));
  const Byte* from = bytes.data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) blocks.read(from + i * blocks.bytes, values.data<float>() + i * blocks.values);
  return values;
}

}  // namespace plumb
