// SPDX-License-Identifier: Apache-2.0
// Where a node was written, as PyTorch 2.15's two exporters say it.
#include "format/onnx/source_line.h"

#include <gtest/gtest.h>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

const char* const kTraceback =
    "File \"/home/me/net.py\", line 6, in forward\n"
    "    y = torch.relu(self.conv(x))\n"
    "  File \"/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py\", line 565, in forward\n"
    "    return self._conv_forward(input, self.weight, self.bias)";

TEST(SourceLine, IsTheInnermostFrameThatIsNotPyTorchs) {
  EXPECT_EQ(onnx::SourceLine(kTraceback), "/home/me/net.py:6 in forward: y = torch.relu(self.conv(x))");
  EXPECT_EQ(onnx::SourceLine("File \"a.py\", line 1, in f\n  g(x)\nFile \"b.py\", line 2, in g\n  return x"),
            "b.py:2 in g: return x");
  EXPECT_EQ(onnx::SourceLine("/venv/lib/python3.11/site-packages/torch/nn/modules/conv.py(560): _conv_forward\n"
                             "/home/me/net (2).py(6): forward\n"
                             "/home/me/train.py(16): <module>\n"),
            "/home/me/net (2).py:6 in forward");
  EXPECT_EQ(onnx::SourceLine("/x/site-packages/torch/jit/_trace.py(131): wrapper"),
            "/x/site-packages/torch/jit/_trace.py:131 in wrapper");
}

TEST(SourceLine, OfOtherWordsThereIsNone) {
  for (const char* text : {"", "\n\n", "a comment of the exporter", "see (1): that", "File \"x.py\", line , in f",
                           "File \"x.py\", line 1", "(3): f", "File \""}) {
    EXPECT_EQ(onnx::SourceLine(text), "") << text;
  }
  EXPECT_EQ(onnx::SourceLine("f.py(1): " + std::string(1000000, 'x')).size(), 300u);
}

// A field of NodeProto in wire format, which this machine's libonnx may not know.
std::string MetadataProp(const std::string& key, const std::string& value) {
  ::onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  const std::string bytes = entry.SerializeAsString();
  std::string field = "\x4a";  // number 9, length-delimited
  for (size_t left = bytes.size();; left >>= 7) {
    field += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (left <= 0x7f) break;
  }
  return field + bytes;
}

TEST(SourceLine, ComesWithTheLayer) {
  OnnxModel m;
  m.Input("x", {2}).Output("z");
  auto& relu = m.Node("Relu", {"x"}, {"y"}, "relu");
  ASSERT_TRUE(
      relu.MergeFromString(MetadataProp("namespace", "net") + MetadataProp("pkg.torch.onnx.stack_trace", kTraceback)));
  m.Node("Exp", {"y"}, {"z"}, "exp").set_doc_string("/home/me/net.py(7): forward\n");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  ASSERT_EQ(graph->layers.size(), 2u);
  EXPECT_EQ(graph->layers[0].source_line, "/home/me/net.py:6 in forward: y = torch.relu(self.conv(x))");
  EXPECT_EQ(graph->layers[1].source_line, "/home/me/net.py:7 in forward");
  LoadOptions without;
  without.source_lines = false;
  EXPECT_EQ(m.Import(without)->layers[1].source_line, "");
}

}  // namespace
}  // namespace plumb
