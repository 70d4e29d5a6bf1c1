// SPDX-License-Identifier: Apache-2.0
// DumpOptionsFromEnvironment: values, defaults, and errors that list what is right.
#include <gtest/gtest.h>

#include <cstdlib>

#include "plumb/dump.h"

namespace plumb {
namespace {

class Environment : public ::testing::Test {
 protected:
  void Set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  void TearDown() override {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
  }
  std::string Error() {
    const auto options = DumpOptionsFromEnvironment();
    EXPECT_EQ(options.status().code(), StatusCode::kInvalidArgument);
    return options.status().message();
  }
  std::vector<std::string> names_;
};

TEST_F(Environment, Values) {
  Set("DUMP_INPUT_BLOB", "1");
  Set("DUMP_OUTPUT_BLOB", "on");
  Set("DUMP_BLOB_DIR", "/tmp/here");
  Set("DUMP_BLOB_FORMAT", "npy");
  Set("DUMP_BLOB_COMPRESS", "zstd");
  Set("DUMP_BLOB_ORDER", "NCHW");
  Set("DUMP_BLOB_LAYERS", "conv*");
  Set("DUMP_BLOB_TYPES", "ReLU");
  Set("DUMP_BLOB_FORWARDS", "0-2");
  Set("DUMP_BLOB_UNFUSE", "1");
  Set("SAVE_IO_TENSORS", "1");
  const DumpOptions options = DumpOptionsFromEnvironment().value();
  EXPECT_TRUE(options.inputs && options.outputs && options.unfuse && options.zstd && options.save_io);
  EXPECT_TRUE(options.channels_first);
  EXPECT_FALSE(options.statistics_only);
  EXPECT_EQ(options.folder, "/tmp/here");
  EXPECT_EQ(options.format, DumpOptions::Format::kNpy);
  EXPECT_EQ(options.layers + options.types + options.forwards, "conv*ReLU0-2");
}

TEST_F(Environment, ZeroWinsOverTheBuild) {
  Set("DUMP_INPUT_BLOB", "0");
  Set("DUMP_OUTPUT_BLOB", "0");
  const DumpOptions options = DumpOptionsFromEnvironment().value();
  EXPECT_FALSE(options.enabled());
  EXPECT_EQ(options.folder, "plumb_dump");
}

TEST_F(Environment, StatisticsAloneAreOfOutputs) {
  Set("DUMP_BLOB_STATS", "1");
  const DumpOptions options = DumpOptionsFromEnvironment().value();
  EXPECT_TRUE(options.outputs && options.statistics_only && options.enabled());
}

TEST_F(Environment, MisspeltNameSaysTheRightOne) {
  Set("DUMP_OUTPUT_BLOBS", "1");
  const std::string error = Error();
  for (const char* text : {"DUMP_OUTPUT_BLOBS", "did you mean DUMP_OUTPUT_BLOB?", "doc/environment.md"}) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }
}

TEST_F(Environment, AnotherProgramsNameIsItsOwn) {
  Set("DUMP_SYMBOLS", "1");
  Set("SAVE_IO_LOG", "1");
  Set("PLUMB_BOB_LENGTH", "2");
  EXPECT_TRUE(DumpOptionsFromEnvironment().ok());
}

TEST_F(Environment, MisspeltValueListsTheRightOnes) {
  const std::pair<const char*, const char*> cases[] = {{"DUMP_OUTPUT_BLOB", "2"},      {"DUMP_BLOB_FORMAT", "numpy"},
                                                       {"DUMP_BLOB_COMPRESS", "gzip"}, {"DUMP_BLOB_TYPES", "Convolve"},
                                                       {"DUMP_BLOB_ORDER", "NHWC"},    {"DUMP_BLOB_FORWARDS", "x"},
                                                       {"DUMP_BLOB_LAYERS", "/(/"}};
  for (const auto& [name, value] : cases) {
    Set(name, value);
    const std::string error = Error();
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_NE(error.find(value), std::string::npos) << error;
    ::unsetenv(name);
  }
  Set("DUMP_BLOB_FORMAT", "numpy");
  EXPECT_NE(Error().find("text, text9 (printf's %.9f), npy or raw"), std::string::npos);
  Set("DUMP_BLOB_FORMAT", "txt");
  EXPECT_NE(Error().find("did you mean 'text'?"), std::string::npos) << Error();
}

}  // namespace
}  // namespace plumb
