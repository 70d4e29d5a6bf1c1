// plumb_dump.h against the library, on random tensors: dtypes, ranks, shapes, strides (permuted, padded, negative, 0),
// channels in blocks, names of any bytes, places. Every value lies where the strides say, its neighbours are poison,
// and what is written must be the library's bytes under the library's name. Built with the sanitizers like all tests.
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

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
    for (int i = 0; i < rank; ++i) s.dims.push_back(Chance(3) ? 0 : Chance(20) ? 1 : Draw(2, rank < 3 ? 300 : 7));
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
