// SPDX-License-Identifier: Apache-2.0
// Dumps of a whole network: which files, what the manifest says, and that nothing else changes.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/file.h"
#include "dump/dump_test_util.h"
#include "dump/reader.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

class Dump : public ::testing::Test {
 protected:
  Dump() {
    options_.folder = folder_ / "dump";
    options_.outputs = true;
    options_.note = [this](const std::string& note) { notes_.push_back(note); };
  }

  std::unique_ptr<Network> Make(const DumpOptions& options) {
    auto network = CreateNetwork(SmallGraph(), "NAIVE", {}).value();
    const Status added = AddDump(network.get(), options);
    EXPECT_TRUE(added.ok()) << added.message();
    EXPECT_TRUE(network->SetInput("x", SmallInput()).ok());
    return network;
  }
  void Run(const DumpOptions& options) {
    const Status status = Make(options)->Forward();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  TempFolder folder_;
  DumpOptions options_;
  std::vector<std::string> notes_;
};

TEST_F(Dump, FilesAreNamedAsTnnNamesThem) {
  options_.inputs = true;
  Run(options_);
  const std::set<std::string> expected = {"00000-relu-in-0-x-dims-1-2-1-2.txt",
                                          "00000-relu-out-0-a-dims-1-2-1-2.txt",
                                          "00001-block_add-in-0-a-dims-1-2-1-2.txt",
                                          "00001-block_add-in-1-x-dims-1-2-1-2.txt",
                                          "00001-block_add-out-0-b_0-dims-1-2-1-2.txt",
                                          "00002-join-in-0-a-dims-1-2-1-2.txt",
                                          "00002-join-in-1-b_0-dims-1-2-1-2.txt",
                                          "00002-join-out-0-c-dims-1-4-1-2.txt",
                                          "manifest.json"};
  EXPECT_EQ(NamesIn(folder_ / "dump"), expected);
  EXPECT_EQ(ReadFile(folder_ / "dump/00000-relu-in-0-x-dims-1-2-1-2.txt")->text(), "1\n-2\n0.1\n-4e-30\n");
}

TEST_F(Dump, ManifestKnowsTheTruth) {
  Run(options_);
  const Manifest m = DumpReader::Open(options_.folder).value().manifest();
  EXPECT_TRUE(m.complete);
  EXPECT_EQ(m.model, "small.tnnproto");
  EXPECT_EQ(m.device, "NAIVE");
  EXPECT_EQ(m.forward, 0);
  EXPECT_EQ(m.network >= 1, true);
  ASSERT_EQ(m.files.size(), 3u);
  const DumpedBlob& add = m.files[1];
  EXPECT_EQ(add.place.layer, "block/add");
  EXPECT_EQ(add.place.blob, "b:0");
  EXPECT_EQ(add.place.type, "Add");
  EXPECT_EQ(add.shape, (Shape{1, 2, 1, 2}));
  EXPECT_EQ(add.kernel.substr(0, 6), "naive/");
  EXPECT_EQ(add.layout, "NCHW");
  EXPECT_EQ(add.statistics.count, 4);
  EXPECT_EQ(add.statistics.max, 2);
  EXPECT_EQ(add.bytes, ReadFile(options_.folder + "/" + add.file)->size());
}

TEST_F(Dump, ReaderLoadsWhatTheNetworkComputed) {
  for (const auto format : {DumpOptions::Format::kText, DumpOptions::Format::kNpy, DumpOptions::Format::kRaw}) {
    options_.format = format;
    options_.zstd = !options_.zstd;
    options_.folder = folder_ / ("dump" + std::to_string(static_cast<int>(format)));
    auto network = Make(options_);
    ASSERT_TRUE(network->Forward().ok());
    const DumpReader reader = DumpReader::Open(options_.folder).value();
    const Tensor c = network->GetOutput("c").value();
    const Tensor read = DumpReader::Load(reader.entries().back()).value();
    EXPECT_EQ(reader.entries().back().place.blob, "c");
    EXPECT_EQ(read.shape(), c.shape());
    EXPECT_EQ(std::memcmp(read.raw(), c.raw(), c.bytes()), 0);
  }
}

TEST_F(Dump, ReaderNoticesAChangedFile) {
  Run(options_);
  const DumpReader reader = DumpReader::Open(options_.folder).value();
  std::ofstream(reader.entries()[0].path, std::ios::app) << "7\n";
  EXPECT_EQ(DumpReader::Load(reader.entries()[0]).status().code(), StatusCode::kCorruptModel);
}

TEST_F(Dump, BrokenManifestsAreRefused) {
  Run(options_);
  const std::string path = options_.folder + "/manifest.json";
  const std::string good(ReadFile(path)->text());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    const size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    ASSERT_TRUE(WriteFile(path, bad).ok());
    const Status status = DumpReader::Open(options_.folder).status();
    EXPECT_TRUE(status.code() == StatusCode::kCorruptModel || status.code() == StatusCode::kNotSupported) << to;
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  };
  refused("\"files\"", "\"flies\"");
  refused("\"version\": 1", "\"version\": 2");
  refused("\"slot\":0", "\"slot\":\"0\"");
  refused("\"shape\":[1,2,1,2]", "\"shape\":[1,-2,1,2]");
  refused("\"dtype\":\"f32\"", "\"dtype\":\"f33\"");
  refused("\"file\":\"", "\"file\":\"../");
  refused("\"plumb-dump\"", "\"plumb-dumb\"");
  for (size_t size : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 3}) refused(good.substr(size), "");
}

TEST_F(Dump, ReaderTakesTnnsFolders) {
  std::filesystem::create_directories(folder_ / "tnn");
  ASSERT_TRUE(WriteFile(folder_ / "tnn/00003-a_b-out-1-x_0-dims-1-2.txt", "0.500000000\n-1.000000000\n").ok());
  ASSERT_TRUE(WriteFile(folder_ / "tnn/00001-ids-in-0-i-dims-2.txt", "7\n-8\n").ok());
  ASSERT_TRUE(WriteFile(folder_ / "tnn/notes.txt", "x").ok());
  const DumpReader reader = DumpReader::Open(folder_ / "tnn").value();
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(reader.entries()[1].place.layer, "a_b");
  EXPECT_EQ(DumpReader::Load(reader.entries()[1])->ValueAt(0), 0.5);
  EXPECT_EQ(DumpReader::Load(reader.entries()[0])->dtype(), DType::kI64);
  EXPECT_EQ(DumpReader::Open(folder_ / "nowhere").status().code(), StatusCode::kNotFound);
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_EQ(DumpReader::Open(folder_ / "empty").status().code(), StatusCode::kNotFound);
}

TEST_F(Dump, Filters) {
  options_.layers = "block*,2";
  Run(options_);
  EXPECT_EQ(DumpReader::Open(options_.folder)->entries().size(), 2u);
  options_.folder = folder_ / "types";
  options_.layers = "";
  options_.types = "ReLU,Concat";
  Run(options_);
  const DumpReader reader = DumpReader::Open(options_.folder).value();
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(reader.entries()[1].place.layer, "join");
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Dump, FiltersThatTakeNothingAreSaid) {
  options_.layers = "conv*";
  Run(options_);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("'conv*'"), std::string::npos);
}

TEST_F(Dump, LaterForwardsAndNetworks) {
  options_.forwards = "0-1,3";
  auto first = Make(options_);
  auto second = Make(options_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(first->Forward().ok());
  ASSERT_TRUE(second->ForwardAsync().Wait().ok());
  const std::set<std::string> expected = {"00000-relu-out-0-a-dims-1-2-1-2.txt",
                                          "00001-block_add-out-0-b_0-dims-1-2-1-2.txt",
                                          "00002-join-out-0-c-dims-1-4-1-2.txt",
                                          "manifest.json",
                                          "forward-00001",
                                          "forward-00003",
                                          "network-2"};
  EXPECT_EQ(NamesIn(options_.folder), expected);
  EXPECT_EQ(DumpReader::Open(options_.folder + "/forward-00003")->manifest().forward, 3);
  EXPECT_EQ(DumpReader::Open(options_.folder + "/network-2")->manifest().network, 2);
}

TEST_F(Dump, OnlyForward0WithoutBeingAsked) {
  auto network = Make(options_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(network->Forward().ok());
  EXPECT_EQ(NamesIn(options_.folder).size(), 4u);
  const std::string manifest(ReadFile(options_.folder + "/manifest.json")->text());
  EXPECT_NE(manifest.find("only Forward 0 is written"), std::string::npos);
}

TEST_F(Dump, NeverMixesWithAnotherRun) {
  std::filesystem::create_directories(options_.folder);
  ASSERT_TRUE(WriteFile(options_.folder + "/manifest.json", "{}").ok());
  std::filesystem::create_directories(options_.folder + "-2");
  ASSERT_TRUE(WriteFile(options_.folder + "-2/manifest.json.part", "").ok());  // of a run that was killed
  Run(options_);
  EXPECT_EQ(NamesIn(options_.folder).size(), 1u);
  EXPECT_EQ(NamesIn(options_.folder + "-3").size(), 4u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("dump-3"), std::string::npos);
}

// All its blobs may be there: only the manifest says that they are.
TEST_F(Dump, ACutOffDumpIsNoDump) {
  options_.forwards = "all";
  auto network = Make(options_);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(network->Forward().ok());
  for (const std::string& folder : {options_.folder, options_.folder + "/forward-00001"}) {
    for (const char* mark : {"/manifest.json.part", "/manifest.json.0a1b2c.part"}) {
      std::filesystem::rename(folder + "/manifest.json", folder + mark);
      const Status status = DumpReader::Open(folder).status();
      EXPECT_EQ(status.code(), StatusCode::kCorruptModel);
      EXPECT_NE(status.message().find("was cut off"), std::string::npos) << status.message();
      std::filesystem::rename(folder + mark, folder + "/manifest.json");
      EXPECT_TRUE(DumpReader::Open(folder).ok());
    }
  }
}

TEST_F(Dump, StatisticsOnly) {
  options_.statistics_only = true;
  Run(options_);
  EXPECT_EQ(NamesIn(options_.folder), std::set<std::string>{"manifest.json"});
  const DumpReader reader = DumpReader::Open(options_.folder).value();
  ASSERT_EQ(reader.manifest().files.size(), 3u);
  EXPECT_EQ(reader.manifest().files[0].statistics.zeros, 2);
  EXPECT_EQ(DumpReader::Load(reader.entries()[0]).status().code(), StatusCode::kNotFound);
}

TEST_F(Dump, SavesInputsAndOutputs) {
  options_.outputs = false;
  options_.save_io = true;
  auto network = Make(options_);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(network->Forward().ok());
  const std::set<std::string> expected = {"input_ref_data.dat",  "input_ref_data.json",  "manifest.json",
                                          "output_ref_data.dat", "output_ref_data.json", "forward-00001"};
  EXPECT_EQ(NamesIn(options_.folder), expected);
  const auto input =
      ReadRawTensors(options_.folder + "/input_ref_data.dat", {{"x", DType::kF32, {1, 2, 1, 2}}}).value();
  EXPECT_EQ(std::memcmp(input[0].tensor.raw(), SmallInput().raw(), 16), 0);
  const Tensor c = network->GetOutput("c").value();
  const auto output =
      ReadRawTensors(options_.folder + "/forward-00001/output_ref_data.dat", {{"c", DType::kF32, {1, 4, 1, 2}}});
  EXPECT_EQ(std::memcmp(output.value()[0].tensor.raw(), c.raw(), c.bytes()), 0);
  const std::string json(ReadFile(options_.folder + "/input_ref_data.json")->text());
  EXPECT_NE(json.find(R"("name":"x","offset":0,"shape":[1,2,1,2],"dtype":"f32")"), std::string::npos) << json;
}

TEST_F(Dump, AFileInTheWayIsAnErrorAndTheOutputsAreValid) {
  ASSERT_TRUE(WriteFile(options_.folder, "not a folder").ok());
  auto network = Make(options_);
  const Status status = network->Forward();
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_NE(status.message().find(options_.folder), std::string::npos) << status.message();
  EXPECT_EQ(network->GetOutput("c")->ValueAt(0), 1);
  EXPECT_EQ(network->ForwardAsync().Wait().code(), StatusCode::kOk);  // only Forward 0 is dumped
}

TEST_F(Dump, NamesThatAreNoTextSurvive) {
  auto graph = SmallGraph();
  const std::string odd = "\xff\xfe \"quoted\"\n" + std::string(3000, 'x');
  graph->layers[2].name = odd;
  auto network = CreateNetwork(graph, "NAIVE", {}).value();
  ASSERT_TRUE(AddDump(network.get(), options_).ok());
  ASSERT_TRUE(network->SetInput("x", SmallInput()).ok());
  const Status status = network->Forward();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(DumpReader::Open(options_.folder)->entries().back().place.layer, odd);
}

TEST_F(Dump, TinyQueueStillWritesEverything) {
  options_.max_queued_bytes = 1;
  options_.num_threads = 1;
  options_.inputs = true;
  Run(options_);
  EXPECT_EQ(DumpReader::Open(options_.folder)->entries().size(), 8u);
}

TEST_F(Dump, AddedAfterAForwardTakesTheNext) {
  auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  ASSERT_TRUE(network->SetInput("x", SmallInput()).ok());
  ASSERT_TRUE(network->Forward().ok());
  DumpOptions passed = options_;
  passed.forwards = "0";
  const Status refused = AddDump(network.get(), passed);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("'0' would write nothing: the network's next Forward has the number 1"),
            std::string::npos)
      << refused.message();
  ASSERT_TRUE(AddDump(network.get(), options_).ok());
  ASSERT_TRUE(network->Forward().ok());
  ASSERT_TRUE(network->Forward().ok());
  const DumpReader reader = DumpReader::Open(options_.folder).value();
  EXPECT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.manifest().forward, 1);
  EXPECT_FALSE(std::filesystem::exists(options_.folder + "/forward-00002"));
}

TEST_F(Dump, UnfusingAFusedNetworkIsRefused) {
  options_.unfuse = true;
  auto network = CreateNetwork(SmallGraph(), "NAIVE").value();
  const Status refused = AddDump(network.get(), options_);
  EXPECT_NE(refused.message().find("make it with NetworkOptions::unfuse"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace plumb
