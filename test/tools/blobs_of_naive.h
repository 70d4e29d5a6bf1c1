// SPDX-License-Identifier: Apache-2.0
// Every blob of a model as NAIVE computes it, by way of model_run's dump: what the tests of --subject begin with.
#ifndef PLUMB_TEST_TOOLS_BLOBS_OF_NAIVE_H_
#define PLUMB_TEST_TOOLS_BLOBS_OF_NAIVE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "interop/tensor_set.h"
#include "tools/command.h"

namespace plumb {

inline std::vector<NamedTensor> BlobsOfNaive(const std::string& model) {
  const std::string folder = TestFolder("blobs_of_naive");
  const auto run = RunTool("model_run", "-m " + model + " -d NAIVE",
                           "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=npy DUMP_BLOB_DIR=" + folder + "/d");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  std::vector<NamedTensor> blobs;
  const TensorSet set = TensorSet::Open(folder + "/d").value();
  for (const StoredTensor& tensor : set.tensors()) blobs.push_back({tensor.name, tensor.load().value()});
  return blobs;
}

}  // namespace plumb

#endif  // PLUMB_TEST_TOOLS_BLOBS_OF_NAIVE_H_
