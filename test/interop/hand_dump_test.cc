// SPDX-License-Identifier: Apache-2.0
// Dumps that somebody else's program wrote by hand: a manifest of four fields, raw files that say their shape in their
// name, names as files can hold them. What is missing is said at once.
#include <gtest/gtest.h>

#include <ctime>

#include "base/file.h"
#include "dump/dump_test_util.h"
#include "dump/file_name.h"
#include "interop/pairing.h"
#include "interop/tensor_set.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

class HandDump : public ::testing::Test {
 protected:
  HandDump() { std::filesystem::create_directories(Path("")); }
  std::string Path(const std::string& name) const { return folder_ / "dump/" + name; }
  void Write(const std::string& name, const std::string& bytes) { ASSERT_TRUE(WriteFile(Path(name), bytes).ok()); }
  template <class T>
  void WriteRaw(const std::string& name, const std::vector<T>& values) {
    Write(name, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  }
  std::string Refused() const {
    const Status status = TensorSet::Open(Path("")).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.message().find("json.exception"), std::string::npos) << status.message();
    return status.message();
  }
  static const StoredTensor& Find(const TensorSet& set, const std::string& name) {
    for (const StoredTensor& tensor : set.tensors()) {
      if (tensor.name == name) return tensor;
    }
    ADD_FAILURE() << "no tensor '" << name << "'";
    return set.tensors().front();
  }

  TempFolder folder_;
};

TEST_F(HandDump, FourFieldsPerFileAreEnough) {
  WriteRaw<float>("c.raw", {1, 2, 3, 4});
  Write("t.txt", "1\n-2\n");
  ASSERT_TRUE(WriteTensors(Path("flat.npy"), {{"", Floats({5, 6, 7, 8, 9, 10}, {6})}}).ok());
  Write("manifest.json", R"({"files": [
    {"file": "c.raw", "blob": "layer/conv:0", "shape": [1, 2, 1, 2], "dtype": "f32"},
    {"file": "t.txt", "blob": "ids", "shape": [2], "dtype": "i64"},
    {"file": "flat.npy", "blob": "y", "shape": [1, 6, 1, 1], "dtype": "f32"}], "device": "my NPU"})");
  const auto set = TensorSet::Open(Path(""));
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->description(), "dump of my NPU, 3 tensors");
  const Tensor conv = Find(*set, "layer/conv:0").load().value();
  EXPECT_EQ(conv.shape(), Shape({1, 2, 1, 2}));
  EXPECT_EQ(conv.ValueAt(3), 4);
  EXPECT_EQ(Find(*set, "ids").load()->dtype(), DType::kI64);
  EXPECT_EQ(Find(*set, "y").load()->shape(), Shape({1, 6, 1, 1})) << "a flat array of as many values";
  EXPECT_TRUE(Find(*set, "ids").is_input) << "nobody says that a layer wrote it";
  EXPECT_FALSE(set->channels_first());
}

TEST_F(HandDump, SaysInWhichOrderItsBlobsAre) {
  WriteRaw<float>("c.raw", {1, 2, 3, 4});
  for (const auto& [order, first] : {std::pair<const char*, bool>("NCHW", true), {"model", false}}) {
    Write("manifest.json", std::string(R"({"files": [
      {"file": "c.raw", "blob": "c", "shape": [1, 2, 1, 2], "dtype": "f32"}], "options": {"order": ")") +
                               order + R"("}})");
    const auto set = TensorSet::Open(Path(""));
    ASSERT_TRUE(set.ok()) << set.status().message();
    EXPECT_EQ(set->channels_first(), first) << order;
  }
}

TEST_F(HandDump, SaysEverythingThatIsMissingAtOnce) {
  Write("manifest.json",
        R"({"files": [{"file": "a.npy"}, {"file": "b.npy"}, {"blob": "c", "shape": [1], "dtype": "f32"}]})");
  const std::string message = Refused();
  for (const char* part : {"manifest '", "dump//manifest.json'",
                           "entry 1 of 'files' ('a.npy') and 1 more lack 'blob', 'shape' and 'dtype'",
                           "entry 3 of 'files' lacks 'file'", "enough is {\"files\": [{\"file\": \"conv1.npy\""}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  const size_t skeleton = message.find("{\"files\"");
  const std::string json = message.substr(skeleton, message.rfind('}') + 1 - skeleton);
  Write("manifest.json", json);
  EXPECT_TRUE(TensorSet::Open(Path("")).ok()) << "the skeleton is a manifest: " << json;
}

TEST_F(HandDump, SaysWhatIsOfTheWrongKind) {
  const std::string good = R"({"files": [{"file": "a.npy", "blob": "a", "shape": [1, 2], "dtype": "f32"}]})";
  const std::vector<std::vector<std::string>> cases = {
      {"[1, 2]", "\"1x2\"", "entry 1 of 'files' ('a.npy'): 'shape' is \"1x2\", expected a list of sizes"},
      {"[1, 2]", "[1, -2]", "'shape' is [1,-2], expected a list of sizes"},
      {"\"f32\"", "\"float32\"", "'dtype' is \"float32\", expected f32, f16"},
      {"\"a.npy\"", "\"sub/a.npy\"", "'file' is \"sub/a.npy\", expected a name without a folder"},
      {"\"a.npy\"", "\"a.npy\\u0000../../secret.npy\"", "expected a name without a folder"},
      {"\"a.npy\"", "\"a.npy\\u0000.txt\"", "'file' is \"a.npy\\u0000.txt\", expected a name without a folder"},
      {"\"files\"", "\"io_files\": [\"../a.dat\"], \"files\"", "'io_files' is [\"../a.dat\"], expected names without"},
      {"\"files\"", "\"io_files\": [\"a\\u0000.dat\"], \"files\"", "expected names without a folder"},
      {"\"blob\": \"a\"", "\"blob\": \"a\", \"direction\": \"up\"",
       "'direction' is \"up\", expected \"in\" or \"out\""},
      {"[{", "7, [{", "is no JSON: parse error at line 1"},
      {"\"files\"", "\"flies\"", "it has no list 'files'"},
      {"[{\"file\": \"a.npy\", \"blob\": \"a\", \"shape\": [1, 2], \"dtype\": \"f32\"}]", "[3]",
       "entry 1 of 'files' is 3, expected an object"},
  };
  for (const auto& c : cases) {
    std::string bad = good;
    const size_t at = bad.find(c[0]);
    ASSERT_NE(at, std::string::npos) << c[0];
    Write("manifest.json", bad.replace(at, c[0].size(), c[1]));
    const std::string message = Refused();
    EXPECT_NE(message.find(c[2]), std::string::npos) << c[2] << " in " << message;
  }
}

// Copying or printing it took the stack.
TEST_F(HandDump, NestedJsonIsRefused) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  const std::pair<const char*, std::string> files[] = {
      {"manifest.json", "{\"tool\": " + deep + ", \"files\": []}"},
      {"saved.json", "{\"x\": " + deep + "}"},
      {"dump.json", "{\"data\": {\"op\": {\"output\": " + deep + "}}}"},
      {"x_net.json",
       "{\"graph\": {\"tensors\": {\"c\": {\"quant_params\": {\"scale_offset\": {\"scale\": " + deep + "}}}}}}"}};
  WriteRaw<float>("c.raw", {1});
  for (const auto& [name, text] : files) {
    Write(name, text);
    EXPECT_NE(Refused().find("is JSON that nests more than 100 deep"), std::string::npos) << name << ": " << Refused();
    std::filesystem::remove(Path(name));
  }
}

// Each key was looked up among all before it.
TEST_F(HandDump, ManyKeysTakeNoLongerEach) {
  std::string text = R"({"files": [{"file": "c.raw", "blob": "c", "shape": [1], "dtype": "f32"}])";
  for (int i = 0; i < 100000; ++i) text += ", \"a" + std::to_string(i) + "\": 0";
  WriteRaw<float>("c.raw", {1});
  Write("manifest.json", text + "}");
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(TensorSet::Open(Path("")).ok());
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 5) << "it took 14 s";
}

TEST_F(HandDump, RawFilesSayTheirShapeInTheirName) {
  WriteRaw<float>("conv1-dims-1-2-1-2.raw", {1, 2, 3, 4});
  WriteRaw<uint16_t>("half-dims-3.bin", {0x3C00, 0x4000, 0xBC00});
  WriteRaw<double>("wide-dims-2-1.dat", {0.1, 0.2});
  WriteRaw<float>("00003-conv-out-0-x_0-dims-2.raw", {7, 8});
  WriteRaw<float>("nameless.raw", {1, 5});
  WriteRaw<uint8_t>("bytes.raw", {1, 2, 3});
  const auto set = TensorSet::Open(Path(""));
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->tensors().size(), 5u);
  EXPECT_NE(
      set->description().find(
          "1 raw files are left out, because nobody says their shape and they are no values of four bytes (bytes.raw)"),
      std::string::npos)
      << set->description();
  EXPECT_FALSE(Find(*set, "nameless").has_shape) << "the blob of its name says it";
  EXPECT_EQ(Find(*set, "nameless").load()->ValueAt(1), 5);
  EXPECT_EQ(Find(*set, "conv1").load()->shape(), Shape({1, 2, 1, 2}));
  EXPECT_EQ(Find(*set, "half").load()->dtype(), DType::kF16);
  EXPECT_EQ(Find(*set, "half").load()->ValueAt(2), -1);
  EXPECT_EQ(Find(*set, "wide").load()->ValueAt(0), 0.1);
  EXPECT_EQ(Find(*set, "x_0").load()->ValueAt(1), 8);
  EXPECT_TRUE(Find(*set, "conv1").has_bits);
  WriteRaw<uint8_t>("odd-dims-2-2.raw", {1, 2, 3, 4, 5});
  const auto again = TensorSet::Open(Path(""));
  const Status odd = Find(*again, "odd").load().status();
  EXPECT_NE(odd.message().find("odd-dims-2-2.raw' has 5 bytes; the 4 values [2,2] of its name"), std::string::npos)
      << odd.message();
}

TEST_F(HandDump, NotesBesideTnnsFilesAreNoTensors) {
  Write("00003-conv-out-0-x_0-dims-2.txt", "7.000000000\n8.000000000\n");
  Write("notes.txt", "what I did today\n");
  Write("log.json", "{}");
  WriteRaw<float>("y-dims-1.raw", {3});
  const auto set = TensorSet::Open(Path(""));
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->tensors().size(), 2u);
}

TEST_F(HandDump, RawFilesWithoutAShapeAloneAreAnError) {
  WriteRaw<uint8_t>("a.raw", {1});
  EXPECT_NE(Refused().find("name them like conv1-dims-1-64-112-112.raw, or write a manifest.json"), std::string::npos);
}

TEST_F(HandDump, NamesComeBackFromFileNames) {
  const std::string odd = "scope/conv 1:0", plain = "/model/layer.1/Conv_output_0";
  const std::vector<std::string> model = {odd, plain, "a/b", "a_c"};
  const auto pairs = [&](const std::vector<std::string>& theirs) {
    std::map<std::string, std::string> result;
    const NamePairing pairing = PairNames(model, theirs, {}).value();
    for (const auto& [i, j] : pairing.pairs) result[theirs[j]] = model[i];
    return result;
  };
  const std::string written = NameInFiles(odd);
  EXPECT_EQ(written.substr(0, 13), "scope_conv_1_") << "and a checksum behind it";
  EXPECT_EQ(pairs({written, "_model_layer.1_Conv_output_0", "a_b", "a_c"}),
            (std::map<std::string, std::string>{
                {written, odd}, {"_model_layer.1_Conv_output_0", plain}, {"a_b", "a/b"}, {"a_c", "a_c"}}));
  EXPECT_EQ(pairs({"model_layer.1_Conv_output_0"}).at("model_layer.1_Conv_output_0"), plain)
      << "without the '/' in front";
}

}  // namespace
}  // namespace plumb
