// SPDX-License-Identifier: Apache-2.0
// Whoever is at the door with something else than was expected is told the next step, or it is simply taken.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tools/command.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

const std::string kProto = PLUMB_EXAMPLES "/digits/digits.tnnproto";

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int LinesWith(const std::string& text, const std::string& part) {
  int count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) count += Has(line, part) ? 1 : 0;
  return count;
}

TEST(NextStep, EachEndingHasOne) {
  const std::string folder = TestFolder("next_step");
  const std::pair<const char*, const char*> endings[] = {{".pt", "torch.onnx.export"},
                                                         {".pth", "plumb-golden torch"},
                                                         {".gguf", "ggml_hook.h"},
                                                         {".safetensors", "torch.onnx.export"},
                                                         {".h5", "tf2onnx"},
                                                         {".keras", "format=\"onnx\""},
                                                         {".mnn", "plumb-golden mnn"},
                                                         {".param", "plumb-golden ncnn"},
                                                         {".xml", "plumb-golden openvino"},
                                                         {".engine", "polygraphy"},
                                                         {".plan", "--save-outputs"},
                                                         {".mlpackage", "Core ML"},
                                                         {".pte", "plumb-golden read"},
                                                         {".dlc", "qnn-net-run"},
                                                         {".om", "msprobe"},
                                                         {".pdmodel", "paddle2onnx"},
                                                         {".npz", "-i"},
                                                         {".bmodel", ".dat.bmrt"},
                                                         {".zip", "unpack"}};
  for (const auto& [ending, step] : endings) {
    const std::string model = folder + "/net" + ending;
    WriteText(model, "not a model");
    for (const char* tool : {"model_check", "model_run", "model_info"}) {
      const CommandResult run = RunTool(tool, "-m " + model + " 2>&1");
      EXPECT_EQ(run.exit_code, 2) << run.out;
      EXPECT_TRUE(Has(run.out, "Plumb reads .tnnproto, .onnx or .tflite: ")) << run.out;
      EXPECT_TRUE(Has(run.out, step)) << ending << ": " << run.out;
    }
  }
}

TEST(NextStep, ARuntimesNameIsNoFolder) {
  const std::string check = "-m " + kProto + " -d NAIVE ";
  for (const char* word : {"ort", "ORT", "onnx", "onnxruntim"}) {
    const CommandResult run = RunTool("model_check", check + "--golden " + word);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out, "did you mean 'onnxruntime'?")) << run.out;
  }
  const CommandResult golden = RunTool("model_check", check + "--golden openvino");
  EXPECT_TRUE(Has(golden.out, "plumb-golden openvino MODEL -o dump")) << golden.out;
  const CommandResult subject = RunTool("model_check", "-m " + kProto + " --subject mnn");
  EXPECT_TRUE(Has(subject.out, "plumb-golden mnn MODEL -o dump writes what it computes, then --subject dump"))
      << subject.out;
}

TEST(NextStep, OneErrorIsSaidOnceWhereBothStreamsMeet) {
  const std::string call = "-m gone.tnnproto";
  EXPECT_EQ(LinesWith(RunTool("model_check", call).out, "gone.tnnproto"), 1) << "standard output and error are one";
  const std::string apart = TestFolder("one_error") + "/error.txt";
  const CommandResult run =
      RunCommand(PLUMB_BIN_DIR "/model_check " + call + " 2>" + apart + "; sed 's/^/stderr: /' " + apart);
  EXPECT_EQ(LinesWith(run.out, "stderr: error: "), 1) << run.out;
  EXPECT_EQ(LinesWith(run.out, "ERROR: "), 1) << run.out;
}

TEST(NextStep, TheLastLineSaysThePrecisionThatRan) {
  const CommandResult run = RunTool("model_check", "-m " + kProto + " -d NAIVE --precision LOW -q");
  EXPECT_TRUE(Has(run.out, "NAIVE ran HIGH in place of LOW")) << run.out;
  EXPECT_FALSE(Has(RunTool("model_check", "-m " + kProto + " -d NAIVE -q").out, "in place of"));
  EXPECT_FALSE(Has(RunTool("model_check", "-m " + kProto + " -d NAIVE --precision auto -q").out, "in place of"));
}

TEST(NextStep, AFilterOfAFusedLayerDumpsItsGroup) {
  const std::string folder = TestFolder("fused_filter") + "/dump";
  const std::string dump = "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + folder + " DUMP_BLOB_TYPES=";
  const CommandResult run = RunTool("model_run", "-m " + kProto + " -d X86", dump + "Convolution");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, ": 3 files, ")) << "digits has three convolutions, each fused with its ReLU\n" << run.out;
  const CommandResult onnx = RunTool("model_run", "-m " + kProto + " -d X86", dump + "Conv");
  EXPECT_EQ(onnx.exit_code, 2) << onnx.out;
  EXPECT_TRUE(Has(onnx.out, "unknown operator type 'Conv'; did you mean 'Convolution'?")) << onnx.out;
  const CommandResult gemm = RunTool("model_run", "-m " + kProto + " -d X86", dump + "Gemm");
  EXPECT_TRUE(Has(gemm.out, "did you mean 'InnerProduct'?")) << gemm.out;
}

TEST(NextStep, WhatModelRunWritesIsReadEverywhere) {
  const std::string folder = TestFolder("written"), image = PLUMB_EXAMPLES "/digits/images/digit_3.png";
  const std::string call = "-m " + kProto + " -d NAIVE -i " + image + " -n 120 -s 0.0078125 ";
  ASSERT_EQ(RunTool("model_run", call + "-o " + folder + "/ref.txt").exit_code, 0);
  ASSERT_EQ(RunTool("model_run", call + "-o " + folder + "/ref.npz").exit_code, 0);
  const CommandResult check = RunTool("model_check", call + "-e -f " + folder + "/ref.txt");
  EXPECT_EQ(check.exit_code, 0) << check.out;
  const CommandResult diff =
      RunTool("blob_diff", folder + "/ref.txt " + folder + "/ref.npz --atol 1e-5 --rtol 0");  // six decimals
  EXPECT_EQ(diff.exit_code, 0) << diff.out;
}

TEST(NextStep, SavedInputsAndOutputsAreRead) {
  const std::string folder = TestFolder("saved") + "/io";
  const std::string call = "-m " + kProto + " -d NAIVE -q";
  ASSERT_EQ(RunTool("model_run", call, "BMRT_SAVE_IO_TENSORS=1 DUMP_BLOB_DIR=" + folder).exit_code, 0);
  ASSERT_TRUE(fs::exists(folder + "/input_ref_data.dat")) << "Sophon's spelling of SAVE_IO_TENSORS";
  for (const std::string& input : {folder, folder + "/input_ref_data.dat"}) {
    const CommandResult run = RunTool("model_run", call + " -i " + input + " -o " + folder + "/again.npy");
    EXPECT_EQ(run.exit_code, 0) << run.out;
    const CommandResult same = RunTool(
        "blob_diff", folder + "/again.npy " + folder + "/output_ref_data.dat --shape 1,10,1,1 --rtol 0 --atol 0");
    EXPECT_EQ(same.exit_code, 0) << same.out;
  }
  // As Sophon's runtime calls them.
  for (const char* part : {"input", "output"})
    fs::copy(folder + "/" + part + "_ref_data.dat", folder + "/" + part + ".dat.bmrt");
  EXPECT_EQ(RunTool("model_run", call + " -i " + folder + "/input.dat.bmrt").exit_code, 0);
  const CommandResult diff =
      RunTool("blob_diff", folder + "/again.npy " + folder + "/output.dat.bmrt --shape 1,10,1,1");
  EXPECT_EQ(diff.exit_code, 0) << diff.out;
}

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (int k = 3; k >= 0; --k) text += kDigits[bits >> (6 * k) & 63];
  }
  for (size_t missing = (3 - bytes.size() % 3) % 3, k = 0; k < missing; ++k) text[text.size() - 1 - k] = '=';
  return text;
}

TEST(NextStep, PolygraphysInputsAreInputs) {
  const std::string folder = TestFolder("polygraphy"), call = "-m " + kProto + " -d NAIVE -q";
  ASSERT_EQ(RunTool("model_run", call,
                    "DUMP_INPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_LAYERS=conv1 DUMP_BLOB_DIR=" + folder + "/dump")
                .exit_code,
            0);
  std::string npy;
  for (const auto& entry : fs::directory_iterator(folder + "/dump")) {
    if (entry.path().extension() == ".npy") npy = ReadText(entry.path());
  }
  WriteText(folder + "/inputs.json",
            "[{\"lst\": [], \"input\": {\"values\": {\"array\": \"" + Base64(npy) + "\", \"type\": \"np.ndarray\"}}}]");
  const CommandResult run = RunTool("model_check", "-m " + kProto + " -d NAIVE -i " + folder + "/inputs.json");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "input f32 [1,1,8,8]: " + folder + "/inputs.json")) << run.out;
}

// A tensor of safetensors: its header, then its values.
void AppendNumber(uint64_t value, std::string* bytes) {
  for (int i = 0; i < 8; ++i) *bytes += static_cast<char>(value >> (8 * i));
}

TEST(NextStep, SafetensorsAndBareFilesAreSubjects) {
  const std::string folder = TestFolder("bare"), dump = folder + "/dump";
  ASSERT_EQ(RunTool("model_run", "-m " + kProto + " -d X86 -q",
                    "DUMP_OUTPUT_BLOB=1 DUMP_INPUT_BLOB=1 DUMP_BLOB_FORMAT=raw DUMP_BLOB_DIR=" + dump)
                .exit_code,
            0);
  const auto manifest = nlohmann::json::parse(ReadText(dump + "/manifest.json"));
  std::string values, header;
  fs::create_directories(folder + "/raw");
  std::set<std::string> known;
  for (const auto& file : manifest["files"]) {
    const std::string blob = file["blob"], bytes = ReadText(dump + "/" + file["file"].get<std::string>());
    if (!known.insert(blob).second) continue;
    WriteText(folder + "/raw/" + blob + ".bin", bytes);
    const nlohmann::json entry = {
        {"dtype", "F32"}, {"shape", file["shape"]}, {"data_offsets", {values.size(), values.size() + bytes.size()}}};
    header += (header.empty() ? "{" : ",") + ("\"" + blob + "\":" + entry.dump());
    values += bytes;
  }
  header += "}";
  std::string file;
  AppendNumber(header.size(), &file);
  WriteText(folder + "/run.safetensors", file + header + values);
  for (const char* subject : {"/run.safetensors", "/raw"}) {
    const CommandResult run = RunTool("model_check", "-m " + kProto + " --subject " + folder + subject);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "ALIGNED: subject aligned; 6 of 6 steps")) << run.out;
  }
  WriteText(folder + "/cut.safetensors", (file + header + values).substr(0, 40));
  EXPECT_EQ(RunTool("model_check", "-m " + kProto + " --subject " + folder + "/cut.safetensors").exit_code, 2);
}

// Hundreds of layers between two tensors of a subject.
TEST(NextStep, AStepOfHundredsOfLayersHasABudget) {
  const std::string folder = TestFolder("budget"), model = folder + "/n.tnnproto";
  std::string blobs = " x", layers;
  for (int i = 0; i < 120; ++i) {
    const std::string from = i == 0 ? "x" : "b" + std::to_string(i - 1), to = "b" + std::to_string(i);
    blobs += " " + to;
    layers += "\"Tanh t" + std::to_string(i) + " 1 1 " + from + " " + to + " ,\"\n";
  }
  WriteText(model,
            "\"1 121 1 4206624772 ,\"\n\"x 4 1 8 64 64 0 ,\"\n\"" + blobs + " ,\"\n\"b119 ,\"\n\" 120 ,\"\n" + layers);
  const std::string io = folder + "/io";
  ASSERT_EQ(RunTool("model_run", "-m " + model + " -d NAIVE -q", "SAVE_IO_TENSORS=1 DUMP_BLOB_DIR=" + io).exit_code, 0);
  const std::string call = "-m " + model + " -q --subject " + io;
  const CommandResult given_up = RunTool("model_check", call, "PLUMB_STEP_SECONDS=0.001");
  EXPECT_EQ(given_up.exit_code, 1) << given_up.out;
  EXPECT_TRUE(Has(given_up.out, "NOT TESTED")) << given_up.out;
  const CommandResult full =
      RunTool("model_check", "-m " + model + " --all --subject " + io, "PLUMB_STEP_SECONDS=0.001");
  EXPECT_TRUE(Has(full.out, "120 layers in one step, given up after 0.001 s")) << full.out;
  const CommandResult whole = RunTool("model_check", call, "PLUMB_STEP_SECONDS=0");
  EXPECT_EQ(whole.exit_code, 0) << whole.out;
}

}  // namespace
}  // namespace plumb
