// SPDX-License-Identifier: Apache-2.0
// plumb_dump.h against the library, on random tensors: dtypes, ranks, shapes, strides (permuted, padded, negative, 0),
// channels in blocks, names of any bytes, places. Every value lies where the strides say, its neighbours are poison,
// and what is written must be the library's bytes under the library's name. Built with the sanitizers like all tests.
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "dump/checksum.h"
#include "dump/file_name.h"
#include "dump/filter.h"
#include "dump/manifest.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

class DumpHeaderRandom : public ScratchFolder {
 protected:
  int64_t Draw(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }
  std::string Bytes(const std::string& of, int64_t most) {
    std::string text(static_cast<size_t>(Draw(1, most)), ' ');
    for (char& c : text) {
      c = of.empty() ? static_cast<char>(Draw(1, 255)) : of[static_cast<size_t>(Draw(0, int64_t(of.size()) - 1))];
    }
    return text;
  }
  std::mt19937_64 random_{20261123};
};

// A tensor somewhere in a buffer.
struct Spread {
  plumb_dtype dtype = PLUMB_F32;
  int64_t size = 4;  // of a value
  int pack = 0;
  std::vector<int64_t> dims, strides;  // in bytes
  std::vector<char> buffer;
  int64_t first = 0;  // of the buffer: where the value at 0, 0 ... is
  std::string dense;  // the values in logical order
};

int64_t Offset(const Spread& s, const std::vector<int64_t>& at) {
  int64_t offset = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    const bool blocks = s.pack > 1 && i == 1;
    offset += blocks ? at[i] / s.pack * s.strides[i] + at[i] % s.pack * s.size : at[i] * s.strides[i];
  }
  return offset;
}

bool Next(const std::vector<int64_t>& dims, std::vector<int64_t>* at) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++(*at)[i] < dims[i]) return true;
    (*at)[i] = 0;
  }
  return false;
}

TEST_F(DumpHeaderRandom, BytesNamesAndChecksumsAreTheLibrarys) {
  setenv("DUMP_OUTPUT_BLOB", "1", 1);
  setenv("DUMP_INPUT_BLOB", "1", 1);
  setenv("DUMP_BLOB_DIR", At("dump").c_str(), 1);
  constexpr DType kDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,  DType::kU8,
                               DType::kI16, DType::kU16, DType::kI32,  DType::kU32, DType::kI64, DType::kBool};
  plumb_dumper* dump = plumb_dump_open("random", nullptr);
  ASSERT_NE(dump, nullptr);
  std::vector<std::string> names;
  constexpr int kCases = 600;
  for (int test = 0; test < kCases; ++test) {
    Spread s;
    s.dtype = static_cast<plumb_dtype>(Draw(0, 11));
    const DType dtype = kDTypes[s.dtype];
    s.size = static_cast<int64_t>(DTypeSize(dtype));
    const int rank = static_cast<int>(Draw(0, 6));
    const bool tiles = Chance(40);  // sizes around a line of the cache, of each dtype
    for (int64_t i = 0, room = 60000; i < rank; room /= std::max<int64_t>(s.dims[size_t(i++)], 1)) {
      constexpr int64_t kSides[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 129, 257};
      const int64_t side = kSides[Draw(0, 13)];
      if (tiles)
        s.dims.push_back(side <= room ? side : 1);
      else
        s.dims.push_back(Chance(3) ? 0 : Chance(20) ? 1 : Draw(2, rank < 3 ? 300 : 7));
    }
    if (rank >= 2 && Chance(30)) s.pack = static_cast<int>(Chance(50) ? 4 : Draw(2, 9));
    std::vector<size_t> order(static_cast<size_t>(rank));
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    const bool dense = Chance(30);
    if (!dense) std::shuffle(order.begin(), order.end(), random_);
    s.strides.resize(order.size());
    int64_t step = s.pack > 1 ? s.size * s.pack : s.size, low = 0, high = 0;
    for (size_t i = order.size(); i-- > 0;) {  // from the innermost
      const size_t dim = order[i];
      const int64_t count = s.pack > 1 && dim == 1 ? (s.dims[1] + s.pack - 1) / s.pack : s.dims[dim];
      const bool padded = !dense && Chance(30), turned = !dense && Chance(20), same = !dense && Chance(8);
      if (padded) step += s.size * Draw(1, 3);
      s.strides[dim] = same ? 0 : turned ? -step : step;
      if (count > 0) (s.strides[dim] < 0 ? low : high) += s.strides[dim] * (count - 1);
      step *= std::max<int64_t>(count, 1);
    }
    s.first = -low;
    s.buffer.resize(static_cast<size_t>(high - low + s.size * std::max(s.pack, 1)));
    for (char& c : s.buffer) c = static_cast<char>(dtype == DType::kBool ? Draw(0, 1) : Draw(0, 255));
    std::vector<int64_t> at(s.dims.size());
    const bool empty = std::count(s.dims.begin(), s.dims.end(), 0) > 0;
    for (bool more = !empty; more; more = Next(s.dims, &at)) {
      s.dense.append(&s.buffer[static_cast<size_t>(s.first + Offset(s, at))], static_cast<size_t>(s.size));
    }
    plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
    const std::string layer = Bytes(Chance(50) ? "" : "ab/:_.9", 120), name = Bytes(Chance(50) ? "" : "xy/:-", 120);
    place.layer = layer.c_str();
    place.index = test;
    place.slot = static_cast<int>(Draw(0, 3));
    place.is_input = Chance(20);
    place.pack = s.pack;
    ASSERT_EQ(plumb_dump_write(dump, &place, name.c_str(), s.buffer.data() + s.first, s.dtype, rank, s.dims.data(),
                               dense && Chance(50) ? nullptr : s.strides.data()),
              0);
    Tensor tensor = Tensor::Create(dtype, Shape(s.dims)).value();
    if (!s.dense.empty()) std::memcpy(tensor.raw(), s.dense.data(), s.dense.size());
    ASSERT_TRUE(WriteTensors(At("one.npy"), {{"x", tensor}}).ok());
    const std::string file = BlobFileName(test, layer, place.is_input == 0, place.slot, name, Shape(s.dims)) + ".npy";
    ASSERT_TRUE(std::filesystem::exists(At("dump/" + file))) << test << ": " << file;
    const std::string written(ReadFile(At("dump/" + file))->text());
    ASSERT_TRUE(written == ReadFile(At("one.npy"))->text()) << test << ": " << file;
    names.push_back(ChecksumOf(written.data(), written.size()) + name);
  }
  EXPECT_EQ(plumb_dump_close(dump), 0);
  const auto manifest = ReadManifest(At("dump/manifest.json"));
  ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
  ASSERT_EQ(manifest->files.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const DumpedBlob& blob = manifest->files[i];
    EXPECT_EQ(blob.checksum + blob.place.blob, names[i]) << i;
    EXPECT_EQ(blob.values_checksum, "");  // a second checksum would make the dump slower than 0.8 of a plain write
  }
  for (const char* variable : {"DUMP_OUTPUT_BLOB", "DUMP_INPUT_BLOB", "DUMP_BLOB_DIR"}) unsetenv(variable);
}

// `channels` that lie closest, of pixels in logical order last: as NHWC and as a transposed matrix. Raw values.
template <typename Value>
void ExpectTurned(plumb_dumper* dump, const std::string& folder, plumb_dtype dtype, int64_t channels, int64_t pixels) {
  plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
  place.index = 0;  // the file's name, whatever the type
  std::vector<Value> values(static_cast<size_t>(channels * pixels)), turned(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Value>(i * 2654435761u >> 7);
  for (int64_t c = 0, i = 0; c < channels; ++c) {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) turned[size_t(i++)] = values[size_t(pixel * channels + c)];
  }
  const int64_t dims[] = {channels, pixels}, strides[] = {sizeof(Value), channels * int64_t(sizeof(Value))};
  ASSERT_EQ(plumb_dump_write(dump, &place, "x", values.data(), dtype, 2, dims, strides), 0);
  const auto file = ReadFile(folder + "/" + BlobFileName(0, "x", true, 0, "x", Shape({channels, pixels})) + ".raw");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const std::string_view bytes(reinterpret_cast<const char*>(turned.data()), turned.size() * sizeof(Value));
  EXPECT_TRUE(file->text() == bytes) << channels << " x " << pixels << " of " << sizeof(Value) << " bytes";
}

// Blocks of one piece, of more, and of the most there are; planes that are larger than that; the rests of tiles.
TEST_F(DumpHeaderRandom, BlocksOfEverySizeAreTurned) {
  setenv("DUMP_OUTPUT_BLOB", "1", 1);
  setenv("DUMP_BLOB_DIR", At("turned").c_str(), 1);
  setenv("DUMP_BLOB_FORMAT", "raw", 1);
  plumb__networks = 0;
  plumb_dumper* dump = plumb_dump_open("turned", nullptr);
  ASSERT_NE(dump, nullptr);
  for (const int64_t channels : {2, 3, 15, 16, 17, 63, 64, 65, 130}) {
    for (const int64_t pixels : {1, 15, 63, 64, 65, 256, 257, 4096, 10007}) {
      ExpectTurned<uint8_t>(dump, At("turned"), PLUMB_I8, channels, pixels);
      ExpectTurned<uint16_t>(dump, At("turned"), channels % 2 == 0 ? PLUMB_F16 : PLUMB_BF16, channels, pixels);
      ExpectTurned<uint32_t>(dump, At("turned"), PLUMB_F32, channels, pixels);
      ExpectTurned<uint64_t>(dump, At("turned"), PLUMB_F64, channels, pixels);
    }
  }
  ExpectTurned<uint8_t>(dump, At("turned"), PLUMB_U8, 3, 6 * PLUMB__MOST / 16);       // two of three planes in a block
  ExpectTurned<uint16_t>(dump, At("turned"), PLUMB_F16, 2, PLUMB__MOST / 2 + 12345);  // a plane is more than a block
  EXPECT_EQ(plumb_dump_close(dump), 0);
  for (const char* variable : {"DUMP_OUTPUT_BLOB", "DUMP_BLOB_DIR", "DUMP_BLOB_FORMAT"}) unsetenv(variable);
}

TEST_F(DumpHeaderRandom, GlobsAreTheLibrarys) {
  int taken = 0;
  for (int test = 0; test < 20000; ++test) {
    const std::string pattern = "a" + Bytes("ab*?[]!-c", 7), text = "a" + Bytes("abc-]", 6);
    const bool ours = plumb__listed(pattern.c_str(), -1, text.c_str(), 1) == 1;
    EXPECT_EQ(ours, MatchesGlob(pattern, text)) << "'" << pattern << "' '" << text << "'";
    taken += ours;
  }
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace plumb
