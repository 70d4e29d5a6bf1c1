// SPDX-License-Identifier: Apache-2.0
// Dumps of other tools, whole, and with bytes changed, cut or put in: read or refused with a sentence, never a crash.
// What they are judged as stands in test/tools/subject_formats_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#include "dump/dump_test_util.h"
#include "interop/foreign_files.h"
#include "interop/tensor_set.h"

namespace plumb {
namespace {

using WriteForeign = std::function<std::string(const std::string&, const std::vector<NamedTensor>&)>;

std::vector<NamedTensor> SmallBlobs() {
  std::vector<NamedTensor> blobs;
  for (const char* name : {"input", "conv1", "relu1"}) {
    Tensor tensor = Tensor::Create(DType::kF32, {1, 2, 3, 2}).value();
    for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(i) / 4;
    blobs.push_back({name, tensor});
  }
  return blobs;
}

std::string Changed(const std::string& whole, std::mt19937* random) {
  const auto below = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(*random); };
  std::string bytes = whole;
  for (size_t times = below(4) + 1; times > 0 && !bytes.empty(); --times) {
    const size_t at = below(bytes.size());
    constexpr char kBytes[] = {'\0', '\1', '\x7F', '\xFF', '9', '-', '"', '[', '{', '/', '.'};
    const char value = kBytes[below(sizeof(kBytes))];
    switch (below(4)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.insert(at, below(20) + 1, value); break;
      case 2: bytes.erase(at, below(20) + 1); break;
      default: bytes[at] = value;
    }
  }
  return bytes;
}

class ForeignFormats : public ::testing::TestWithParam<std::pair<const char*, WriteForeign>> {};

TEST_P(ForeignFormats, ChangedFilesAreReadOrRefused) {
  const TempFolder temp;
  const std::string folder = temp / "dump/s";
  std::filesystem::create_directories(folder);
  const std::string given = GetParam().second(folder, SmallBlobs());
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  const auto read = [&]() -> Status {
    PLUMB_ASSIGN_OR_RETURN(const TensorSet set, TensorSet::Open(given));
    for (const StoredTensor& tensor : set.tensors()) PLUMB_RETURN_IF_ERROR(tensor.load().status());
    return Status::Ok();
  };
  ASSERT_TRUE(read().ok()) << read().message();
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string& file = files[static_cast<size_t>(i) % files.size()];
    const std::string whole(ReadFile(file).value().text());
    PutFile(file, Changed(whole, &random));
    const Status status = read();
    EXPECT_TRUE(status.ok() || status.message().size() > 20) << status.message();
    refused += !status.ok();
    PutFile(file, whole);
  }
  EXPECT_GT(refused, 50);
}

INSTANTIATE_TEST_SUITE_P(Of, ForeignFormats,
                         ::testing::Values(std::make_pair("CoreAi", WriteForeign(WriteCoreAi)),
                                           std::make_pair("TensorProto", WriteForeign(WriteProtos)),
                                           std::make_pair("OpenVino", WriteForeign([](const std::string& folder,
                                                                                      const auto& blobs) {
                                                            return WriteOpenVino(folder, blobs);
                                                          })),
                                           std::make_pair("Msprobe", WriteForeign(WriteMsprobe)),
                                           std::make_pair("Qnn", WriteForeign(WriteQnn))),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace plumb
