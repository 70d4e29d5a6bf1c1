// SPDX-License-Identifier: Apache-2.0
// Small graphs and scratch folders for the tests of the session.
#ifndef PLUMB_TEST_SESSION_SESSION_TEST_UTIL_H_
#define PLUMB_TEST_SESSION_SESSION_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plumb/dump.h"
#include "plumb/inputs.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"

namespace plumb {

inline bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A folder of this test, empty at its beginning and gone at its end.
class ScratchFolder : public testing::Test {
 protected:
  ScratchFolder() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ScratchFolder() override { std::filesystem::remove_all(folder_); }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  std::string WriteText(const std::string& name, const std::string& text) const {
    std::ofstream(At(name)) << text;
    return At(name);
  }
  std::string WriteNpz(const std::string& name, const std::map<std::string, Tensor>& blobs) const {
    std::vector<NamedTensor> tensors;
    for (const auto& [blob, tensor] : blobs) tensors.push_back({blob, tensor});
    EXPECT_TRUE(WriteTensors(At(name), tensors).ok());
    return At(name);
  }

  const std::string folder_ = testing::TempDir() +
                              testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

inline Tensor Values(const std::vector<float>& values, const Shape& shape) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}
inline Tensor Values(const std::vector<float>& values) { return Values(values, {static_cast<int64_t>(values.size())}); }

inline Tensor Changed(const Tensor& tensor, const std::function<float(float, int64_t)>& f) {
  Tensor copy = tensor.Clone().value();
  for (int64_t i = 0; i < copy.NumElements(); ++i) copy.data<float>()[i] = f(copy.data<float>()[i], i);
  return copy;
}

}  // namespace plumb

#endif  // PLUMB_TEST_SESSION_SESSION_TEST_UTIL_H_
