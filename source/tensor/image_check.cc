#include "tensor/image_check.h"

#include <zlib.h>

namespace plumb {
namespace {

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = (value << 8) | static_cast<uint8_t>(bytes[at + i]);
  return value;
}
size_t BigEndian16(std::string_view bytes, size_t at) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[at])) << 8 | static_cast<uint8_t>(bytes[at + 1]);
}
uint32_t LittleEndian(std::string_view bytes, size_t at) { return __builtin_bswap32(BigEndian(bytes, at)); }

Status CheckPng(std::string_view bytes, const std::string& file) {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t length = BigEndian(bytes, at);
    if (length > bytes.size() - at - 12) break;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data() + at + 4), length + 4);
    if (crc != BigEndian(bytes, at + 8 + length)) {
      return Status::CorruptModel(file + ", byte " + std::to_string(at) + ": the checksum of a PNG chunk is wrong");
    }
    if (bytes.substr(at + 4, 4) == "IEND") return Status::Ok();
    at += 12 + length;
  }
  return Status::CorruptModel(file + " ends before the PNG's last chunk, after " + std::to_string(bytes.size()) +
                              " bytes");
}

// Walks over the Huffman tables of one DHT segment.
Status CheckHuffmanTables(std::string_view segment, const std::string& file, size_t at) {
  while (!segment.empty()) {
    size_t codes = 0;
    for (size_t i = 1; i <= 16 && i < segment.size(); ++i) codes += static_cast<uint8_t>(segment[i]);
    if (codes > 256 || segment.size() < 17 + codes) {
      return Status::CorruptModel(file + ", byte " + std::to_string(at) + ": a Huffman table has " +
                                  std::to_string(codes) + " codes, more than the 256 or the bytes that there are");
    }
    segment.remove_prefix(17 + codes);
  }
  return Status::Ok();
}

// Goes from marker to marker as stb_image does: it skips what stands between them, compressed data included.
Status CheckJpeg(std::string_view bytes, const std::string& file) {
  bool scanned = false;
  for (size_t at = 2; at + 1 < bytes.size();) {
    const auto marker = static_cast<uint8_t>(bytes[at + 1]);
    const bool is_marker = bytes[at] == '\xFF' && marker != 0 && marker != 0xFF && (marker < 0xD0 || marker > 0xD8);
    if (!is_marker) {
      ++at;
      continue;
    }
    if (marker == 0xD9) {
      if (scanned) return Status::Ok();
      break;
    }
    const size_t left = bytes.size() - at - 2;
    const size_t length = left < 2 ? 0 : BigEndian16(bytes, at + 2);
    if (length < 2 || length > left) break;
    if (marker == 0xC4) PLUMB_RETURN_IF_ERROR(CheckHuffmanTables(bytes.substr(at + 4, length - 2), file, at));
    scanned = scanned || marker == 0xDA;
    at += 2 + length;
  }
  return Status::CorruptModel(file + " ends before the JPEG's end marker, after " + std::to_string(bytes.size()) +
                              " bytes");
}

Status CheckBmp(std::string_view bytes, const std::string& file) {
  constexpr size_t kHeader = 32;
  if (bytes.size() >= kHeader) {
    const bool is_old = LittleEndian(bytes, 14) == 12;  // the OS/2 header has 16-bit sizes
    const int64_t width = is_old ? LittleEndian(bytes, 18) & 0xFFFF : static_cast<int32_t>(LittleEndian(bytes, 18));
    const int64_t height = is_old ? LittleEndian(bytes, 20) & 0xFFFF : static_cast<int32_t>(LittleEndian(bytes, 22));
    const int64_t bits = LittleEndian(bytes, is_old ? 24 : 28) & 0xFFFF;
    const int64_t row = (width * bits + 31) / 32 * 4;
    const int64_t rows = height < 0 ? -height : height;  // negative: the top row comes first
    const int64_t have = static_cast<int64_t>(bytes.size()) - LittleEndian(bytes, 10);
    if (width > 0 && have >= 0 && (row == 0 || rows <= have / row)) return Status::Ok();
  }
  return Status::CorruptModel(file + " ends inside the BMP's pixels, after " + std::to_string(bytes.size()) + " bytes");
}

}  // namespace

Status CheckImage(std::string_view bytes, const std::string& file) {
  if (bytes.substr(0, 4) == "\x89PNG") return CheckPng(bytes, file);
  if (bytes.substr(0, 2) == "\xFF\xD8") return CheckJpeg(bytes, file);
  if (bytes.substr(0, 2) == "BM") return CheckBmp(bytes, file);
  return Status::CorruptModel(file + ", byte 0: neither PNG, JPEG nor BMP");
}

}  // namespace plumb
