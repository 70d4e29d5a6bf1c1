// SPDX-License-Identifier: Apache-2.0
// Models whose file leaves dims open, through the tools: an open batch, shapes of files, suggestions that run when
// pasted.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "format/onnx/onnx_model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// An input with named open dims; "" leaves a dim without a name, a number fixes it.
void AddInput(OnnxModel* m, const std::string& name, const std::vector<std::string>& dims, int type = 1) {
  m->Input(name, {}, type);
  auto* shape =
      m->graph().mutable_input(m->graph().input_size() - 1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::string& dim : dims) {
    auto* added = shape->add_dim();
    if (!dim.empty() && std::isdigit(static_cast<unsigned char>(dim[0])))
      added->set_dim_value(std::stoll(dim));
    else if (!dim.empty())
      added->set_dim_param(dim);
  }
}

std::string Write(const OnnxModel& m, const std::string& folder) {
  WriteText(folder + "/m.onnx", m.Bytes());
  return folder + "/m.onnx";
}

// A picture that is halved six times and then needs a window of 2 x 2: nothing below 128 pixels runs.
OnnxModel Picture() {
  OnnxModel m;
  AddInput(&m, "x", {"unk__7", "3", "height", "width"});
  m.Output("y");
  std::string last = "x";
  for (int i = 0; i < 6; ++i) {
    const std::string next = "p" + std::to_string(i);
    auto& pool = m.Node("MaxPool", {last}, {next}, next);
    OnnxModel::SetInts(&pool, "kernel_shape", {2, 2});
    OnnxModel::SetInts(&pool, "strides", {2, 2});
    last = next;
  }
  OnnxModel::SetInts(&m.Node("AveragePool", {last}, {"y"}, "last"), "kernel_shape", {2, 2});
  return m;
}

// The lines of a refusal that are options.
std::vector<std::string> Suggestions(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line.compare(begin, 8, "--shape ") == 0) found.push_back(line.substr(begin));
  }
  return found;
}

TEST(OpenShapesTest, AnOpenBatchIsOneWithANote) {
  const std::string folder = TestFolder("open_batch");
  OnnxModel m;
  AddInput(&m, "x", {"s6", "3"});
  AddInput(&m, "state", {"2", "s6", "3"});
  m.Output("y");
  m.Node("Add", {"x", "state"}, {"y"}, "sum");
  const std::string model = Write(m, folder);
  for (const std::string tool : {"model_check -d NAIVE", "model_run -d NAIVE", "model_info"}) {
    const size_t space = tool.find(' ');
    const auto run =
        RunTool(tool.substr(0, space), (space == std::string::npos ? "" : tool.substr(space)) + " -m " + model);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "note: open batch: taken as 1, 'x' [1,3], 'state' [2,1,3]")) << run.out;
  }
  const auto given = RunTool("model_run", "-d NAIVE -m " + model + " --shape x=4,3");
  EXPECT_EQ(given.exit_code, 0) << given.out;
  EXPECT_FALSE(Has(given.out, "open batch")) << given.out;
  EXPECT_TRUE(Has(given.out, "state f32 [2,4,3]")) << given.out;  // the dim of the same name follows
}

TEST(OpenShapesTest, WhatIsSuggestedRunsAndIsNoPixel) {
  const std::string folder = TestFolder("open_picture"), model = Write(Picture(), folder);
  const auto refused = RunTool("model_check", "-d NAIVE --shape ask -m " + model);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "'x' is f32 [1,3,height,width]")) << refused.out;
  const std::vector<std::string> suggested = Suggestions(refused.out);
  ASSERT_EQ(suggested, (std::vector<std::string>{"--shape x=1,3,128,128", "--shape x=1,3,224,224"})) << refused.out;
  for (const std::string& options : suggested) {
    const auto run = RunTool("model_check", "-d NAIVE -m " + model + " " + options);
    EXPECT_EQ(run.exit_code, 0) << run.out;
  }
  EXPECT_EQ(RunTool("model_check", "-d NAIVE -m " + model + " --shape x=1,3,112,112").exit_code, 2);
}

TEST(OpenShapesTest, SequencesAndConstantsAreSuggestedTogether) {
  const std::string folder = TestFolder("open_sequence");
  OnnxModel m;  // the rate must be known: it chooses a branch of shapes
  AddInput(&m, "in put", {"batch", "sequence"});
  AddInput(&m, "sr", {}, 7);
  m.Output("y");
  m.Ints("rate", {1}, {16000});
  m.Ints("one", {1}, {1});
  m.Ints("minus", {1}, {-1});
  m.Node("Div", {"sr", "rate"}, {"factor"});
  m.Node("Reshape", {"factor", "one"}, {"count"});
  OnnxModel::SetInt(&m.Node("Concat", {"count", "minus"}, {"dims"}), "axis", 0);
  m.Node("Reshape", {"in put", "dims"}, {"y"}, "shaped");
  const std::string model = Write(m, folder);
  const auto refused = RunTool("model_run", "-d NAIVE --shape ask -m " + model);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  const std::vector<std::string> suggested = Suggestions(refused.out);
  ASSERT_EQ(suggested, (std::vector<std::string>{"--shape 'in put=1,4' --constant sr=16000",
                                                 "--shape 'in put=1,128' --constant sr=16000"}))
      << refused.out;
  for (const std::string& options : suggested) {
    const auto run = RunTool("model_run", "-d NAIVE -m " + model + " " + options);
    EXPECT_EQ(run.exit_code, 0) << run.out;
  }
  const auto chosen = RunTool("model_check", "-d NAIVE -m " + model);
  EXPECT_TRUE(Has(chosen.out, "; shapes chosen: 'in put=1,128' sr=16000")) << chosen.out;
  const std::string json = folder + "/chosen.json";
  RunTool("model_check", "-d NAIVE -m " + model + " --json " + json);
  EXPECT_TRUE(Has(ReadText(json), " --shape 'in put=1,128' --constant sr=16000 -d NAIVE\"")) << ReadText(json);
}

TEST(OpenShapesTest, UsualShapesAreTakenAndSaid) {
  const std::string folder = TestFolder("open_usual"), model = Write(Picture(), folder);
  const auto check = RunTool("model_check", "-d NAIVE -m " + model + " --json " + folder + "/r.json");
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_TRUE(Has(check.out, "input   shapes chosen, for the model leaves them open: x=1,3,224,224")) << check.out;
  const size_t last = check.out.rfind("ALIGNED: ");
  ASSERT_NE(last, std::string::npos) << check.out;
  EXPECT_TRUE(Has(check.out.substr(last), "; shapes chosen: x=1,3,224,224")) << check.out;
  EXPECT_TRUE(Has(ReadText(folder + "/r.json"), "open dims: chosen by trying, --shape x=1,3,224,224"));
  const auto run = RunTool("model_run", "-d NAIVE -m " + model);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "note: open dims: chosen by trying, --shape x=1,3,224,224")) << run.out;
  EXPECT_TRUE(Has(run.out, "x f32 [1,3,224,224]")) << run.out;
  // What is written stays: a model is converted at the shapes that somebody gave.
  EXPECT_EQ(RunTool("model_convert", model + " -o " + folder + "/c").exit_code, 2);
  const auto given = RunTool("model_check", "-d NAIVE -m " + model + " --shape x=1,3,128,128");
  EXPECT_FALSE(Has(given.out, "shapes chosen")) << given.out;
}

// A Resize whose sizes or factors are network inputs, with nothing else open: they are chosen, too, and said.
TEST(OpenShapesTest, SizesThatAreInputsAreChosen) {
  const std::string folder = TestFolder("open_sizes");
  const struct {
    std::vector<std::string> inputs;
    int type;
    const char* chosen;
    const char* shape;
  } cases[] = {{{"x", "", "", "size"}, 7, "size=1,2,16,10", "[1,2,16,10]"},
               {{"x", "", "size"}, 1, "size=1,1,2,2", "[1,2,16,10]"}};
  for (const auto& c : cases) {
    OnnxModel m;
    m.Input("x", {1, 2, 8, 5}).Input("size", {4}, c.type).Output("y");
    m.Node("Resize", c.inputs, {"r"}, "larger");
    m.Node("Relu", {"r"}, {"y"}, "relu");
    const std::string model = Write(m, folder);
    const auto check = RunTool("model_check", "-d NAIVE -m " + model);
    EXPECT_EQ(check.exit_code, 0) << check.out;
    EXPECT_TRUE(Has(check.out, std::string("; shapes chosen: ") + c.chosen + " (exit 0)")) << check.out;
    EXPECT_TRUE(Has(check.out, c.shape)) << check.out;
    const auto run = RunTool("model_run", "-d NAIVE -m " + model);
    EXPECT_TRUE(Has(run.out, std::string("note: open dims: chosen by trying, --constant ") + c.chosen)) << run.out;
    for (const std::string& refused :
         {"model_check -d NAIVE --shape ask -m " + model, "model_convert " + model + " -o " + folder + "/c"}) {
      const size_t space = refused.find(' ');
      const auto asked = RunTool(refused.substr(0, space), refused.substr(space));
      EXPECT_EQ(asked.exit_code, 2) << asked.out;
      EXPECT_TRUE(Has(asked.out, "--constant size=VALUES makes it a constant")) << asked.out;
    }
  }
}

// A height and a width that the model puts together with the shape of another input.
TEST(OpenShapesTest, AHeightAndAWidthAreChosen) {
  const std::string folder = TestFolder("open_height_width");
  OnnxModel m;
  AddInput(&m, "x", {"batch", "2", "h", "w"});
  AddInput(&m, "img_size", {"dim"}, 7);
  m.Output("y");
  m.Ints("zero", {1}, {0});
  m.Ints("two", {1}, {2});
  m.Node("Shape", {"x"}, {"dims"});
  m.Node("Slice", {"dims", "zero", "two"}, {"kept"});
  OnnxModel::SetInt(&m.Node("Concat", {"kept", "img_size"}, {"sizes"}), "axis", 0);
  m.Node("Resize", {"x", "", "", "sizes"}, {"y"}, "larger");
  const std::string model = Write(m, folder);
  const auto check = RunTool("model_check", "-d NAIVE -m " + model);
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_TRUE(Has(check.out, "; shapes chosen: x=1,2,224,224 img_size=256,320 (exit 0)")) << check.out;
  ASSERT_EQ(RunTool("model_info", "-m " + model + " --json " + folder + "/i.json").exit_code, 0);
  EXPECT_TRUE(Has(ReadText(folder + "/i.json"), "\"chosen\": {\n  \"img_size\": [")) << ReadText(folder + "/i.json");
}

// The bits must be 16, which no second size of an image has to pay for.
TEST(OpenShapesTest, OneKindThatDoesNotRunEnlargesNoOther) {
  OnnxModel m;
  AddInput(&m, "frame", {"batch_size", "3", "height", "width"});
  AddInput(&m, "data", {"batch_size", "bits"});
  m.Output("z").Output("y");
  m.Floats("w", {16, 1}, std::vector<float>(16, 0.5f));
  m.Node("MatMul", {"data", "w"}, {"z"}, "product");
  m.Node("Relu", {"frame"}, {"y"}, "relu");
  const auto check = RunTool("model_check", "-d NAIVE -m " + Write(m, TestFolder("open_kinds")));
  EXPECT_EQ(check.exit_code, 0) << check.out;
  EXPECT_TRUE(Has(check.out, "shapes chosen: data=1,16 frame=1,3,224,224 (exit 0)")) << check.out;
}

// As torch (a sum in the name) and ONNX Runtime GenAI (total_sequence_length) declare a decoder with a cache.
TEST(OpenShapesTest, ACacheAndWhatIsNewMakeTheTotal) {
  const std::string folder = TestFolder("open_cache");
  for (const std::string total : {"past_sequence_length + sequence_length", "total_sequence_length"}) {
    OnnxModel m;
    AddInput(&m, "new", {"batch_size", "sequence_length"});
    AddInput(&m, "past", {"batch_size", "past_sequence_length"});
    AddInput(&m, "attention_mask", {"batch_size", total}, 7);
    m.Output("y");
    OnnxModel::SetInt(&m.Node("Concat", {"past", "new"}, {"all"}, "cache"), "axis", 1);
    OnnxModel::SetInt(&m.Node("Cast", {"attention_mask"}, {"mask"}, "cast"), "to", 1);
    m.Node("Mul", {"all", "mask"}, {"y"}, "masked");
    const auto check = RunTool("model_check", "-d NAIVE -m " + Write(m, folder));
    EXPECT_EQ(check.exit_code, 0) << check.out;
    EXPECT_TRUE(Has(check.out, "shapes chosen: attention_mask=1,256 new=1,128 past=1,128")) << check.out;
    EXPECT_TRUE(Has(check.out, "(a mask that closes nothing)")) << check.out;
  }
}

TEST(OpenShapesTest, WhereNothingRunsTheReasonIsSaid) {
  const std::string folder = TestFolder("open_never");
  OnnxModel m;
  AddInput(&m, "x", {"batch", "3", "h", "w"});
  m.Output("y");
  m.Node("Bogus", {"x"}, {"y"}, "bogus");
  const auto refused = RunTool("model_check", "-d NAIVE -m " + Write(m, folder));
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "of the usual ones none runs")) << refused.out;
  EXPECT_TRUE(Has(refused.out, "node 'bogus' (Bogus, opset 17): Plumb has no such operator")) << refused.out;
}

TEST(OpenShapesTest, FilesGiveTheShape) {
  const std::string folder = TestFolder("open_files"), model = Write(Picture(), folder);
  const Tensor x = Tensor::Create(DType::kF32, Shape{2, 3, 128, 160}).value();
  ASSERT_TRUE(WriteTensors(folder + "/x.npy", {{"", x}}).ok());
  ASSERT_TRUE(WriteTensors(folder + "/x.npz", {{"x", x}, {"other", x}}).ok());
  for (const std::string& file : {folder + "/x.npy", "x=" + folder + "/x.npy", folder + "/x.npz"}) {
    const auto run = RunTool("model_run", "-d NAIVE -m " + model + " -i " + file);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "x f32 [2,3,128,160]")) << run.out;
    EXPECT_EQ(RunTool("model_check", "-d NAIVE -m " + model + " -i " + file).exit_code,
              1);  // all zeros: nothing to compare
  }
}

// A subject ran at one size: without its input nobody knows which.
TEST(OpenShapesTest, NoSizeIsChosenForASubject) {
  const std::string folder = TestFolder("open_subject"), model = Write(Picture(), folder);
  std::filesystem::create_directory(folder + "/subject");
  const Tensor y = Tensor::Create(DType::kF32, Shape{1, 3, 1, 1}).value();
  ASSERT_TRUE(WriteTensors(folder + "/subject/y.npy", {{"", y}}).ok());
  const auto run = RunTool("model_check", "-m " + model + " --subject " + folder + "/subject");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "network inputs have open dims")) << run.out;
}

// A file that does not fit is answered for itself, not with the model's open dims.
TEST(OpenShapesTest, AFileThatDoesNotFitIsNamed) {
  const std::string folder = TestFolder("open_misfit"), model = Write(Picture(), folder);
  const struct {
    Shape shape;
    const char* advice;
  } cases[] = {{Shape{3, 128, 160}, "the batch is missing: give array[None]"},
               {Shape{128, 160, 3}, "this is HWC: give array.transpose(2, 0, 1)[None]"},
               {Shape{1, 128, 160, 3}, "this is NHWC: give array.transpose(0, 3, 1, 2)"},
               {Shape{160}, "the model's has 4 dims, this one 1"}};
  for (const auto& c : cases) {
    ASSERT_TRUE(WriteTensors(folder + "/x.npy", {{"", Tensor::Create(DType::kF32, c.shape).value()}}).ok());
    for (const std::string tool : {"model_check", "model_run"}) {
      const auto run = RunTool(tool, "-d NAIVE -m " + model + " -i " + folder + "/x.npy");
      EXPECT_EQ(run.exit_code, 2) << run.out;
      EXPECT_TRUE(Has(run.out, "x.npy': network input 'x' expects shape [")) << run.out;
      EXPECT_TRUE(Has(run.out, c.advice)) << run.out;
      EXPECT_FALSE(Has(run.out, "have open dims")) << run.out;
    }
  }
  const auto missing = RunTool("model_check", "-d NAIVE -m " + model + " -i " + folder + "/none.npy");
  EXPECT_EQ(missing.exit_code, 2) << missing.out;
  EXPECT_TRUE(Has(missing.out, "none.npy") && !Has(missing.out, "have open dims")) << missing.out;
  const auto rank = RunTool("model_check", "-d NAIVE -m " + model + " --shape x=3,128,160");
  EXPECT_EQ(rank.exit_code, 2) << rank.out;
  EXPECT_FALSE(Has(rank.out, "have open dims")) << rank.out;
  const auto name = RunTool("model_check", "-d NAIVE -m " + model + " --shape picture=1,3,128,160");
  EXPECT_EQ(name.exit_code, 2) << name.out;
  EXPECT_TRUE(Has(name.out, "'picture'") && !Has(name.out, "have open dims")) << name.out;
}

TEST(OpenShapesTest, InfoNeedsNoShapes) {
  const std::string folder = TestFolder("open_info"), model = Write(Picture(), folder);
  const auto open = RunTool("model_info", "-m " + model + " --json " + folder + "/i.json");
  EXPECT_EQ(open.exit_code, 0) << open.out;
  EXPECT_TRUE(Has(open.out, "x f32 [unk__7,3,height,width], here [1,3,224,224]")) << open.out;
  EXPECT_TRUE(Has(open.out, "[1,3,?,?]")) << open.out;
  EXPECT_TRUE(Has(open.out, "give the open shapes (--shape) for the cost")) << open.out;
  EXPECT_TRUE(Has(ReadText(folder + "/i.json"), "\"declared\": \"[unk__7,3,height,width]\""));
  const auto given = RunTool("model_info", "-m " + model + " --shape x=1,3,256,256");
  EXPECT_EQ(given.exit_code, 0) << given.out;
  EXPECT_TRUE(Has(given.out, "[1,3,128,128]") && Has(given.out, "GFLOP")) << given.out;
  EXPECT_FALSE(Has(given.out, "?")) << given.out;
}

TEST(OpenShapesTest, ATnnprotoWithAnOpenBatchRuns) {
  const std::string folder = TestFolder("open_tnn");
  WriteText(folder + "/m.tnnproto",
            "\"1 2 1 4206624772 ,\"\n\"x 4 -1 3 -1 8 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU relu 1 1 x y ,\"\n");
  const auto refused = RunTool("model_run", "-d NAIVE --shape ask -m " + folder + "/m.tnnproto");
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  const std::vector<std::string> suggested = Suggestions(refused.out);
  ASSERT_EQ(suggested, (std::vector<std::string>{"--shape x=1,3,32,8", "--shape x=1,3,224,8"})) << refused.out;
  EXPECT_EQ(RunTool("model_run", "-d NAIVE -m " + folder + "/m.tnnproto " + suggested[0]).exit_code, 0);
}

}  // namespace
}  // namespace plumb
