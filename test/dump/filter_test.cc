// SPDX-License-Identifier: Apache-2.0
// The filters of a dump: globs, regular expressions, ranges, operator types.
#include "dump/filter.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

bool Takes(const std::string& filter, int index, const std::string& name) {
  return LayerFilter::Parse(filter).value().Takes(index, name);
}

TEST(Filter, Globs) {
  EXPECT_TRUE(MatchesGlob("conv*", "conv1/relu"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("*a*b", "xaybab"));
  EXPECT_FALSE(MatchesGlob("*a*b", "xayba"));
  EXPECT_TRUE(MatchesGlob("block?", "block7"));
  EXPECT_FALSE(MatchesGlob("block?", "block"));
  EXPECT_TRUE(MatchesGlob("[a-c]x", "bx"));
  EXPECT_FALSE(MatchesGlob("[!a-c]x", "bx"));
  EXPECT_TRUE(MatchesGlob("[]]", "]"));
  EXPECT_TRUE(MatchesGlob("[x", "[x"));
  EXPECT_TRUE(MatchesGlob("a\\*", "a*"));
  EXPECT_FALSE(MatchesGlob("a\\*", "ab"));
}

TEST(Filter, Layers) {
  EXPECT_TRUE(Takes("", 5, "anything"));
  EXPECT_TRUE(Takes("conv*, fc", 5, "fc"));
  EXPECT_FALSE(Takes("conv*, fc", 5, "fc1"));
  EXPECT_TRUE(Takes("3,7-9,20-", 8, "x"));
  EXPECT_TRUE(Takes("3,7-9,20-", 99, "x"));
  EXPECT_FALSE(Takes("3,7-9,20-", 10, "x"));
  EXPECT_TRUE(Takes("/^conv[0-9]{1,2}$/", 0, "conv12"));
  EXPECT_FALSE(Takes("/^conv[0-9]{1,2}$/", 0, "conv123"));
  EXPECT_TRUE(Takes("/a\\/b/,x", 0, "pa/bq"));
  EXPECT_TRUE(Takes("/a/,x", 0, "x"));
  EXPECT_TRUE(Takes("[1]2", 0, "12"));
  EXPECT_FALSE(Takes("12", 0, "12"));
  EXPECT_FALSE(LayerFilter::Parse("/(/").ok());
  EXPECT_FALSE(Takes("/^(a|b|c)*$/", 0, std::string(1000000, 'd')));
}

TEST(Filter, Forwards) {
  const IndexRanges first = IndexRanges::Parse("", "0").value();
  EXPECT_TRUE(first.Contains(0));
  EXPECT_FALSE(first.Contains(1));
  EXPECT_TRUE(IndexRanges::Parse("all", "0").value().Contains(12345));
  for (const char* bad : {"x", "5-3", "-1", "1..2", "1,,x"}) EXPECT_FALSE(IndexRanges::Parse(bad, "0").ok()) << bad;
}

TEST(Filter, Types) {
  EXPECT_TRUE(TypeFilter::Parse("").value().Takes("ReLU"));
  EXPECT_TRUE(TypeFilter::Parse("ReLU, Add").value().Takes("Add"));
  EXPECT_FALSE(TypeFilter::Parse("ReLU").value().Takes("Add"));
  EXPECT_TRUE(TypeFilter::Parse("QuantizedConvolution").value().Takes("Convolution"));  // TNN's alias
  const Status bad = TypeFilter::Parse("Relu7").status();
  EXPECT_EQ(bad.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(bad.message().find("did you mean 'ReLU"), std::string::npos) << bad.message();
  const Status onnx = TypeFilter::Parse("Conv,Relu").status();
  EXPECT_NE(onnx.message().find("'Conv'; did you mean 'Convolution'?"), std::string::npos) << onnx.message();
  const Status unknown = TypeFilter::Parse("QQQQQQQQ").status();
  EXPECT_NE(unknown.message().find("the types are "), std::string::npos) << unknown.message();
}

}  // namespace
}  // namespace plumb
