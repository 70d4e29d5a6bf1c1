// SPDX-License-Identifier: Apache-2.0
// Small sets of files as other tools write them (source/interop/foreign_formats.h), made as their documentation says.
// Each function fills an empty folder with the tensors and says what a user would give; blobs are named without '/'.
#ifndef PLUMB_TEST_INTEROP_FOREIGN_FILES_H_
#define PLUMB_TEST_INTEROP_FOREIGN_FILES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "plumb/tensor_file.h"
#include "tensor/zip.h"

namespace plumb {

// Fails the test where the file cannot be written.
inline void PutFile(const std::string& path, const std::string& bytes) { EXPECT_TRUE(WriteFile(path, bytes).ok()); }

inline std::string BytesOf(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.bytes()}; }

inline std::string Dims(const Shape& shape) { return shape.ToString(); }

template <class T>
std::string Little(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// [n,h,w,c] of [n,c,h,w].
inline Tensor Nhwc(const Tensor& x) {
  const Shape s = x.shape();
  Tensor y = Tensor::Create(DType::kF32, {s[0], s[2], s[3], s[1]}).value();
  const int64_t pixels = s[2] * s[3];
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    y.data<float>()[i % pixels * s[1] + i / pixels % s[1]] = x.data<float>()[i];
  }
  return y;
}

inline std::string WriteCoreAi(const std::string& folder, const std::vector<NamedTensor>& blobs) {
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
  PutFile(path + "/metadata.json",
          "{\"inputs\": {" + inputs + "}, \"outputs\": {}, \"intermediates\": {" + rest + "}}");
  return path;
}

inline std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}

inline std::string WireText(int field, const std::string& text) {
  return Varint(static_cast<uint64_t>(field) << 3 | 2) + Varint(text.size()) + text;
}

// `raw` false: float_data, and dims packed.
inline std::string TensorProtoOf(const NamedTensor& blob, bool raw) {
  std::string packed, dims;
  for (const int64_t dim : blob.tensor.shape().dims()) {
    packed += Varint(static_cast<uint64_t>(dim));
    dims += "\x08" + Varint(static_cast<uint64_t>(dim));
  }
  return (raw ? dims : WireText(1, packed)) + std::string("\x10\x01", 2) + WireText(8, blob.name) +
         WireText(raw ? 9 : 4, BytesOf(blob.tensor));
}

inline std::string WriteProtos(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  for (const NamedTensor& blob : blobs) {  // what is no letter or digit is lost in file names
    PutFile(folder + "/file" + std::to_string(&blob - blobs.data()) + "_.tensorproto",
            TensorProtoOf(blob, blob.name != "conv1"));
  }
  return folder;
}

inline std::string Ieb(const Tensor& tensor, int precision, uint64_t size) {
  std::string header = std::string("IEB0\0\1", 6) + static_cast<char>(precision);
  header += static_cast<char>(tensor.shape().rank());
  for (int i = 0; i < 7; ++i)
    header += Little(i < tensor.shape().rank() ? static_cast<uint32_t>(tensor.shape()[i]) : uint32_t{0});
  header += std::string("\xFF\0\0\0", 4) + Little(uint64_t{72}) + Little(size) + Little(uint64_t{0});
  return header + Little(uint64_t{0}) + BytesOf(tensor);
}

// `f32`: the precision's number, by OpenVINO's version.
inline std::string WriteOpenVino(const std::string& folder, const std::vector<NamedTensor>& blobs, int f32 = 4) {
  for (const NamedTensor& blob : blobs) {
    const std::string file = folder + "/#" + std::to_string(&blob - blobs.data()) + "_Convolution_" + blob.name;
    PutFile(file + (blob.name == "conv1" ? "_WithoutBiases_out0.ieb" : "_out0.ieb"),
            Ieb(blob.tensor, f32, blob.tensor.bytes()));
  }
  PutFile(folder + "/#1_Convolution_conv1_blb0.ieb", "packed weights");
  return folder;
}

inline void WriteTorchFile(const std::string& path, const Tensor& tensor) {
  AtomicFile file = AtomicFile::Create(path).value();
  ZipWriter zip(&file);
  EXPECT_TRUE(zip.Add("x/data.pkl", "never looked into", nullptr, 0).ok());
  EXPECT_TRUE(zip.Add("x/data/0", "", tensor.raw(), tensor.bytes()).ok());
  EXPECT_TRUE(zip.Add("x/version", "3\n", nullptr, 0).ok());
  EXPECT_TRUE(zip.Finish().ok());
  EXPECT_TRUE(file.Commit().ok());
}

inline std::string WriteMsprobe(const std::string& folder, const std::vector<NamedTensor>& blobs) {
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
  PutFile(rank + "/dump.json",
          "{\"task\": \"tensor\", \"level\": \"L0\", \"framework\": \"pytorch\", "
          "\"dump_data_dir\": \"/elsewhere\", \"data\": {" +
              data + "}}");
  return folder;
}

// As --debug writes it, in NHWC, and what the converter says of it.
inline std::string WriteQnn(const std::string& folder, const std::vector<NamedTensor>& blobs) {
  std::filesystem::create_directories(folder + "/Result_0");
  std::string tensors;
  for (const NamedTensor& blob : blobs) {
    const bool turned = blob.tensor.shape().rank() == 4;
    if (blob.name == "input") {
      EXPECT_TRUE(WriteTensors(folder + "/../input.npy", {{"", blob.tensor}}).ok());
      continue;
    }
    const Tensor value = turned ? Nhwc(blob.tensor) : blob.tensor;
    PutFile(folder + "/Result_0/" + blob.name + ".raw", BytesOf(value));
    tensors += (tensors.empty() ? "\"" : ", \"") + blob.name +
               "\": {\"id\": 1, \"data_type\": 1032, \"dims\": " + Dims(value.shape()) +
               (turned ? ", \"permute_order_to_src\": [0, 3, 1, 2]" : "") +
               ", \"quant_params\": {\"scale_offset\": {\"bitwidth\": 8, \"scale\": 0.5, \"offset\": -3}}}";
  }
  PutFile(folder + "/digits_net.json", "{\"graph\": {\"tensors\": {" + tensors + "}}}");
  return folder;
}

}  // namespace plumb

#endif  // PLUMB_TEST_INTEROP_FOREIGN_FILES_H_
