// SPDX-License-Identifier: Apache-2.0
// model_check --subject: what another runtime dumped, judged through the real command line. NAIVE's own dump is the
// healthy subject; faults are planted into its tensors. One file although it is long: every test here changes one
// tensor or option of the same healthy subject, which the fixture makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "interop/tensor_set.h"
#include "plumb/model.h"
#include "plumb/tensor_file.h"
#include "tools/blobs_of_naive.h"
#include "tools/command.h"
#include "util/int8_runtime.h"

namespace plumb {
namespace {

using Json = nlohmann::json;
using Blobs = std::map<std::string, Tensor>;

const std::string kFaults = PLUMB_TEST_DATA "/faults/faults.tnnproto";

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Every blob of faults.tnnproto as NAIVE computes it.
const Blobs& Healthy() {
  static const Blobs blobs = [] {
    Blobs result;
    for (const NamedTensor& blob : BlobsOfNaive(kFaults)) result[blob.name] = blob.tensor;
    return result;
  }();
  return blobs;
}

std::string WriteSubject(const std::string& path, const Blobs& blobs) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : blobs) tensors.push_back({name, tensor});
  EXPECT_TRUE(WriteTensors(path, tensors).ok());
  return path;
}

Tensor Changed(const Tensor& tensor, const std::function<float(float, int64_t)>& f) {
  Tensor copy = tensor.Clone().value();
  for (int64_t i = 0; i < copy.NumElements(); ++i) copy.data<float>()[i] = f(copy.data<float>()[i], i);
  return copy;
}

Tensor ChannelsLast(const Tensor& tensor) {
  const Shape& s = tensor.shape();
  Tensor turned = Tensor::Create(DType::kF32, {s[0], s[2], s[3], s[1]}).value();
  const int64_t channels = s[1], pixels = s[2] * s[3];
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < pixels; ++p) turned.data<float>()[p * channels + c] = tensor.data<float>()[c * pixels + p];
  }
  return turned;
}

class Subject : public testing::Test {
 protected:
  CommandResult Check(const Blobs& blobs, const std::string& more = "") {
    return RunTool("model_check", "-m " + kFaults + " --json " + folder_ + "/r.json --subject " +
                                      WriteSubject(folder_ + "/s.npz", blobs) + " " + more);
  }
  Json Report() const { return Json::parse(ReadText(folder_ + "/r.json")); }
  std::string Guilty() const {
    const Json wrong = Report()["runs"][0]["first_wrong"];
    return wrong.is_null() ? "" : wrong["name"].get<std::string>();
  }

  std::string folder_ = TestFolder("subject");
};

TEST_F(Subject, HealthyIsAligned) {
  const auto run = Check(Healthy());
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(
      run.out, "subject (NCHW, fp32): all aligned: 23 aligned, 0 grey, 0 wrong, 0 not tested of 23 steps (23 layers)"))
      << run.out;
  EXPECT_TRUE(Has(run.out, "layout NCHW (found: ")) << run.out;
  EXPECT_EQ(Report()["runs"][0]["device"], "subject");
  EXPECT_EQ(Report()["runs"].size(), 1u);
}

TEST_F(Subject, NamesTheLayerThatIsWrongAndNoOther) {
  for (const std::string guilty : {"conv1", "relu6", "swish", "join", "max", "norm", "fc", "prob"}) {
    Blobs blobs = Healthy();
    blobs[guilty] = Changed(blobs[guilty], [](float x, int64_t) { return x * 1.001f; });
    const auto run = Check(blobs);
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_EQ(Guilty(), guilty) << run.out;
    EXPECT_TRUE(Has(run.out, "Reproduce: " PLUMB_BIN_DIR "/model_check -m " + kFaults + " --subject ")) << run.out;
  }
}

// The command behind "Reproduce:" is run as it stands, from a model whose name needs quoting.
TEST_F(Subject, TheCommandToReproduceFindsTheSameLayer) {
  Blobs blobs = Healthy();
  blobs["fc"] = Changed(blobs["fc"], [](float x, int64_t) { return x * 1.001f; });
  const std::string model = folder_ + "/it's a model.tnnproto";
  WriteText(model, ReadText(kFaults));
  WriteSubject(folder_ + "/s.npz", blobs);
  const auto first = RunTool(
      "model_check", "-m \"" + model + "\" --subject " + folder_ + "/s.npz --seed 1 --layout NCHW --arithmetic fp32",
      "PLUMB_MAX_CPU_ISA=AVX2");
  ASSERT_EQ(first.exit_code, 1) << first.out;
  const size_t begin = first.out.find("Reproduce: ") + 11;
  const std::string command = first.out.substr(begin, first.out.find('\n', begin) - begin);
  for (const char* given : {"PLUMB_MAX_CPU_ISA=AVX2 ", " --layout NCHW", " --arithmetic fp32", " --seed 1"})
    EXPECT_TRUE(Has(command, given)) << command;
  const auto second = RunCommand(command + " --json " + folder_ + "/r.json");
  EXPECT_EQ(second.exit_code, 1) << command << "\n" << second.out;
  EXPECT_EQ(Guilty(), "fc") << command;
  const auto alone = RunCommand(command + " --layers fc --json " + folder_ + "/r.json");
  EXPECT_EQ(alone.exit_code, 1) << alone.out;
  EXPECT_EQ(Guilty(), "fc");
  EXPECT_EQ(Report()["runs"][0]["layers"].size(), 1u);
  EXPECT_TRUE(Has(alone.out, "; only the layers named were judged")) << alone.out;
}

TEST_F(Subject, LayersThatAreNamedAreJudgedAlone) {
  Blobs blobs = Healthy();
  blobs["fc"] = Changed(blobs["fc"], [](float x, int64_t) { return x * 1.001f; });
  const auto other = Check(blobs, "--layers relu6 --layers conv1");
  EXPECT_EQ(other.exit_code, 0) << other.out;
  EXPECT_EQ(Report()["runs"][0]["layers"].size(), 2u);
  EXPECT_EQ(Check(blobs, "--layers nowhere").exit_code, 2);
}

// "no layer is wrong" of two tensors out of 23 layers was green; the network's output was not among them.
TEST_F(Subject, TooFewTensorsAreNotTested) {
  const Blobs few = {{"data", Healthy().at("data")}, {"conv1", Healthy().at("conv1")}};
  auto run = Check(few);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_EQ(Report()["verdict"], "not tested");
  EXPECT_EQ(Report()["runs"][0]["verdict"], "not tested");
  EXPECT_EQ(Report()["runs"][0]["coverage"]["outputs"], 0);
  EXPECT_EQ(Report()["runs"][0]["coverage"]["all_outputs"], 1);
  EXPECT_TRUE(Has(Report()["runs"][0]["not_tested_reason"], "network output 'prob' was not compared")) << run.out;
  EXPECT_TRUE(Has(run.out, "NOT TESTED: subject not tested: ")) << run.out;
  run = Check(few, "--min-tested 1%");
  EXPECT_EQ(run.exit_code, 1) << "the output is still missing\n" << run.out;
  run = Check(few, "--min-tested 0");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, " 0 of 1 outputs")) << run.out;
}

TEST_F(Subject, AWrongLayerIsSaidWithWhatItDoesToTheOutputs) {
  Blobs blobs = Healthy();
  blobs["prob"] = Changed(blobs["prob"], [](float x, int64_t) { return x * 1.001f; });
  const auto run = Check(blobs);
  EXPECT_TRUE(Has(run.out, "; outputs agree to 1.0e-03, 100 % of it by 'prob'; ")) << run.out;
}

TEST_F(Subject, MissingTensorsMakeAGroup) {
  Blobs blobs = Healthy();
  for (const char* name : {"conv1", "depthwise", "dilated", "residual", "left", "right"}) blobs.erase(name);
  auto run = Check(blobs, "--all");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "Convolution+Add+ReLU ")) << run.out;
  EXPECT_TRUE(Has(run.out, "Convolution+Convolution+Concat")) << run.out;
  blobs["relu2"] = Changed(blobs["relu2"], [](float x, int64_t i) { return i == 9 ? x + 0.01f : x; });
  run = Check(blobs);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_EQ(Guilty(), "relu2") << run.out;
}

TEST_F(Subject, InputAndOutputAreEnough) {
  const Blobs borders = {{"data", Healthy().at("data")}, {"prob", Healthy().at("prob")}};
  auto run = Check(borders);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "1 aligned, 0 grey, 0 wrong, 0 not tested of 1 steps (23 layers)")) << run.out;
  EXPECT_TRUE(Has(run.out, "dump the layers' outputs too")) << run.out;
  run = Check({{"data", Healthy().at("data")},
               {"prob", Changed(Healthy().at("prob"), [](float x, int64_t) { return x * 0.9f; })}});
  EXPECT_EQ(run.exit_code, 1) << run.out;
}

TEST_F(Subject, NhwcIsFoundForTheWholeSubject) {
  Blobs blobs = Healthy();
  for (auto& [name, tensor] : blobs) tensor = ChannelsLast(tensor);
  const auto run = Check(blobs);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "layout NHWC (found: ")) << run.out;
}

TEST_F(Subject, OneTurnedTensorIsAFault) {
  Blobs blobs = Healthy();
  blobs["swish"] = ChannelsLast(blobs["swish"]);
  const auto run = Check(blobs);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_EQ(Guilty(), "swish") << run.out;
  EXPECT_TRUE(Has(run.out, "output 'swish' has the shape [1,10,20,32], expected [1,32,10,20]")) << run.out;
}

TEST_F(Subject, AnotherInputIsSaidFirst) {
  const Tensor& data = Healthy().at("data");
  const int64_t pixels = data.shape()[2] * data.shape()[3];
  const Tensor swapped =
      Changed(data, [&](float, int64_t i) { return data.data<float>()[(2 - i / pixels) * pixels + i % pixels]; });
  const Tensor scaled = Changed(data, [](float x, int64_t) { return x * 2 + 0.5f; });
  const Tensor one = Changed(data, [](float x, int64_t i) { return i == 77 ? x + 0.25f : x; });
  for (const auto& [input, words] :
       {std::pair(swapped, "the channels are swapped"), std::pair(scaled, "a * x + b per channel"),
        std::pair(one, "neither a channel swap, NCHW/NHWC nor a*x+b explains it")}) {
    ASSERT_TRUE(WriteTensors(folder_ + "/i.npy", {{"", input}}).ok());
    const auto run = Check(Healthy(), "-i " + folder_ + "/i.npy");
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_EQ(run.out.rfind("\ninput differs: max "), run.out.find('\n')) << run.out;
    EXPECT_TRUE(Has(run.out, words)) << run.out;
    EXPECT_TRUE(Has(run.out, "subject (NCHW, fp32): all aligned: 23 aligned")) << run.out;
    EXPECT_EQ(Report()["verdict"], "wrong");
    EXPECT_EQ(Report()["input_matches"][0]["equal"], false);
  }
}

TEST_F(Subject, WithoutItsInputNothingIsGuessed) {
  Blobs blobs = Healthy();
  blobs.erase("data");
  auto run = Check(blobs);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "22 aligned, 0 grey, 0 wrong, 1 not tested")) << run.out;
  EXPECT_TRUE(Has(run.out, "give the one that it ran on with -i")) << run.out;
  ASSERT_TRUE(WriteTensors(folder_ + "/i.npy", {{"", Healthy().at("data")}}).ok());
  run = Check(blobs, "-i " + folder_ + "/i.npy");
  EXPECT_TRUE(Has(run.out, "23 aligned")) << run.out;
}

TEST_F(Subject, RunsAtTheSubjectsSize) {
  const std::string dump = folder_ + "/large";
  const auto made = RunTool("model_run", "-m " + kFaults + " -d NAIVE --shape data=1,3,48,48",
                            "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + dump);
  ASSERT_EQ(made.exit_code, 0) << made.out;
  auto run = RunTool("model_check", "-m " + kFaults + " --subject " + dump);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "[1,3,48,48]: the subject's")) << run.out;
  run = RunTool("model_check", "-m " + kFaults + " --shape data=1,3,40,40 --subject " + dump);
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "'data' is [1,3,48,48] in the subject") && Has(run.out, "[1,3,40,40] in --shape") &&
              Has(run.out, "run one of them again"))
      << run.out;
}

TEST_F(Subject, SavedInputsAreFoundInTheDump) {
  const std::string dump = folder_ + "/io";
  const auto made =
      RunTool("model_run", "-m " + kFaults + " -d NAIVE", "DUMP_OUTPUT_BLOB=1 SAVE_IO_TENSORS=1 DUMP_BLOB_DIR=" + dump);
  ASSERT_EQ(made.exit_code, 0) << made.out;
  const auto run = RunTool("model_check", "-m " + kFaults + " --subject " + dump);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "23 aligned, 0 grey, 0 wrong, 0 not tested")) << run.out;
}

TEST_F(Subject, NamesCanBeMapped) {
  Blobs renamed;
  std::string csv = "# model,subject\n";
  for (const auto& [name, tensor] : Healthy()) {
    renamed["net," + name] = tensor;
    csv += name + ",\"net," + name + "\"\n";
  }
  auto run = Check(renamed);
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "none of its tensors is this model's: it has 'net,") && Has(run.out, "--names")) << run.out;
  WriteText(folder_ + "/map.csv", csv);
  run = Check(renamed, "--names " + folder_ + "/map.csv");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "23 aligned")) << run.out;
  WriteText(folder_ + "/map.csv", "conv1\n");
  EXPECT_EQ(Check(renamed, "--names " + folder_ + "/map.csv").exit_code, 2);
}

// Not a complaint about shapes, though both call their input 'data' and give it another one.
TEST_F(Subject, ADumpOfAnotherModelIsSaid) {
  const auto tensor = [](const Shape& shape) { return Tensor::Create(DType::kF32, shape).value(); };
  const Blobs other = {
      {"data", tensor({1, 8})}, {"hidden", tensor({1, 4})}, {"a", tensor({1})}, {"b", tensor({1})}, {"c", tensor({1})}};
  for (const std::string side : {"--subject", "--golden"}) {
    const auto run =
        RunTool("model_check", "-m " + kFaults + " -d NAIVE " + side + " " + WriteSubject(folder_ + "/o.npz", other));
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out,
                    "none of its tensors is this model's but network inputs of another shape: it has 'a', 'b', 'c' and "
                    "1 more, the model"))
        << run.out;
  }
}

TEST_F(Subject, OrderPairsOnRequestOnly) {
  Blobs blobs = {{"data", Healthy().at("data")}, {"output_0", Healthy().at("conv1")}};
  auto run = Check(blobs);
  EXPECT_EQ(run.exit_code, 1) << run.out;  // nothing to compare
  EXPECT_TRUE(Has(run.out, "1 of its tensors are no blob of the model, not tested: 'output_0'")) << run.out;
  run = Check(blobs, "--pair-by-order --min-tested 0");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "paired by order only, as asked: 'conv1' = 'output_0';")) << run.out;
}

class Golden : public Subject {
 protected:
  CommandResult CheckGolden(const Blobs& blobs, const std::string& more = "-d NAIVE") {
    return RunTool("model_check", "-m " + kFaults + " --json " + folder_ + "/r.json --csv " + folder_ +
                                      "/r.csv --golden " + WriteSubject(folder_ + "/g.npz", blobs) + " " + more);
  }
};

TEST_F(Golden, ThreeColumnsTellConversionFromKernel) {
  auto run = CheckGolden(Healthy());
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(
      Has(run.out, "conversion: the golden computed every layer that was compared as the model here says; 23 aligned"))
      << run.out;
  EXPECT_TRUE(Has(run.out, "NAIVE-golden  device-NAIVE  device-golden  conversion  kernel")) << run.out;
  Blobs other = Healthy();
  other["swish"] = Changed(other["swish"], [](float x, int64_t) { return x * 1.05f; });
  run = CheckGolden(other);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "conversion: WRONG: layer 11 'swish'")) << run.out;
  EXPECT_TRUE(Has(run.out, "NAIVE: all aligned: 23 aligned")) << run.out;
  const Json report = Report();
  EXPECT_EQ(report["verdict"], "wrong");
  EXPECT_EQ(report["runs"][0]["device"], "golden");
  const Json& swish = report["runs"][1]["layers"][11]["outputs"][0];
  EXPECT_EQ(swish["verdict"], "aligned");
  EXPECT_EQ(swish["golden"]["conversion"], "wrong");
  EXPECT_GT(swish["golden"]["naive"]["max_abs"], 0.01);
  EXPECT_GT(swish["golden"]["device"]["max_abs"], 0.01);
  EXPECT_EQ(report["runs"][1]["layers"][14]["outputs"][0]["golden"]["conversion"], "aligned");
}

TEST_F(Golden, JudgesASubjectBesideAGolden) {
  Blobs faulty = Healthy();
  faulty["fc"] = Changed(faulty["fc"], [](float x, int64_t) { return x + 0.01f; });
  const auto run = CheckGolden(Healthy(), "--subject " + WriteSubject(folder_ + "/s.npz", faulty));
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "conversion: the golden computed every layer")) << run.out;
  EXPECT_TRUE(Has(run.out, "subject (NCHW, fp32): WRONG: layer 21 'fc'")) << run.out;
  EXPECT_TRUE(Has(run.out, "'data': golden against subject: equal")) << run.out;
}

TEST_F(Golden, OnnxRuntimeNeedsAnOnnxFile) {
  const auto run = RunTool("model_check", "-m " + kFaults + " -d NAIVE --golden onnxruntime");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "runs the original .onnx")) << run.out;
}

TEST_F(Subject, BlobDiffPairsAnyTwoSetsOfTensors) {
  Blobs renamed;
  std::string csv;
  for (const auto& [name, tensor] : Healthy()) {
    renamed["other/" + name] = tensor;
    csv += "other/" + name + "," + name + "\n";
  }
  WriteText(folder_ + "/map.csv", csv);
  const std::string a = WriteSubject(folder_ + "/a.npz", renamed), b = folder_ + "/b";
  std::filesystem::create_directory(b);
  for (const auto& [name, tensor] : Healthy()) ASSERT_TRUE(WriteTensors(b + "/" + name + ".npy", {{"", tensor}}).ok());
  EXPECT_EQ(RunTool("blob_diff", a + " " + b).exit_code, 1) << "no name is the same";
  const auto named = RunTool("blob_diff", a + " " + b + " --names " + folder_ + "/map.csv");
  EXPECT_EQ(named.exit_code, 0) << named.out;
  const auto ordered = RunTool("blob_diff", a + " " + b + " --pair-by-order");
  EXPECT_EQ(ordered.exit_code, 0) << ordered.out;
  EXPECT_TRUE(Has(ordered.out, "paired by order only, as asked: 'other/average' = 'average'")) << ordered.out;
  EXPECT_EQ(RunTool("blob_diff", a + " " + b + " --names " + folder_ + "/missing.csv").exit_code, 2);
}

TEST_F(Subject, ArithmeticIsDeclaredOrFoundAndSaid) {
  EXPECT_TRUE(Has(Check(Healthy()).out, "arithmetic fp32 (found: nothing speaks against it)"));
  const auto declared = Check(Healthy(), "--arithmetic fp32+winograd");
  EXPECT_EQ(declared.exit_code, 0) << declared.out;
  EXPECT_TRUE(Has(declared.out, "arithmetic fp32+winograd (declared)")) << declared.out;
  EXPECT_EQ(Check(Healthy(), "--arithmetic fp64").exit_code, 2);
  // Sums of products of 11 bits: 1 + 2^-12 is rounding there, and a fault in fp32. Element-wise operators stay fp32.
  const auto rounded = [](float x, int64_t i) { return i % 2 == 0 ? x * (1 + 0x1p-12f) : x * (1 - 0x1p-12f); };
  const Blobs product = {{"exp", Healthy().at("exp")}, {"wide", Changed(Healthy().at("wide"), rounded)}};
  EXPECT_EQ(Check(product, "--min-tested 0").exit_code, 1);
  const auto tf32 = Check(product, "--min-tested 0 --arithmetic tf32");
  EXPECT_EQ(tf32.exit_code, 0) << tf32.out;
  const Blobs other = {{"relu2", Healthy().at("relu2")}, {"swish", Changed(Healthy().at("swish"), rounded)}};
  EXPECT_EQ(Check(other, "--min-tested 0 --arithmetic tf32").exit_code, 1);
}

// What is not expected fails, by itself where a report for continuous integration is written.
TEST_F(Subject, ExpectedPrecisionIsHeld) {
  Blobs blobs = Healthy();
  for (auto& [name, tensor] : blobs) tensor = tensor.ConvertedTo(DType::kF16).value().ConvertedTo(DType::kF32).value();
  const auto any = Check(blobs);
  EXPECT_EQ(any.exit_code, 0) << any.out;
  EXPECT_TRUE(Has(any.out, "ALIGNED: subject aligned as ")) << any.out;
  EXPECT_EQ(Check(blobs, "--expect fp16").exit_code, 0);
  for (const std::string& more : {std::string("--expect fp32"), "--junit " + folder_ + "/j.xml"}) {
    const auto run = Check(blobs, more);
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_TRUE(Has(run.out, "FAILED: subject is computed as ")) << run.out;
  }
  EXPECT_EQ(Report()["expect"], "model");
  EXPECT_EQ(Report()["runs"][0]["unexpected"].size(), 1u);
  EXPECT_EQ(Check(blobs, "--expect any --junit " + folder_ + "/j.xml").exit_code, 0);
  const auto unknown = Check(blobs, "--expect fp23");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(Has(unknown.out, "--expect: expected any, model, fp32")) << unknown.out;
}

// Computed in fp32, the dump rounded: bf16's values, which are f16s, are asked first.
TEST_F(Subject, StorageOf16BitsIsFoundAndSaid) {
  for (const DType storage : {DType::kF16, DType::kBF16}) {
    Blobs blobs;
    for (const auto& [name, tensor] : Healthy())
      blobs[name] = tensor.ConvertedTo(storage).value().ConvertedTo(DType::kF32).value();
    const auto run = Check(blobs);
    const std::string name = storage == DType::kF16 ? "f16" : "bf16";
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "arithmetic fp32+" + name + "-storage (found: every value is a")) << run.out;
    EXPECT_EQ(Check(blobs, "--arithmetic fp32+" + name + "-storage").exit_code, 0);
    blobs["pointwise"] = Changed(blobs["pointwise"], [](float x, int64_t) { return x * 1.05f; });
    EXPECT_EQ(Check(blobs, "--arithmetic fp32+" + name + "-storage").exit_code, 1);
    EXPECT_EQ(Guilty(), "pointwise");
  }
}

TEST_F(Subject, Int8IsDeclaredOrFoundAndSaid) {
  const Graph graph = LoadModel(kFaults).value();
  const std::map<std::string, Tensor> inputs = {{"data", Healthy().at("data")}};
  for (const bool per_channel : {true, false}) {
    Int8Runtime runtime;
    runtime.per_channel = per_channel;
    Blobs blobs = runtime.Run(graph, inputs);
    // The coarser rounding of the whole tensor is within the outputs' grid here, too: the first that fits is taken.
    const std::string words = "weights rounded to 127 steps of max|w| per output channel";
    auto run = Check(blobs);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "arithmetic int8 (found: its tensors lie on grids of 256 steps; " + words)) << run.out;
    EXPECT_TRUE(Has(run.out, "subject (NCHW, int8): ")) << run.out;
    blobs["pointwise"] = Changed(blobs["pointwise"], [](float x, int64_t) { return x * 1.05f; });
    run = Check(blobs, "--arithmetic int8");
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_EQ(Guilty(), "pointwise") << run.out;
    EXPECT_TRUE(Has(run.out, "arithmetic int8 (declared; " + words)) << run.out;
  }
}

// GELU, a resize and a norm; what a runtime makes of it that takes another resize or epsilon is its own dump.
std::string SmallModel(const std::string& coordinates, const std::string& eps) {
  return "\"1 4 1 4206624772 ,\"\n\"x 4 1 4 9 11 0 ,\"\n\" x a b y ,\"\n\"y ,\"\n\" 3 ,\"\n\"GELU gelu 1 1 x a ,\"\n"
         "\"PlumbResize resize 1 1 a b linear " +
         coordinates +
         " floor -0.75 0 0 0 stretch 0 4 1 4 20 21 - - ,\"\n"
         "\"InstBatchNormCxx norm 1 1 b y 4 " +
         eps + " ,\"\n";
}

TEST_F(Subject, SaysWhatAWrongLayerWasComputedAs) {
  const auto dump = [&](const std::string& name, const std::string& model) {
    WriteText(folder_ + "/" + name + ".tnnproto", model);
    const auto made = RunTool("model_run", "-m " + folder_ + "/" + name + ".tnnproto -d NAIVE",
                              "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + folder_ + "/" + name);
    EXPECT_EQ(made.exit_code, 0) << made.out;
    Blobs blobs;
    const TensorSet set = TensorSet::Open(folder_ + "/" + name).value();
    for (const StoredTensor& tensor : set.tensors()) blobs[tensor.name] = tensor.load().value();
    return blobs;
  };
  const Blobs healthy = dump("healthy", SmallModel("half_pixel", "1e-05"));
  const auto expect = [&](const Blobs& blobs, const std::string& layer, const std::string& cause) {
    const auto run = RunTool("model_check", "-m " + folder_ + "/healthy.tnnproto --json " + folder_ +
                                                "/r.json --subject " + WriteSubject(folder_ + "/s.npz", blobs));
    EXPECT_EQ(run.exit_code, cause.empty() ? 0 : 1) << run.out;
    if (cause.empty()) return;
    EXPECT_EQ(Guilty(), layer) << run.out;
    EXPECT_TRUE(Has(run.out.substr(run.out.rfind("subject (NCHW, fp32): WRONG")), cause)) << run.out;
    const Json report = Report();
    for (const Json& json : report["runs"][0]["layers"]) EXPECT_EQ(json["cause"], json["name"] == layer ? cause : "");
  };
  expect(healthy, "", "");
  Blobs gelu = healthy;
  gelu["a"] = Changed(healthy.at("x"), [](float v, int64_t) {
    const auto x = static_cast<double>(v);
    return static_cast<float>(0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x))));
  });
  gelu.erase("b");  // what reads it would have computed on it
  gelu.erase("y");
  expect(gelu, "gelu", "computed as tanh-GELU; the graph says erf-GELU");
  expect(dump("corners", SmallModel("align_corners", "1e-05")), "resize",
         "computed as linear, align_corners; the graph says linear, half_pixel");
  expect(dump("eps", SmallModel("half_pixel", "0.002")), "norm", "computed with epsilon 0.002; the graph says 1e-05");
}

// Both apply to subjects: a gain far below the bound is found, and the report says what could have been seen.
TEST_F(Subject, SlopeTestAndSmallestFaultAreThere) {
  Blobs blobs = Healthy();
  blobs["pointwise"] = Changed(blobs["pointwise"], [](float x, int64_t) { return x * 1.00002f; });
  const auto run = Check(blobs, "--full");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_EQ(Guilty(), "pointwise") << run.out;
  EXPECT_TRUE(Has(run.out, "the output is off by the factor 1 + 2")) << run.out;
  EXPECT_TRUE(Has(run.out, "smallest visible fault")) << run.out;
  const Json report = Report();
  for (const Json& layer : report["runs"][0]["layers"]) {
    const Json& output = layer["outputs"][0];
    if (layer["name"] == "fc") {
      EXPECT_GT(output["smallest_fault"], 0);
    }
    if (layer["name"] != "pointwise") continue;
    EXPECT_GT(output["slope_z"], 8);
    EXPECT_NEAR(output["slope"].get<double>(), 2e-5, 2e-6);
  }
}

// x * relu6(x + 3) as 6 (x * clip(x / 6 + 0.5, 0, 1)): OpenVINO's bits, which lie beyond the bound of the last layer
// alone.
TEST_F(Subject, AFusedHardSwishIsAlignedAndSaid) {
  WriteText(folder_ + "/swish.tnnproto",
            "\"1 4 1 4206624772 ,\"\n\"x 4 1 8 4 16 0 ,\"\n\" a c x y ,\"\n\"y ,\"\n\" 3 ,\"\n"
            "\"Power add 1 1 x a 1 1 3 ,\"\n\"ReLU6 clip 1 1 a c ,\"\n\"Mul mul 2 1 x c y ,\"\n");
  Tensor x = Tensor::Create(DType::kF32, {1, 8, 4, 16}).value();
  for (int i = 0; i < 512; ++i) x.data<float>()[i] = -3.2f + 0.0123f * static_cast<float>(i);
  const auto add = [](float v, int64_t) { return v + 3; };
  const auto clip = [](float v, int64_t) { return std::min(std::max(v, 0.f), 6.f); };
  const auto swish = [](float v, int64_t) { return 6 * (v * std::min(std::max(v * (1 / 6.f) + 0.5f, 0.f), 1.f)); };
  const Tensor a = Changed(x, add);
  const Blobs blobs = {{"x", x}, {"a", a}, {"c", Changed(a, clip)}, {"y", Changed(x, swish)}};
  const auto check = [&](const Blobs& subject) {
    return RunTool("model_check", "-m " + folder_ + "/swish.tnnproto --json " + folder_ + "/r.json --subject " +
                                      WriteSubject(folder_ + "/s.npz", subject));
  };
  const auto healthy = check(blobs);
  EXPECT_EQ(healthy.exit_code, 0) << healthy.out;
  const Json layer = Report()["runs"][0]["layers"][2];
  EXPECT_EQ(layer["verdict"], "aligned");
  EXPECT_EQ(layer["cause"], "computed as one fused HardSwish ('add', 'clip', 'mul')");
  EXPECT_TRUE(Has(Report()["runs"][0]["notes"].dump(), "computed fused: 1 HardSwish")) << healthy.out;
  Blobs faulty = blobs;
  faulty["y"] = Changed(blobs.at("y"), [](float v, int64_t) { return v * 1.0001f; });
  EXPECT_EQ(check(faulty).exit_code, 1);
  EXPECT_EQ(Guilty(), "mul");
}

TEST_F(Subject, BrokenOnesGiveOneError) {
  const auto fails = [&](const std::string& path, const std::string& words) {
    const auto run = RunTool("model_check", "-m " + kFaults + " --subject " + path);
    EXPECT_EQ(run.exit_code, 2) << path << ": " << run.out;
    EXPECT_TRUE(Has(run.out, words)) << run.out;
    const bool warned = Has(run.out, "warning: the weights are generated");  // when the model was loaded before
    // The last line of the report alone: standard error goes to the same place.
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), warned ? 2 : 1) << run.out;
  };
  const std::string npz = WriteSubject(folder_ + "/s.npz", Healthy());
  const std::string bytes = ReadText(npz);
  for (size_t part : {size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    WriteText(folder_ + "/truncated.npz", bytes.substr(0, part));
    fails(folder_ + "/truncated.npz", "truncated.npz");
  }
  std::string flipped = bytes;
  flipped[flipped.size() / 3] ^= 1;
  WriteText(folder_ + "/flipped.npz", flipped);
  fails(folder_ + "/flipped.npz", "flipped.npz");
  WriteSubject(folder_ + "/empty.npz", {});
  fails(folder_ + "/empty.npz", "holds no tensor");
  Blobs integers = Healthy();
  integers["swish"] = integers["swish"].ConvertedTo(DType::kI32).value();
  fails(WriteSubject(folder_ + "/integers.npz", integers), "'swish'");
  fails(WriteSubject(folder_ + "/other.npz", {{"unknown", Healthy().at("prob")}}),
        "none of its tensors is this model's: it has 'unknown', the model ");
  fails(folder_ + "/missing.npz", "there is no file or folder");
  WriteText(folder_ + "/x.pkl", "pickle");
  fails(folder_ + "/x.pkl", "is a pickle");
  WriteText(folder_ + "/x.json", "{\"a\": {\"array\": \"####\"}}");
  fails(folder_ + "/x.json", "no base64");
  WriteText(folder_ + "/y.dat", "12345678");
  fails(folder_ + "/y.dat", "--tensors");
  fails(folder_ + "/y.dat --tensors conv1=1,3", "has 8 bytes");
}

TEST_F(Subject, ValuesOnlyTakeTheirShapesFromTheCommandLine) {
  std::string bytes;
  for (const char* name : {"data", "conv1"}) {
    const Tensor& tensor = Healthy().at(name);
    bytes.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  WriteText(folder_ + "/output_ref_data.dat.bmrt", bytes);
  const auto run =
      RunTool("model_check",
              "-m " + kFaults + " --subject " + folder_ +
                  "/output_ref_data.dat.bmrt --min-tested 0 --tensors data=1,3,40,40 --tensors conv1=f32:1,16,20,40");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "1 aligned")) << run.out;
}

}  // namespace
}  // namespace plumb
