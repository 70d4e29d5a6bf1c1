// SPDX-License-Identifier: Apache-2.0
// The nodes of a file as they stand in it, and what became of each: layers, a constant, what it read, or nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

using Fate = FileNodes::Fate;

// Imports the model; empty where that fails.
FileNodes NodesOfFile(const OnnxModel& m, Graph* graph, bool source_lines = true) {
  FileNodes nodes;
  LoadOptions options;
  options.file_nodes = &nodes;
  options.source_lines = source_lines;
  Result<Graph> imported = m.Import(options);
  EXPECT_TRUE(imported.ok()) << imported.status().ToString();
  if (imported.ok()) *graph = std::move(*imported);
  return nodes;
}

std::vector<Fate> FatesOf(const FileNodes& file) {
  std::vector<Fate> fates;
  for (const FileNodes::Node& node : file.nodes) fates.push_back(node.fate);
  return fates;
}

TEST(FileNodes, EachHasAFate) {
  OnnxModel m;
  m.Input("x", {2, 3}).Output("z");
  m.Floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  m.Node("Relu", {"unread"}, {"nobody"}, "behind");  // not in order
  m.Node("Exp", {"x"}, {"unread"}, "dead");
  m.Node("Shape", {"x"}, {"shape"}, "shape");
  m.Node("Neg", {"w"}, {"v"});
  m.Node("Identity", {"x"}, {"same"}, "same");
  m.Node("Reshape", {"v", "shape"}, {"r"}, "reshape");
  m.Node("Add", {"same", "r"}, {"z"}, "add").set_doc_string("/home/me/net.py(7): forward\n");
  Graph graph;
  const FileNodes file = NodesOfFile(m, &graph);
  EXPECT_EQ(file.format, "ONNX");
  EXPECT_EQ(FatesOf(file), (std::vector<Fate>{Fate::kUnread, Fate::kUnread, Fate::kFolded, Fate::kFolded,
                                              Fate::kHandedOn, Fate::kFolded, Fate::kLayers}));
  EXPECT_EQ(file.nodes[3].name, "v") << "a node without a name has that of its output";
  EXPECT_EQ(file.nodes[6].type, "Add");
  EXPECT_EQ(file.nodes[6].inputs, (std::vector<std::string>{"same", "r"}));
  EXPECT_EQ(file.nodes[6].outputs, std::vector<std::string>{"z"});
  EXPECT_EQ(file.nodes[6].source_line, "/home/me/net.py:7 in forward");
  ASSERT_EQ(graph.layers.size(), 1u);
  EXPECT_EQ(file.of_layers, std::vector<int>{6});
  EXPECT_EQ(NodesOfFile(m, &graph, false).nodes[6].source_line, "");
}

TEST(FileNodes, OneMayBecomeSeveralLayers) {
  OnnxModel m(18);
  m.Input("x", {1, 2, 4, 4}).Output("y").Output("constant");
  m.Floats("w", {1}, {2});
  m.Node("Mish", {"x"}, {"m"}, "mish");
  m.Node("Relu", {"m"}, {"y"}, "relu");
  m.Node("Neg", {"w"}, {"constant"}, "neg");
  Graph graph;
  const FileNodes file = NodesOfFile(m, &graph);
  ASSERT_EQ(file.of_layers.size(), graph.layers.size());
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const int node = file.of_layers[i];
    if (node < 0) {
      EXPECT_EQ(graph.layers[i].nodes[0], "constant") << "a network output that is known has no node";
      continue;
    }
    EXPECT_EQ(graph.layers[i].nodes[0], file.nodes[static_cast<size_t>(node)].name);
  }
  EXPECT_GT(std::count(file.of_layers.begin(), file.of_layers.end(), 0), 1) << "Mish is several operators of ours";
  EXPECT_EQ(file.nodes[2].fate, Fate::kFolded);
}

TEST(FileNodes, WhatLiesInsideBelongsToTheNode) {
  OnnxModel m;
  m.Input("x", {2}).Input("c", {}, 9).Output("y");
  auto& choice = m.Node("If", {"c"}, {"chosen"}, "if");
  for (const char* branch : {"then_branch", "else_branch"}) {
    ::onnx::GraphProto* inner = OnnxModel::SetGraph(&choice, branch);
    OnnxModel::Add(inner->add_node(), branch[0] == 't' ? "Exp" : "Neg", {"x"}, {std::string(branch) + "_y"});
    inner->add_output()->set_name(std::string(branch) + "_y");
  }
  m.Node("Relu", {"chosen"}, {"y"}, "relu");
  Graph graph;
  const FileNodes file = NodesOfFile(m, &graph);
  ASSERT_EQ(file.nodes.size(), 2u);
  EXPECT_EQ(file.nodes[0].inputs, std::vector<std::string>{"c"});
  EXPECT_EQ(file.nodes[0].inner_inputs, std::vector<std::string>{"x"}) << "read by both branches";
  EXPECT_TRUE(file.nodes[1].inner_inputs.empty());
  ASSERT_GE(file.of_layers.size(), 4u) << "both branches, what chooses, and the Relu";
  EXPECT_EQ(file.of_layers.back(), 1);
  for (size_t i = 0; i + 1 < file.of_layers.size(); ++i) EXPECT_EQ(file.of_layers[i], 0) << graph.layers[i].name;
}

}  // namespace
}  // namespace plumb
