// SPDX-License-Identifier: Apache-2.0
// What torch.save wrote, by hand: names, values, strides, and files that lie.
#include "interop/state_dict.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

// A pickle in the making: protocol 2, as torch.save writes it.
class PickleText {
 public:
  PickleText() : text_("\x80\x02") {}
  PickleText& Op(const std::string& bytes) {
    text_ += bytes;
    return *this;
  }
  PickleText& Text(const std::string& text) {
    text_ += 'X';
    for (size_t i = 0; i < 4; ++i) text_ += static_cast<char>(text.size() >> 8 * i);
    text_ += text;
    return *this;
  }
  PickleText& Int(int number) { return Op(std::string("K") + static_cast<char>(number)); }
  // torch._utils._rebuild_tensor_v2(storage, offset, shape, strides, False, OrderedDict())
  PickleText& TensorOf(const std::string& storage, int offset, const std::vector<int>& shape,
                       const std::vector<int>& strides) {
    Op("ctorch._utils\n_rebuild_tensor_v2\n((").Text("storage").Op("ctorch\nFloatStorage\n").Text(storage).Text("cpu");
    Int(6).Op("tQ").Int(offset).Op("(");
    for (const int dim : shape) Int(dim);
    Op("t(");
    for (const int stride : strides) Int(stride);
    return Op(
        "t\x89"
        "ccollections\nOrderedDict\n)RtR");
  }
  std::string Done() { return text_ + "."; }

 private:
  std::string text_;
};

class StateDict : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  // An archive of that pickle and one storage of 0, 1, 2, 3, 4, 5.
  std::string Archive(const std::string& pickle, const std::string& order = "little") const {
    AtomicFile file = AtomicFile::Create(path_).value();
    ZipWriter zip(&file);
    const float values[] = {0, 1, 2, 3, 4, 5};
    EXPECT_TRUE(zip.Add("net/data.pkl", pickle, nullptr, 0).ok());
    EXPECT_TRUE(zip.Add("net/byteorder", order, nullptr, 0).ok());
    EXPECT_TRUE(zip.Add("net/data/0", "", values, sizeof(values)).ok());
    EXPECT_TRUE(zip.Finish().ok() && file.Commit().ok());
    return path_;
  }

  const std::string path_ = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".pt";
};

TEST_F(StateDict, TensorsHaveTheirNamesShapesAndStrides) {
  PickleText pickle;
  pickle.Op("}(").Text("conv.weight").TensorOf("0", 0, {2, 3}, {3, 1});
  pickle.Text("turned").TensorOf("0", 0, {3, 2}, {1, 3}).Text("steps").Int(7).Text("last").TensorOf("0", 5, {}, {});
  const auto tensors = ListStateDict(Archive(pickle.Op("u").Done()));
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ((*tensors)[0].name, "conv.weight");
  const Tensor turned = (*tensors)[1].load().value(), last = (*tensors)[2].load().value();
  EXPECT_EQ(turned.shape(), (Shape{3, 2}));
  EXPECT_EQ(turned.ValueAt(1), 3);
  EXPECT_EQ(turned.ValueAt(4), 2);
  EXPECT_EQ(last.ValueAt(0), 5);
}

TEST_F(StateDict, ACheckpointIsItsStateDictAndAModuleItsParameters) {
  PickleText checkpoint;
  checkpoint.Op("}(").Text("epoch").Int(3).Text("state_dict").Op("}(").Text("w").TensorOf("0", 0, {6}, {1}).Op("uu");
  EXPECT_EQ(ListStateDict(Archive(checkpoint.Done())).value()[0].name, "w");
  PickleText module;
  module.Op("cnet\nNet\n)\x81}(").Text("_modules").Op("}(").Text("fc").Op("cnet\nLinear\n)\x81}(");
  module.Text("_parameters").Op("}(").Text("bias").TensorOf("0", 0, {6}, {1}).Op("uubuub");
  EXPECT_EQ(ListStateDict(Archive(module.Done())).value()[0].name, "fc.bias");
}

// os.system("...") stays what it is: a call that nobody makes.
TEST_F(StateDict, ACallIsNotMade) {
  PickleText pickle;
  pickle.Op("}(").Text("evil").Op("cos\nsystem\n").Text("touch " + path_ + ".evil").Op("\x85R");
  const auto tensors = ListStateDict(Archive(pickle.Op("u").Done()));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".evil"));
  EXPECT_EQ(tensors.status().message(), "'" + path_ + "' holds no tensors; save the model's state_dict()");
}

TEST_F(StateDict, WhatLiesOutsideItsStorageIsNamed) {
  const std::vector<int> dims[] = {{7}, {4}, {200}};
  const std::vector<int> strides[] = {{1}, {2}, {0}};
  for (size_t i = 0; i < 3; ++i) {
    PickleText pickle;
    pickle.Op("}(").Text("w").TensorOf("0", 0, dims[i], strides[i]).Op("u");
    const Status status = ListStateDict(Archive(pickle.Done())).value()[0].load().status();
    EXPECT_NE(status.message().find("does not lie within the 24 bytes of 'net/data/0'"), std::string::npos) << i;
  }
  PickleText other;
  other.Op("}(").Text("w").TensorOf("1", 0, {6}, {1}).Op("u");
  EXPECT_NE(ListStateDict(Archive(other.Done())).status().message().find("no storage 'data/1'"), std::string::npos);
}

// What a memo holds once may be taken out of it very often: each of these took minutes, or all memory.
TEST_F(StateDict, AMemoDoesNotMultiply) {
  const std::string put_0 = std::string("q\0", 2), get_0 = std::string("h\0", 2), megabyte(size_t{1} << 20, 'a');
  const auto many = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  PickleText names;
  names.Text(megabyte).Op(put_0).TensorOf("0", 0, {6}, {1}).Op("q\x01}(");
  names.Op(many(get_0 + "h\x01", 100000) + "u");
  EXPECT_NE(ParseStateDict(names.Done(), "x").status().message().find("67108864 bytes of names"), std::string::npos);
  PickleText storages;
  storages.Op("}").Text("w").TensorOf(megabyte, 0, {6}, {1}).Op("s");
  EXPECT_NE(ParseStateDict(storages.Done(), "x").status().message().find("expected storage, offset"),
            std::string::npos);
  PickleText numbers;  // a dict of a million numbers, a million times
  numbers.Op("}(" + many("K\x01K\x01", 1 << 20) + "uq\x01}(").Text("a").Op(put_0 + "h\x01");
  numbers.Op(many(get_0 + "h\x01", 1 << 20) + "u");
  EXPECT_NE(ParseStateDict(numbers.Done(), "x").status().message().find("more than 2097152 values"), std::string::npos);
  PickleText states;  // no dict: nothing to build of
  states.Op("}").Text(megabyte + megabyte + megabyte + megabyte).Op(put_0 + "0" + many(get_0 + "b", 300000));
  EXPECT_TRUE(ParseStateDict(states.Done(), "x").value().empty());
  PickleText shared;
  shared.TensorOf("0", 0, {127, 127, 127}, {0, 0, 0}).Op(put_0 + "}(").Text("w").Op("q\x01" + get_0);
  shared.Op(many("h\x01" + get_0, 40) + "u");
  EXPECT_NE(ListStateDict(Archive(shared.Done())).status().message().find("the tensors together have more than"),
            std::string::npos);
}

TEST_F(StateDict, BrokenFilesAreOneSentence) {
  EXPECT_NE(ListStateDict(Archive("\x80\x02}(X")).status().message().find("at byte 5"), std::string::npos);
  EXPECT_NE(ListStateDict(Archive(PickleText().Op("}").Done(), "big")).status().message().find("is big-endian"),
            std::string::npos);
  PickleText deep;  // a dict that holds itself
  deep.Op("}q").Op(std::string(1, '\0')).Text("a").Op("h").Op(std::string(1, '\0')).Op("s");
  EXPECT_NE(ListStateDict(Archive(deep.Done())).status().message().find("nests deeper than 64"), std::string::npos);
  EXPECT_NE(ListStateDict(Archive(std::string((32u << 20) + 1, 'N'))).status().message().find("at most 33554432 are"),
            std::string::npos);
  AtomicFile old = AtomicFile::Create(path_).value();
  ASSERT_TRUE(old.Write("\x80\x02\x8a\nl").ok() && old.Commit().ok());
  EXPECT_NE(ListStateDict(path_).status().message().find("is no zip archive, which torch.save writes since 1.6"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
