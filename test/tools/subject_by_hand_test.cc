// model_check --subject with what a program of one's own writes: raw files that are named by blob and dims, flat arrays, a
// manifest of four fields per file. Through the real command line.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "dump/file_name.h"
#include "dump/tensor_set.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

const std::string kModel = PLUMB_EXAMPLES "/digits/digits.tnnproto";

class ByHand : public testing::Test {
 protected:
  ByHand() {
    const auto run = RunTool("model_run", "-m " + kModel + " -d NAIVE",
                             "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + folder_ + "/d");
    EXPECT_EQ(run.exit_code, 0) << run.out;
    const TensorSet set = TensorSet::Open(folder_ + "/d").value();
    for (const StoredTensor& tensor : set.tensors()) blobs_.push_back({tensor.name, tensor.load().value()});
    std::filesystem::create_directories(folder_ + "/hand");
  }
  static std::string Bytes(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.bytes()}; }
  CommandResult Check() const { return RunTool("model_check", "-m " + kModel + " --subject " + folder_ + "/hand"); }
  void ExpectAligned(const std::string& note) const {
    const auto run = Check();
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_NE(run.out.find(", 0 wrong, 0 not tested"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find(note), std::string::npos) << run.out;
  }

  std::string folder_ = TestFolder("subject_by_hand");
  std::vector<NamedTensor> blobs_;
};

TEST_F(ByHand, RawFilesNeedNoManifest) {
  for (const NamedTensor& blob : blobs_) {
    std::string dims;
    for (const int64_t dim : blob.tensor.shape().dims()) dims += "-" + std::to_string(dim);
    WriteText(folder_ + "/hand/" + NameInFiles(blob.name) + "-dims" + dims + ".raw", Bytes(blob.tensor));
  }
  ExpectAligned("folder, " + std::to_string(blobs_.size()) + " tensors");
}

TEST_F(ByHand, FlatArraysAreTakenWithANote) {
  for (const NamedTensor& blob : blobs_) {
    const Tensor flat = blob.tensor.Reshaped({blob.tensor.NumElements()}).value();
    ASSERT_TRUE(WriteTensors(folder_ + "/hand/" + NameInFiles(blob.name) + ".npy", {{"", flat}}).ok());
  }
  ExpectAligned("flat arrays are taken in the shape that the model says: '");
}

TEST_F(ByHand, ManifestOfFourFields) {
  std::string manifest;
  for (const NamedTensor& blob : blobs_) {
    const std::string file = std::to_string(manifest.size()) + ".raw";
    WriteText(folder_ + "/hand/" + file, Bytes(blob.tensor));
    manifest += (manifest.empty() ? "{\"files\": [" : ", ") + std::string("{\"file\": \"") + file + "\", \"blob\": \"" + blob.name +
                "\", \"shape\": " + blob.tensor.shape().ToString() + ", \"dtype\": \"f32\"}";
  }
  WriteText(folder_ + "/hand/manifest.json", manifest + "]}");
  ExpectAligned("dump by hand, " + std::to_string(blobs_.size()) + " tensors");
  WriteText(folder_ + "/hand/manifest.json", "{\"files\": [{\"file\": \"0.raw\"}]}");
  const auto run = Check();
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_NE(run.out.find("entry 1 of 'files' ('0.raw') lacks 'blob', 'shape' and 'dtype'"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace plumb
