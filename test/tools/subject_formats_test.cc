// model_check --subject with what other tools write (source/interop/foreign_formats.h): made here as their
// documentation says, judged through the real command line. Each format: healthy is aligned, a planted fault is named,
// and what is cut off, contradicts itself or leads out of the folder is one sentence and exit code 2.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "interop/tensor_set.h"
#include "plumb/tensor_file.h"
#include "tensor/zip.h"
#include "tools/command.h"

namespace plumb {
namespace {

const std::string kFormatModel = PLUMB_EXAMPLES "/digits/digits.tnnproto";
const std::string kGuilty = "conv2";

std::string BytesOf(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.bytes()}; }

std::string Dims(const Shape& shape) { return shape.ToString(); }

template <class T>
std::string Little(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// [n,h,w,c] of [n,c,h,w].
Tensor Nhwc(const Tensor& x) {
  const Shape s = x.shape();
  Tensor y = Tensor::Create(DType::kF32, {s[0], s[2], s[3], s[1]}).value();
  const int64_t pixels = s[2] * s[3];
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    y.data<float>()[i % pixels * s[1] + i / pixels % s[1]] = x.data<float>()[i];
  }
  return y;
}

// The blobs of the digits network as NAIVE computes them, written by `write` as another tool would.
class Formats : public testing::Test {
 protected:
  using Blobs = std::vector<NamedTensor>;

  static const Blobs& Healthy() {
    static const Blobs blobs = [] {
      const std::string folder = TestFolder("subject_formats_dump");
      const auto run =
          RunTool("model_run", "-m " + kFormatModel + " -d NAIVE",
                  "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + folder + "/d");
      EXPECT_EQ(run.exit_code, 0) << run.out;
      Blobs result;
      const TensorSet set = TensorSet::Open(folder + "/d").value();
      for (const StoredTensor& tensor : set.tensors()) result.push_back({tensor.name, tensor.load().value()});
      return result;
    }();
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

std::string WriteCoreAi(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  const std::string path = folder + "/main.aimodelintermediates";
  std::filesystem::create_directories(path + "/data");
  std::string inputs, rest;
  for (const NamedTensor& blob : blobs) {
    const std::string file = blob.name + "_0001.npy";
    EXPECT_TRUE(WriteTensors(path + "/data/" + file, {{"", blob.tensor}}).ok());
    std::string& list = blob.name == "input" ? inputs : rest;
    list += std::string(list.empty() ? "" : ", ") + "\"" + blob.name + "\": {\"node_name\": \"" + blob.name +
            "\", \"node_op\": \"call_function\", \"data_file\": \"data/" + file +
            "\", \"shape\": " + Dims(blob.tensor.shape()) + ", \"torch_dtype\": \"torch.float32\"}";
  }
  WriteText(path + "/metadata.json",
            "{\"inputs\": {" + inputs + "}, \"outputs\": {}, \"intermediates\": {" + rest + "}}");
  return path;
}

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
  ExpectRefused(path, "' of node 'conv2' has the shape ");
  WriteText(path + "/metadata.json", json);
  std::filesystem::remove(path + "/data/conv2_0001.npy");
  ExpectRefused(path, "conv2_0001.npy");
  std::filesystem::remove(path + "/metadata.json");
  ExpectRefused(path, "metadata.json");
}

// --- ONNX Runtime

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

std::string WireText(int field, const std::string& text) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(text.size()) + text;
}

// `raw` false: float_data, and dims packed.
std::string TensorProtoOf(const NamedTensor& blob, bool raw) {
  std::string packed, dims;
  for (const int64_t dim : blob.tensor.shape().dims()) {
    packed += Varint(static_cast<uint64_t>(dim));
    dims += "\x08" + Varint(static_cast<uint64_t>(dim));
  }
  return (raw ? dims : WireText(1, packed)) + std::string("\x10\x01", 2) + WireText(8, blob.name) +
         WireText(raw ? 9 : 4, BytesOf(blob.tensor));
}

std::string WriteProtos(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  for (const NamedTensor& blob : blobs) {  // what is no letter or digit is lost in file names
    WriteText(folder + "/file" + std::to_string(&blob - blobs.data()) + "_.tensorproto",
              TensorProtoOf(blob, blob.name != "conv1"));
  }
  return folder;
}

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

std::string Ieb(const Tensor& tensor, int precision, uint64_t size) {
  std::string header = std::string("IEB0\0\1", 6) + static_cast<char>(precision);
  header += static_cast<char>(tensor.shape().rank());
  for (int i = 0; i < 7; ++i)
    header += Little(i < tensor.shape().rank() ? static_cast<uint32_t>(tensor.shape()[i]) : uint32_t{0});
  header += std::string("\xFF\0\0\0", 4) + Little(uint64_t{72}) + Little(size) + Little(uint64_t{0});
  return header + Little(uint64_t{0}) + BytesOf(tensor);
}

TEST_F(Formats, OpenVinosBlobDump) {
  for (const int f32 : {4, 5, 10}) {  // since 2025, before, InferenceEngine
    const auto write = [f32](const std::string& folder, const Blobs& blobs) {
      for (const NamedTensor& blob : blobs) {
        const std::string file = folder + "/#" + std::to_string(&blob - blobs.data()) + "_Convolution_" + blob.name;
        WriteText(file + (blob.name == "conv1" ? "_WithoutBiases_out0.ieb" : "_out0.ieb"),
                  Ieb(blob.tensor, f32, blob.tensor.bytes()));
      }
      WriteText(folder + "/#1_Convolution_conv1_blb0.ieb", "packed weights");
      return folder;
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

void WriteTorchFile(const std::string& path, const Tensor& tensor) {
  AtomicFile file = AtomicFile::Create(path).value();
  ZipWriter zip(&file);
  EXPECT_TRUE(zip.Add("x/data.pkl", "never looked into", nullptr, 0).ok());
  EXPECT_TRUE(zip.Add("x/data/0", "", tensor.raw(), tensor.bytes()).ok());
  EXPECT_TRUE(zip.Add("x/version", "3\n", nullptr, 0).ok());
  EXPECT_TRUE(zip.Finish().ok());
  EXPECT_TRUE(file.Commit().ok());
}

std::string WriteMsprobe(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  const std::string rank = folder + "/step0/rank0";
  std::filesystem::create_directories(rank + "/dump_tensor_data");
  std::string data;
  const auto tensor = [&](const NamedTensor& blob, const std::string& name) {
    const bool npy = blob.name == "relu1";
    const std::string file = name + (npy ? ".npy" : ".pt"), path = rank + "/dump_tensor_data/" + file;
    if (npy) {
      EXPECT_TRUE(WriteTensors(path, {{"", blob.tensor}}).ok());
    } else {
      WriteTorchFile(path, blob.tensor);
    }
    return "[{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": " + Dims(blob.tensor.shape()) +
           ", \"Max\": 1.0, \"data_name\": \"" + file + "\"}]";
  };
  for (const NamedTensor& blob : blobs) {
    if (blob.name == "input") continue;
    const std::string op = "Module." + blob.name + ".Layer.forward.0";
    std::string inputs = "[]";
    if (blob.name == "conv1") {
      for (const NamedTensor& other : blobs) {
        if (other.name == "input") inputs = tensor(other, op + ".input.0");
      }
    }
    data += (data.empty() ? "\"" : ", \"") + op + "\": {\"input_args\": " + inputs +
            ", \"input_kwargs\": {}, \"output\": " + tensor(blob, op + ".output.0") + "}";
  }
  WriteText(rank + "/dump.json",
            "{\"task\": \"tensor\", \"level\": \"L0\", \"framework\": \"pytorch\", "
            "\"dump_data_dir\": \"/elsewhere\", \"data\": {" +
                data + "}}");
  return folder;
}

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

// As --debug writes it, in NHWC, and what the converter says of it.
std::string WriteQnn(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  std::filesystem::create_directories(folder + "/Result_0");
  std::string tensors;
  for (const NamedTensor& blob : blobs) {
    const bool turned = blob.tensor.shape().rank() == 4;
    if (blob.name == "input") {
      EXPECT_TRUE(WriteTensors(folder + "/../input.npy", {{"", blob.tensor}}).ok());
      continue;
    }
    const Tensor value = turned ? Nhwc(blob.tensor) : blob.tensor;
    WriteText(folder + "/Result_0/" + blob.name + ".raw", BytesOf(value));
    tensors += (tensors.empty() ? "\"" : ", \"") + blob.name +
               "\": {\"id\": 1, \"data_type\": 1032, \"dims\": " + Dims(value.shape()) +
               (turned ? ", \"permute_order_to_src\": [0, 3, 1, 2]" : "") +
               ", \"quant_params\": {\"scale_offset\": {\"bitwidth\": 8, \"scale\": 0.5, \"offset\": -3}}}";
  }
  WriteText(folder + "/digits_net.json", "{\"graph\": {\"tensors\": {" + tensors + "}}}");
  return folder;
}

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
