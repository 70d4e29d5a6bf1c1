// SPDX-License-Identifier: Apache-2.0
// A signal that ends model_check ends the Python that it started, and takes the temporary folder away.
#include <gtest/gtest.h>

#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "tools/command.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

TEST(GoldenEnded, ATerminatedRunLeavesNoFolder) {
  const std::string folder = TestFolder("golden_ended"), model = folder + "/n.onnx";
  fs::create_directories(folder + "/tmp");
  OnnxModel onnx;
  onnx.Input("x", {1, 4}).Output("y");
  onnx.Node("Relu", {"x"}, {"y"}, "relu");
  WriteText(model, onnx.Bytes());
  // Stands for a Python that has plumb_golden and takes its time.
  WriteText(folder + "/python", "#!/bin/sh\ncase \"$1\" in -c) exit 0 ;; esac\nls -d $TMPDIR/plumb-golden-* > " +
                                    folder + "/seen\nexec sleep 60\n");
  fs::permissions(folder + "/python", fs::perms::owner_all);
  const std::string script = "TMPDIR=" + folder + "/tmp PLUMB_PYTHON=" + folder +
                             "/python " PLUMB_BIN_DIR "/model_check -m " + model +
                             " -d NAIVE --golden onnxruntime >/dev/null 2>&1 & pid=$!; for i in $(seq 300); do [ -s " +
                             folder + "/seen ] && break; sleep 0.1; done; kill -TERM $pid; wait $pid; echo ended $?";
  const CommandResult run = RunCommand(script);
  EXPECT_NE(run.out.find("ended 143"), std::string::npos) << run.out;
  EXPECT_FALSE(ReadText(folder + "/seen").empty()) << "there was one";
  EXPECT_TRUE(fs::is_empty(folder + "/tmp")) << fs::directory_iterator(folder + "/tmp")->path();
}

}  // namespace
}  // namespace plumb
