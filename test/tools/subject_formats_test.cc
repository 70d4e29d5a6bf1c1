// SPDX-License-Identifier: Apache-2.0
// model_check --subject with what other tools write (source/interop/foreign_formats.h): made here as their
// documentation says, judged through the real command line. Each format: healthy is aligned, a planted fault is named,
// and what is cut off, contradicts itself or leads out of the folder is one sentence and exit code 2.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "interop/foreign_files.h"
#include "interop/tensor_set.h"
#include "plumb/tensor_file.h"
#include "tools/blobs_of_naive.h"
#include "tools/command.h"

namespace plumb {
namespace {

const std::string kFormatModel = PLUMB_EXAMPLES "/digits/digits.tnnproto";
const std::string kGuilty = "conv2";

// The blobs of the digits network as NAIVE computes them, written by `write` as another tool would.
class Formats : public testing::Test {
 protected:
  using Blobs = std::vector<NamedTensor>;

  static const Blobs& Healthy() {
    static const Blobs blobs = BlobsOfNaive(kFormatModel);
    return blobs;
  }
  static Blobs Faulty() {
    Blobs blobs = Healthy();
    for (NamedTensor& blob : blobs) {
      if (blob.name != kGuilty) continue;
      blob.tensor = blob.tensor.Clone().value();
      blob.tensor.data<float>()[5] += 0.5f;
    }
    return blobs;
  }

  std::string Fresh() const {
    std::filesystem::remove_all(folder_ + "/s");
    std::filesystem::create_directories(folder_ + "/s");
    return folder_ + "/s";
  }
  CommandResult Check(const std::string& subject, const std::string& more = "") const {
    return RunTool("model_check", "-m " + kFormatModel + " --subject '" + subject + "' " + more);
  }
  // Both through the command line; `write` fills the folder and says what to give.
  void ExpectJudged(const std::function<std::string(const std::string&, const Blobs&)>& write, const std::string& what,
                    const std::string& more = "") const {
    const auto right = Check(write(Fresh(), Healthy()), more);
    EXPECT_EQ(right.exit_code, 0) << right.out;
    EXPECT_NE(right.out.find(what), std::string::npos) << right.out;
    EXPECT_NE(right.out.find(", 0 wrong, 0 not tested"), std::string::npos) << right.out;
    const auto wrong = Check(write(Fresh(), Faulty()), more);
    EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
    EXPECT_NE(wrong.out.find("wrong at '" + kGuilty + "'"), std::string::npos) << wrong.out;
  }
  void ExpectRefused(const std::string& subject, const std::string& sentence) const {
    const auto run = Check(subject);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_NE(run.out.find(sentence), std::string::npos) << run.out;
  }

  std::string folder_ = TestFolder("subject_formats");
};

// --- Core AI

TEST_F(Formats, CoreAiIntermediates) {
  ExpectJudged(WriteCoreAi, "Core AI intermediates, ");
  const std::string path = WriteCoreAi(Fresh(), Healthy());
  const std::string json = ReadText(path + "/metadata.json");
  EXPECT_EQ(Check(folder_ + "/s").exit_code, 0);           // the folder around it
  EXPECT_EQ(Check(path + "/metadata.json").exit_code, 0);  // what save_intermediates returns
  WriteText(path + "/metadata.json", json.substr(0, 200));
  ExpectRefused(path, "metadata.json' is no JSON, expected what coreai-torch's save_intermediates writes");
  std::string other = json;
  other.replace(other.find("data/conv2"), 10, "../../conv");
  WriteText(path + "/metadata.json", other);
  ExpectRefused(path, "node 'conv2': expected the name of a file in the folder");
  other = json;
  other.replace(other.find("\"shape\": [", other.find("\"conv2\"")), 11, "\"shape\": [7");
  WriteText(path + "/metadata.json", other);
  ExpectRefused(path, "conv2_0001.npy' has the shape [1,32,8,8], metadata.json of node 'conv2' says [7");
  WriteText(path + "/metadata.json", json);
  std::filesystem::remove(path + "/data/conv2_0001.npy");
  ExpectRefused(path, "conv2_0001.npy");
  std::filesystem::remove(path + "/metadata.json");
  ExpectRefused(path, "metadata.json");
}

// --- ONNX Runtime

TEST_F(Formats, OnnxRuntimesTensorProtos) {
  ExpectJudged(WriteProtos, "TensorProto files (ONNX Runtime's debug node dump), ");
  const std::string path = WriteProtos(Fresh(), Healthy());
  const std::string whole = TensorProtoOf(Healthy().back(), true), file = path + "/file0_.tensorproto";
  WriteText(file, whole.substr(0, whole.size() - 9));
  ExpectRefused(path, "file0_.tensorproto' is no TensorProto of ONNX: what begins at byte ");
  WriteText(file, WireText(8, "conv1") + "\x08" + Varint(uint64_t{1} << 62) + "\x08" + Varint(uint64_t{1} << 62) +
                      std::string("\x10\x01", 2));
  ExpectRefused(path, "file0_.tensorproto', tensor 'conv1'");
  WriteText(file, WireText(8, "x") + std::string("\x10\x01\x08\x09", 4) + WireText(9, "1234"));
  EXPECT_EQ(Check(file).exit_code, 2);
}

TEST_F(Formats, DatabasesAndEtDumpsNameTheCommand) {
  const std::string path = Fresh();
  WriteText(path + "/execution-trace-pid1.db", std::string("SQLite format 3\0", 16) + std::string(84, '\0'));
  ExpectRefused(path, "is an SQLite database (ONNX Runtime's debug node dump)");
  ExpectRefused(path + "/execution-trace-pid1.db", "plumb-golden read " + path + "/execution-trace-pid1.db -o dump");
  WriteText(path + "/x.bin", std::string("\xA4\x09\0\0\x08\0\0\0ED00", 12) + std::string(84, '\0'));
  ExpectRefused(path + "/x.bin", "is an ETDump of ExecuTorch");
}

// --- OpenVINO

TEST_F(Formats, OpenVinosBlobDump) {
  for (const int f32 : {4, 5, 10}) {  // since 2025, before, InferenceEngine
    const auto write = [f32](const std::string& folder, const Blobs& blobs) {
      return WriteOpenVino(folder, blobs, f32);
    };
    ExpectJudged(write, "OpenVINO's blob dump, 1 files of packed weights or other names passed over, ");
  }
  const std::string path = Fresh(), file = path + "/#1_Convolution_conv1_out0.ieb";
  const Tensor& x = Healthy()[0].tensor;
  const std::string whole = Ieb(x, 4, x.bytes());
  WriteText(file, whole.substr(0, 40));
  ExpectRefused(path, "conv1_out0.ieb': it has 40 bytes, its header 72");
  WriteText(file, Ieb(x, 4, uint64_t{1} << 60));
  ExpectRefused(path, "its header says 1152921504606846976 bytes of values from byte 72 on");
  WriteText(file, Ieb(x, 99, x.bytes()));
  ExpectRefused(path, "precision 99, 4 bytes per value");
  WriteText(file, "IEB1" + whole.substr(4));
  ExpectRefused(path, "expected 'IEB0' in front");
}

// --- msprobe

TEST_F(Formats, MsprobesDump) {
  ExpectJudged(WriteMsprobe, "msprobe's dump, ");
  const std::string path = WriteMsprobe(Fresh(), Healthy()), json = path + "/step0/rank0/dump.json";
  const std::string text = ReadText(json), file = "Module.conv2.Layer.forward.0.output.0.pt";
  EXPECT_EQ(Check(json).exit_code, 0);
  WriteText(json, text.substr(0, text.size() / 2));
  ExpectRefused(path, "dump.json' is no JSON, expected msprobe's dump");
  std::string other = text;
  other.replace(other.find(file), file.size(), "../../../../x.pt");
  WriteText(json, other);
  ExpectRefused(path, "expected the name of a file in the folder");
  other = text;
  other.replace(other.find("\"dtype\": \"torch.float32\""), 24, "\"dtype\": \"torch.complex64\"");
  WriteText(json, other);
  ExpectRefused(path, "has the dtype 'torch.complex64', which Plumb has not");
  other = text;
  for (size_t at = 0; (at = other.find("data_name", at)) != std::string::npos;) other.replace(at, 9, "md5");
  WriteText(json, other);
  ExpectRefused(path, "holds no tensor values, only statistics of ");
  WriteText(json, text);
  const std::string data = path + "/step0/rank0/dump_tensor_data/" + file, whole = ReadText(data);
  WriteText(data, whole.substr(0, whole.size() - 30));
  ExpectRefused(path, file);
  WriteTorchFile(data, Tensor::Zeros(DType::kF32, {3}).value());
  ExpectRefused(path, "holds 12 bytes of values, dump.json says f32 ");
  std::filesystem::create_directories(path + "/step1");
  ExpectRefused(path, "holds 2 dumps of msprobe; name one: ");
}

// --- QNN and SNPE

TEST_F(Formats, QnnsRawOutputs) {
  const std::string given = "-i input=" + folder_ + "/input.npy";
  ExpectJudged(WriteQnn, "raw outputs of QNN or SNPE, ", given);
  const auto flat = [](const std::string& folder, const Blobs& blobs) {
    std::filesystem::remove(WriteQnn(folder, blobs) + "/digits_net.json");
    return folder + "/Result_0";
  };
  ExpectJudged(flat, "nobody says the shape of ", given + " --layout NHWC");

  const std::string path = WriteQnn(Fresh(), Healthy()), json = path + "/digits_net.json", text = ReadText(json);
  WriteText(json, text.substr(0, 100));
  ExpectRefused(path, "digits_net.json', beside QNN's raw files, is no JSON");
  std::string other = text;
  other.replace(other.find("[0, 3, 1, 2]"), 12, "[0, 3, 1, 1]");
  WriteText(json, other);
  ExpectRefused(path, "permute_order_to_src is no order of its 4 dims");
  WriteText(json, text);
  WriteText(path + "/Result_0/conv2.raw", "123");
  ExpectRefused(path, "conv2.raw' has 3 bytes");
  std::filesystem::create_directories(path + "/Result_1");
  ExpectRefused(path, "holds the outputs of 2 inputs; name one: ");
}

TEST_F(Formats, ATensorThatIsCalledEncodingsIsNoDescription) {
  const std::string path = Fresh();
  EXPECT_TRUE(WriteTensors(path + "/position_encodings.npy", {{"", Tensor::Zeros(DType::kF32, {3}).value()}}).ok());
  WriteText(path + "/x.raw", "12345");  // whose shape nobody says
  const TensorSet set = TensorSet::Open(path).value();
  ASSERT_EQ(set.tensors().size(), 1u);
  EXPECT_EQ(set.tensors()[0].name, "position_encodings");
}

TEST_F(Formats, QnnsNativeValuesAreDequantised) {
  const std::string path = Fresh() + "/Result_0";
  std::filesystem::create_directories(path + "/scope");
  WriteText(path + "/a_native.raw", std::string("\x00\x80\xFF", 3));
  WriteText(path + "/scope/b:0_native.raw", Little(int16_t{-2}) + Little(int16_t{7}));
  WriteText(path + "/c_native.raw", Little(uint16_t{40000}));
  WriteText(path + "/c.raw", Little(1.25f));  // --output_data_type float_and_native
  const std::string encodings = path + "/../model.encodings";
  WriteText(encodings,
            R"({"activation_encodings": {"a": [{"bitwidth": 8, "scale": 0.5, "offset": -128, "is_symmetric": "False"}],
                "/scope/b:0": [{"bitwidth": 16, "scale": 0.25, "offset": 0, "is_symmetric": "True"}]}})");
  const TensorSet set = TensorSet::Open(path).value();
  ASSERT_EQ(set.tensors().size(), 3u);
  const auto values = [&](size_t i) {
    const Tensor tensor = set.tensors()[i].load().value();
    return std::vector<float>(tensor.data<float>(), tensor.data<float>() + tensor.NumElements());
  };
  EXPECT_EQ(values(0), (std::vector<float>{-64, 0, 63.5f}));
  EXPECT_EQ(values(1), (std::vector<float>{1.25f}));
  EXPECT_EQ(set.tensors()[2].name, "scope/b:0");
  EXPECT_EQ(values(2), (std::vector<float>{-0.5f, 1.75f}));
  WriteText(encodings, R"({"version": "1.0.0", "activation_encodings": [
      {"name": "a", "bw": 8, "dtype": "INT", "enc_type": "PER_TENSOR", "is_sym": false,
       "scale": [2], "offset": [0]}]})");
  EXPECT_EQ(TensorSet::Open(path).status().message().find("'" + path + "/scope/b:0_native.raw' holds values as the "),
            0u);
  std::filesystem::remove(path + "/scope/b:0_native.raw");
  EXPECT_EQ(TensorSet::Open(path)->tensors()[0].load()->ValueAt(1), 256);
  WriteText(encodings, R"({"activation_encodings": {"a": [{"bitwidth": 8, "scale": 0, "offset": "x"}]}})");
  ExpectRefused(path, "encoding of 'a': expected one positive scale and one offset, found 0 and \"x\"");
}

}  // namespace
}  // namespace plumb
