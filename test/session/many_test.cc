// SPDX-License-Identifier: Apache-2.0
// Many samples (plumb/tool/many.h): what a folder, a list and an archive hold, the ranking, and what is done before.
#include <algorithm>
#include <fstream>

#include "op/activation.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"
#include "plumb/tool/many.h"
#include "plumb/tool/many_parts.h"
#include "samples/sample_results.h"
#include "session/session_test_util.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

constexpr int kScores = 6;

Tensor Values(const std::vector<float>& values) {
  Tensor tensor = Tensor::Create(DType::kF32, {1, static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

std::shared_ptr<const Graph> Relu() {
  auto graph = std::make_shared<Graph>();
  graph->inputs = {{"x", DType::kF32, {1, kScores}}};
  graph->outputs = {"y"};
  graph->layers = {MakeLayer(OpKind::kReLU, "relu", {"x"}, {"y"})};
  return graph;
}

class ManyTest : public ScratchFolder {
 protected:
  // Three samples in a folder; the second one is no array.
  std::string Folder() {
    const std::string folder = At("samples");
    std::filesystem::create_directories(folder);
    EXPECT_TRUE(WriteTensors(folder + "/a.npy", {{"", Values({1, 2, 3, 4, 5, 6})}}).ok());
    EXPECT_TRUE(WriteFile(folder + "/b.npy", "no array").ok());
    EXPECT_TRUE(WriteTensors(folder + "/c.npy", {{"", Values({6, 5, 4, 3, 2, 1})}}).ok());
    return folder;
  }
  ManyOptions Options() {
    ManyOptions options;
    options.device = "NAIVE";
    options.model = "net";
    options.results = At("results.jsonl");
    return options;
  }
  static std::vector<std::string> Names(const std::vector<Sample>& samples) {
    std::vector<std::string> names;
    for (const Sample& sample : samples) names.push_back(sample.name);
    return names;
  }
};

TEST_F(ManyTest, AFolderAListAndAnArchive) {
  const std::string folder = Folder(), list = At("list.txt"), archive = At("all.npz");
  EXPECT_EQ(Names(ListSamples(folder, 1).value()), (std::vector<std::string>{"a.npy", "b.npy", "c.npy"}));
  ASSERT_TRUE(WriteFile(list, "samples/c.npy\r\n\nsamples/a.npy").ok());
  const auto listed = ListSamples(list, 1).value();
  EXPECT_EQ(Names(listed), (std::vector<std::string>{"samples/c.npy", "samples/a.npy"}));
  EXPECT_EQ(listed[0].files[0], At("samples/c.npy"));
  Tensor rows = Tensor::Create(DType::kF32, {4, 3}).value();
  for (int i = 0; i < 12; ++i) rows.data<float>()[i] = static_cast<float>(i);
  ASSERT_TRUE(WriteTensors(archive, {{"x", rows}}).ok());
  const auto pairs = ListSamples(archive, 2).value();
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1].Values().value().at("x").shape(), Shape({2, 3}));
  EXPECT_EQ(pairs[1].Values().value().at("x").ValueAt(0), 6);
  EXPECT_TRUE(Has(ListSamples(archive, 3).status().message(), "expected a first axis of samples, 3 in each"));
  EXPECT_EQ(ListSamples(At("nowhere"), 1).status().code(), StatusCode::kNotFound);
}

TEST_F(ManyTest, ABrokenSampleIsItsOwnResult) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyReport report = CheckMany(Relu(), samples, Options()).value();
  EXPECT_EQ(report.ran, 2);
  EXPECT_EQ(report.agreed, 2);
  EXPECT_EQ(report.failed, 1);
  EXPECT_EQ(report.samples.back().name, "b.npy");
  const std::string text = FormatMany(report, "NAIVE", 10, 200);
  EXPECT_TRUE(Has(text, "the answer is the same for 2 (100.0 %, 95 % interval 34.2 to 100.0 %)")) << text;
  EXPECT_TRUE(Has(text, "'b.npy' could not be run: ")) << text;
}

// What stands in the file is not run again, and ranked with the rest; what failed is tried again.
TEST_F(ManyTest, WhatWasDoneIsKeptAndRanked) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyOptions options = Options();
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  std::string text = ReadWholeFile(options.results).value();
  const size_t line = text.find("{\"device\":\"NAIVE\",\"sample\":\"c.npy\"");
  text = text.substr(0, text.find('\n') + 1) + text.substr(line, text.find('\n', line) - line);
  const std::string same = "\"changed\":false";
  text.replace(text.find(same), same.size(), "\"changed\":true");
  ASSERT_TRUE(WriteFile(options.results, text + "\n{\"sample\":\"a.n").ok());  // killed while it wrote
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.kept, 1);
  EXPECT_EQ(report.agreed, 1);
  EXPECT_EQ(report.samples[0].name, "c.npy");
  const std::string shown = FormatMany(report, "NAIVE", 10, 80);
  EXPECT_TRUE(Has(shown, "c.npy   y       #0 -> #0       0      0         0")) << shown;
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 2);
}

// Several devices share a file; a sample with other values under its name is another one.
TEST_F(ManyTest, OfEachDeviceAndOfTheseValues) {
  std::vector<Sample> samples = {{"one", {}, {{"x", Values({1, 2, 3, 4, 5, 6})}}, {}}};
  ManyOptions options = Options();
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
  if (OpenDevice("X86").ok()) {
    options.device = "X86";
    EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
    EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 1);
    options.device = "NAIVE";
  }
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 1);
  samples[0].values["x"].data<float>()[3] = 7;
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 0);
}

TEST_F(ManyTest, ResultsOfAnotherRunAreRefused) {
  const auto samples = ListSamples(Folder(), 1).value();
  const ManyOptions options = Options();
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  const std::string good = ReadWholeFile(options.results).value(), head = good.substr(0, good.find('\n') + 1);
  for (const std::string& text :
       {std::string("{\"format\":\"plumb-samples\",\"version\":1,\"model\":\"other\"}\n"), std::string("no JSON\n"),
        std::string("a picture"), std::string("[1]\n"), head + "{\"relative\":[1]}\n"}) {
    ASSERT_TRUE(WriteFile(options.results, text).ok());
    const auto refused = CheckMany(Relu(), samples, options);
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(Has(refused.status().message(), "give another file, or remove it")) << refused.status().message();
    EXPECT_EQ(ReadWholeFile(options.results).value(), text) << "it is not written over";
  }
  // The same file with another network, and with another scale of images.
  ASSERT_TRUE(WriteFile(options.results, good).ok());
  auto other = std::make_shared<Graph>(*Relu());
  other->layers[0] = MakeLayer(OpKind::kAbs, "abs", {"x"}, {"y"});
  EXPECT_TRUE(Has(CheckMany(other, samples, options).status().message(), "found checksum "));
  ManyOptions scaled = options;
  scaled.inputs.image.scale = {0.5f};
  EXPECT_TRUE(Has(CheckMany(Relu(), samples, scaled).status().message(), "found scale [], here [0.5]"));
}

// y = relu(x) of a and c as somebody else has them; b is missing, and d was run on another input.
class DumpedTest : public ManyTest {
 protected:
  std::vector<Sample> Samples() {
    std::vector<Sample> samples;
    for (const char* name : {"a.png", "b.png", "c.png", "d.png"})
      samples.push_back({name, {}, {{"x", Values({1, 2, 3, 4, 5, 6})}}, {}});
    return samples;
  }
  std::string Dumps() {
    const std::string folder = At("dumps");
    std::filesystem::create_directories(folder);
    const auto write = [&](const std::string& name, const std::vector<float>& x, const std::vector<float>& y) {
      EXPECT_TRUE(WriteTensors(folder + "/" + name + ".npz", {{"x", Values(x)}, {"y", Values(y)}}).ok());
    };
    write("a", {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6});
    write("c", {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 7, 6});
    write("d", {1, 2, 3, 4, 5, 3}, {1, 2, 3, 4, 5, 3});
    return folder;
  }
};

TEST_F(DumpedTest, ASubjectStandsInTheDevicesPlace) {
  ManyOptions options = Options();
  options.device = "subject";
  options.subject.path = Dumps();
  const ManyReport report = CheckMany(Relu(), Samples(), options).value();
  EXPECT_EQ(report.ran, 2);
  EXPECT_EQ(report.agreed, 1);
  EXPECT_EQ(report.samples[0].name, "c.png");
  EXPECT_EQ(report.samples[0].top1_device, 4);
  EXPECT_EQ(report.samples[0].top1_reference, 5);
  const std::string text = FormatMany(report, SidesOf(options), 10, 200);
  EXPECT_TRUE(Has(text, "samples 2 of the subject and of the reference: the answer is the same for 1")) << text;
  EXPECT_TRUE(Has(text, "'b.png' could not be run: the subject '" + At("dumps") + "' has nothing of the name 'b'"))
      << text;
  EXPECT_TRUE(Has(text, "the subject ran on another input: 'x' differs by 0.5 of its largest value")) << text;
  // A dump that was made anew is run again, another folder's results are refused.
  EXPECT_TRUE(WriteTensors(At("dumps") + "/c.npz", {{"y", Values({1, 2, 3, 4, 5, 6})}}).ok());
  const ManyReport again = CheckMany(Relu(), Samples(), options).value();
  EXPECT_EQ(again.kept, 1);
  EXPECT_EQ(again.agreed, 2);
  options.subject = {};
  options.device = "NAIVE";
  EXPECT_TRUE(Has(CheckMany(Relu(), Samples(), options).status().message(), "found subject \""));
}

// img.v2 is a folder's whole name, and a name that two samples have says nothing of which is meant.
TEST_F(DumpedTest, NamesThatCouldBeAnothers) {
  ManyOptions options = Options();
  options.golden.path = Dumps();
  std::filesystem::create_directories(At("dumps") + "/img.v2");
  std::vector<Sample> samples = Samples();
  samples[1].name = "img.png", samples[2].name = "x/a.png";
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.ran, 0);
  const std::string text = FormatMany(report, SidesOf(options), 10, 200);
  EXPECT_TRUE(Has(text, "'img.png' could not be run: the golden '" + At("dumps") + "' has nothing of the name 'img'"))
      << text;
  EXPECT_TRUE(Has(text, "'x/a.png' could not be run: several samples are named 'a', and the golden has one")) << text;
}

// Computed now, of each sample; what it leaves is read as a dump.
TEST_F(DumpedTest, AGoldenThatIsMadeOfEachSample) {
  ManyOptions options = Options();
  options.golden.path = "onnxruntime";
  int runs = 0;
  options.make_golden = [&](const std::map<std::string, Tensor>& inputs) {
    ++runs;
    EXPECT_EQ(inputs.at("x").ValueAt(0), 1);
    const std::string python = At("python");
    EXPECT_TRUE(
        WriteFile(python, "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nmkdir -p $6 && cp " + At("dumps") + "/c.npz $6/\n")
            .ok());
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    Dumps();
    GoldenOptions golden;
    golden.python = python;
    return GoldenRun::OnnxRuntime("net.onnx", inputs, golden);
  };
  const std::vector<Sample> samples = Samples();
  const ManyReport report = CheckMany(Relu(), {samples[0], samples[1]}, options).value();
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(report.ran, 2) << report.samples[0].error;
  EXPECT_EQ(report.agreed, 0);
  EXPECT_EQ(report.samples[0].top1_reference, 4);
}

TEST_F(DumpedTest, AGoldenStandsInTheReferencesPlace) {
  ManyOptions options = Options();
  options.golden.path = Dumps();
  const ManyReport report = CheckMany(Relu(), Samples(), options).value();
  EXPECT_EQ(report.ran, 2);
  EXPECT_EQ(report.samples[0].name, "c.png");
  EXPECT_EQ(report.samples[0].top1_device, 5);
  EXPECT_EQ(report.samples[0].top1_reference, 4);
  EXPECT_EQ(SidesOf(options), "run on NAIVE and of the golden");
  std::filesystem::create_directories(At("dumps") + "/c");
  const ManyReport two = CheckMany(Relu(), Samples(), options).value();
  EXPECT_EQ(two.ran, 1);
  EXPECT_TRUE(Has(two.samples.back().error + two.samples[1].error + two.samples[2].error, "take one of them away"));
}

TEST_F(DumpedTest, RowsOfAnArchive) {
  Tensor x = Tensor::Create(DType::kF32, {3, kScores}).value(), y = Tensor::Create(DType::kF32, {3, kScores}).value();
  for (int i = 0; i < 3 * kScores; ++i) x.data<float>()[i] = y.data<float>()[i] = static_cast<float>(i % 7);
  y.data<float>()[kScores + 2] = 9;  // of row 1
  ASSERT_TRUE(WriteTensors(At("x.npz"), {{"x", x}}).ok());
  ASSERT_TRUE(WriteTensors(At("y.npz"), {{"y", y}}).ok());
  ManyOptions options = Options();
  options.golden.path = At("y.npz");
  const ManyReport report = CheckMany(Relu(), ListSamples(At("x.npz"), 1).value(), options).value();
  EXPECT_EQ(report.agreed, 2);
  EXPECT_EQ(report.samples[0].name, "1");
  EXPECT_EQ(TensorsOfSample(options.golden, "1", 1).value().tensors[0].tensor.ValueAt(2), 9);
  const ManyReport others = CheckMany(Relu(), Samples(), options).value();
  EXPECT_TRUE(Has(others.samples[0].error, "has the rows 0 to 2, and none of this sample"));
  options.golden.path = At("nowhere");
  EXPECT_EQ(CheckMany(Relu(), Samples(), options).status().code(), StatusCode::kNotFound);
}

// What processes leave: lines of parts that were cut off, of another order, of a sample that ended its process twice.
TEST_F(DumpedTest, ASampleThatEndsItsProcessIsNotRunAThirdTime) {
  ManyOptions options = Options();
  options.says_begun = true;
  std::vector<Sample> samples = Samples();
  ASSERT_TRUE(CheckMany(Relu(), {samples[0]}, options).ok());
  std::string text = ReadWholeFile(options.results).value();
  const std::string begun = "{\"device\":\"NAIVE\",\"begun\":\"b.png\"}\n";
  ASSERT_TRUE(WriteFile(options.results, text + begun + begun).ok());
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.ran, 3);
  EXPECT_EQ(report.samples.back().name, "b.png");
  EXPECT_EQ(report.samples.back().error, "the process that ran it ended in the middle, 2 times");
  options.says_begun = false;  // who reads the results does not run it either
  EXPECT_EQ(CheckMany(Relu(), samples, options).value().kept, 4);
  text = ReadWholeFile(options.results).value();
  EXPECT_FALSE(Has(text, "begun")) << text;
  const std::string tried = WithoutDied(text);
  EXPECT_FALSE(Has(tried, "b.png")) << tried;
}

TEST_F(DumpedTest, LinesStandInTheOrderOfTheSamples) {
  const std::string head = "{\"format\":\"plumb-samples\"}\n";
  const auto line = [](const std::string& device, const std::string& sample, int relative) {
    return "{\"device\":\"" + device + "\",\"sample\":\"" + sample + "\",\"relative\":" + std::to_string(relative) +
           "}\n";
  };
  EXPECT_EQ(JoinResults({head + line("X86", "c", 1), head + line("X86", "a", 2) + line("ARM", "b", 3) + "{\"dev",
                         line("X86", "z", 4) + line("X86", "c", 5)},
                        {"a", "b", "c"}),
            head + line("X86", "a", 2) + line("X86", "c", 5) + line("X86", "z", 4) + line("ARM", "b", 3));
}

class PartsTest : public DumpedTest {
 protected:
  // A program in place of model_check: `script` has $part (1, 2, ...) and $results.
  PartsOptions With(const std::string& script) {
    const std::string path = At("worker.sh");
    EXPECT_TRUE(WriteFile(path, "part=${2%%/*}\nresults=$4\n" + script).ok());
    PartsOptions parts;
    parts.command = {"/bin/sh", path};
    parts.results = At("results.jsonl");
    parts.samples = {"a", "b", "c", "d"};
    parts.workers = 2;
    parts.parts = 4;
    return parts;
  }
  static std::string Line(const std::string& sample) {
    return "echo '{\"device\":\"X86\",\"sample\":\"" + sample + "\"}' >> $results\n";
  }
};

TEST_F(PartsTest, LinesOfAllPartsAreJoined) {
  PartsOptions parts = With(
      "case $part in 1) s=d;; 2) s=c;; 3) s=b;; 4) s=a;; esac\n"
      "echo '{\"device\":\"X86\",\"sample\":\"'$s'\"}' >> $results\n");
  int64_t seen = -1;
  parts.progress = [&](int64_t done) { seen = done; };
  ASSERT_TRUE(
      WriteFile(At("results.jsonl.part-7"), "{\"device\":\"X86\",\"sample\":\"e\"}\n").ok());  // of a killed call
  const Status ran = RunParts(parts);
  ASSERT_TRUE(ran.ok()) << ran.message();
  std::string expected;
  for (const char* name : {"a", "b", "c", "d", "e"})
    expected += std::string("{\"device\":\"X86\",\"sample\":\"") + name + "\"}\n";
  EXPECT_EQ(ReadWholeFile(parts.results).value(), expected);
  for (const auto& entry : std::filesystem::directory_iterator(At("")))
    EXPECT_FALSE(Has(entry.path().string(), ".part-")) << entry.path();
}

TEST_F(PartsTest, AProcessThatDiesGoesOn) {
  PartsOptions parts = With("if [ $part = 2 ] && [ ! -e " + At("died") + " ]; then touch " + At("died") + "; " +
                            Line("a") + "kill -9 $$; fi\n" + Line("b"));
  ASSERT_TRUE(RunParts(parts).ok());
  const std::string text = ReadWholeFile(parts.results).value();
  EXPECT_TRUE(Has(text, "\"a\"") && Has(text, "\"b\"")) << text;
}

TEST_F(PartsTest, WhatNeverBeginsIsOneSentence) {
  const Status dies = RunParts(With("echo no such luck; kill -9 $$\n"));
  EXPECT_EQ(dies.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(dies.message(), "of 4 died (Killed) before its first sample, 2 times: no such luck"))
      << dies.message();
  const Status fails = RunParts(With("echo first; echo the last line; exit 2\n"));
  EXPECT_EQ(fails.message(), "the last line");
  PartsOptions absent = With("");
  absent.command = {"/nowhere/model_check"};
  EXPECT_TRUE(Has(RunParts(absent).message(), "/nowhere/model_check: ")) << RunParts(absent).message();
}

TEST_F(ManyTest, WilsonsInterval) {
  std::vector<Sample> samples;
  const ManyOptions options = Options();
  for (int i = 0; i < 10; ++i) samples.push_back({std::to_string(i), {}, {{"x", Values({1, 2, 3, 4, 5, 6})}}, {}});
  ASSERT_TRUE(CheckMany(Relu(), samples, options).ok());
  std::string text = ReadWholeFile(options.results).value();
  const std::string same = "\"changed\":false";
  for (int i = 0; i < 2; ++i) text.replace(text.find(same), same.size(), "\"changed\":true");
  ASSERT_TRUE(WriteFile(options.results, text).ok());
  const ManyReport report = CheckMany(Relu(), samples, options).value();
  EXPECT_EQ(report.agreed, 8);
  EXPECT_NEAR(report.low, 0.4902, 1e-4);
  EXPECT_NEAR(report.high, 0.9433, 1e-4);
}

}  // namespace
}  // namespace plumb
