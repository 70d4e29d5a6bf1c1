// SPDX-License-Identifier: Apache-2.0
// What another runtime computed, judged by a program: pairing, layout, arithmetic, sizes and inputs are found; the
// guilty layer is named. NAIVE's own blobs are the healthy subject; faults are planted into them.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "op/convolution.h"
#include "plumb/model.h"
#include "plumb/session.h"
#include "reference/core/reference_op.h"
#include "session/session_test_util.h"
#include "util/int8_runtime.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

using Blobs = std::map<std::string, Tensor>;

const std::string kFaults = PLUMB_TEST_DATA "/faults/faults.tnnproto";

// Every blob of faults.tnnproto as NAIVE computes it on generated inputs.
class AllBlobs : public Observer {
 public:
  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(blobs[event.step().outputs[i].blob], event.Output(i));
    }
    return Status::Ok();
  }
  Blobs blobs;
};

const Blobs& Healthy() {
  static const Blobs healthy = [] {
    NetworkOptions options;
    options.unfuse = true;
    AllBlobs all;
    auto network = CreateNetwork(LoadModel(kFaults).value(), "NAIVE", options).value();
    network->AddObserver(&all);
    const NetworkInputs inputs = PrepareInputs(InputOptions(), network->graph()).value();
    EXPECT_TRUE(RunNetwork(network.get(), inputs.values).ok());
    all.blobs.insert(inputs.values.begin(), inputs.values.end());
    return all.blobs;
  }();
  return healthy;
}

std::vector<NamedTensor> Named(const Blobs& blobs) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : blobs) tensors.push_back({name, tensor});
  return tensors;
}

Blobs With(const std::string& name, const std::function<float(float, int64_t)>& f) {
  Blobs blobs = Healthy();
  blobs[name] = Changed(blobs[name], f);
  return blobs;
}

Tensor ChannelsLast(const Tensor& tensor) {
  const Shape& s = tensor.shape();
  Tensor turned = Tensor::Create(DType::kF32, {s[0], s[2], s[3], s[1]}).value();
  const int64_t channels = s[1], pixels = s[2] * s[3];
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t p = 0; p < pixels; ++p) turned.data<float>()[p * channels + c] = tensor.data<float>()[c * pixels + p];
  }
  return turned;
}

class SubjectSession : public ScratchFolder {
 protected:
  Result<RunReport> Judge(const Blobs& blobs, SessionOptions options = SessionOptions(),
                          CheckOptions check = CheckOptions()) {
    options.subject.tensors = Named(blobs);
    PLUMB_ASSIGN_OR_RETURN(session_, Session::Open(kFaults, options));
    return session_->JudgeSubject(check);
  }
  // The sentence with which the session is refused; it names no option of a tool.
  std::string Refused(const SessionOptions& options) {
    const auto session = Session::Open(kFaults, options);
    EXPECT_FALSE(session.ok());
    const std::string message = session.status().message();
    for (const char* word : {" --", " -i", "give it with -"})
      EXPECT_EQ(message.find(word), std::string::npos) << message;
    return message;
  }
  static std::string Guilty(const RunReport& report) {
    return report.first_wrong < 0 ? "" : report.layers[static_cast<size_t>(report.first_wrong)].step.name;
  }
  static std::string Notes(const RunReport& report) {
    std::string text;
    for (const std::string& note : report.notes) text += note + "\n";
    return text;
  }
  std::unique_ptr<Session> session_;
};

// A float32 tensor rounded to steps of 2^-5, saturating at 2.
Tensor Rounded(const Tensor& tensor) {
  return Changed(tensor, [](float v, int64_t) { return std::min(2.0f, std::nearbyint(v * 32) / 32); });
}

TEST_F(SubjectSession, GivenInputIsTheOneThatAQuantisedCopyRounded) {
  const Tensor image = Healthy().at("data");
  Blobs blobs = Healthy();
  SessionOptions options;
  options.inputs.values = {{"data", image}};
  blobs["data_DequantizeLinear_Output"] = Rounded(image);
  EXPECT_TRUE(Judge(blobs, options).ok());
  EXPECT_TRUE(session_->input_matches().at(0).equal) << "the set has what was rounded";
  blobs.erase("data");
  EXPECT_TRUE(Judge(blobs, options).ok());
  EXPECT_TRUE(session_->input_matches().at(0).equal) << "it has the rounded one alone";
  options.inputs.values = {{"data", Changed(image, [](float v, int64_t i) { return i == 7 ? v + 0.1f : v; })}};
  EXPECT_TRUE(Judge(blobs, options).ok());
  EXPECT_FALSE(session_->input_matches().at(0).equal) << "another image";
}

TEST_F(SubjectSession, OnlyWhatTheVerdictCallsWrongIsHandedOver) {
  Int8Runtime runtime;
  runtime.levels = 64;  // so that fp32 and usual weights are tried, too
  const Graph graph = LoadModel(kFaults).value();
  Blobs blobs = runtime.Run(graph, {{"data", Healthy().at("data")}});
  blobs["prob"] = Changed(blobs["prob"], [](float v, int64_t) { return -v; });
  std::set<std::string> handed;
  CheckOptions check;
  check.on_wrong = [&](const std::string& blob, const Tensor&, const Tensor&) {
    handed.insert(blob);
    return Status::Ok();
  };
  const RunReport run = Judge(blobs, {}, check).value();
  std::set<std::string> wrong;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict == Verdict::kWrong) wrong.insert(layer.step.name);
  }
  EXPECT_EQ(handed, wrong);
  EXPECT_EQ(handed, std::set<std::string>{"prob"});
}

TEST_F(SubjectSession, CausesAreSoughtUnlessNotAskedFor) {
  const Blobs blobs = With("left", [](float v, int64_t) { return -v; });
  CheckOptions check;
  const auto guilty = [&] {
    const RunReport run = Judge(blobs, {}, check).value();
    return run.layers.at(static_cast<size_t>(run.first_wrong));
  };
  const LayerReport with = guilty();
  check.causes = false;
  EXPECT_TRUE(guilty().cause.empty());
  EXPECT_NE(with.reason, guilty().reason) << "neither cause nor hint";
}

// What ONNX Runtime's quantize_static makes of a blob: under its own name the floats before they were quantised.
TEST_F(SubjectSession, QuantisedCopyIsJudgedByWhatReadersRead) {
  Blobs blobs = Healthy();
  blobs["left_DequantizeLinear_Output"] = blobs["left"];
  blobs["left"] = Changed(blobs["left"], [](float v, int64_t) { return v + 1; });
  blobs["right_DequantizeLinear_Output"] = blobs["right"];
  blobs["right"] = Tensor::Zeros(DType::kU8, blobs["right"].shape()).value();  // an optimised graph's
  blobs["relu2"] = Tensor::Zeros(DType::kU8, blobs["relu2"].shape()).value();
  const RunReport run = Judge(blobs).value();
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  std::string notes;
  for (const std::string& note : run.notes) notes += note + "\n";
  EXPECT_TRUE(Has(notes, "of a quantised copy of the model: 2 blobs are what integers stand for")) << notes;
  EXPECT_TRUE(Has(notes, "integers without their scale, not tested: 'relu2'")) << notes;
  blobs["left_DequantizeLinear_Output"] = blobs["left"];
  EXPECT_EQ(Judge(blobs).value().verdict, Verdict::kWrong);
}

TEST_F(SubjectSession, HealthyIsAlignedAndSaysWhatItRestsOn) {
  const RunReport report = Judge(Healthy()).value();
  EXPECT_EQ(report.verdict, Verdict::kAligned);
  EXPECT_EQ(report.Count(Verdict::kAligned), 23);
  EXPECT_EQ(report.judged_as, "NCHW, fp32");
  EXPECT_TRUE(Has(Notes(report), "in memory, 24 tensors; 24 of the model's 24 blobs are there")) << Notes(report);
  EXPECT_TRUE(Has(Notes(report), "arithmetic fp32 (found: nothing speaks against it)")) << Notes(report);
  EXPECT_TRUE(report.reproduce.empty()) << "a program has no command line";
  EXPECT_TRUE(Has(FormatSummary(session_->Describe(), report), "all aligned"))
      << FormatSummary(session_->Describe(), report);
  EXPECT_TRUE(Has(session_->Describe().inputs.at(0), "data f32 [1,3,40,40]: the subject's"));
}

TEST_F(SubjectSession, TheGuiltyLayerIsNamedAndNoOther) {
  for (const std::string guilty : {"conv1", "relu6", "swish", "fc"}) {
    const RunReport report = Judge(With(guilty, [](float x, int64_t) { return x * 1.001f; })).value();
    EXPECT_EQ(report.verdict, Verdict::kWrong);
    EXPECT_EQ(Guilty(report), guilty);
  }
}

TEST_F(SubjectSession, FilesAndMemoryAreJudgedAlike) {
  const Blobs blobs = With("fc", [](float x, int64_t) { return x * 1.001f; });
  SessionOptions options;
  options.subject.path = WriteNpz("s.npz", blobs);
  const auto session = Session::Open(kFaults, options).value();
  const RunReport file = session->JudgeSubject().value(), memory = Judge(blobs).value();
  EXPECT_EQ(Guilty(file), "fc");
  ASSERT_EQ(file.layers.size(), memory.layers.size());
  for (size_t i = 0; i < file.layers.size(); ++i) {
    EXPECT_EQ(file.layers[i].verdict, memory.layers[i].verdict);
    EXPECT_EQ(file.layers[i].outputs[0].excess, memory.layers[i].outputs[0].excess);
  }
}

TEST_F(SubjectSession, LayoutIsFoundForTheWholeOrDeclared) {
  Blobs blobs = Healthy();
  for (auto& [name, tensor] : blobs) tensor = ChannelsLast(tensor);
  EXPECT_EQ(Judge(blobs)->judged_as, "NHWC, fp32");
  SessionOptions declared;
  declared.pairing.layout = "NCHW";
  const Status unfit = Judge(blobs, declared).status();  // channels that are no channels do not fit the weights
  EXPECT_TRUE(Has(unfit.message(), "'conv1' (Convolution): weight expects 5760 elements")) << unfit.message();
  declared.pairing.layout = "NWHC";
  declared.subject.tensors = Named(blobs);
  EXPECT_EQ(Refused(declared), "PairingOptions::layout: expected NCHW or NHWC, found 'NWHC'; did you mean 'NHWC'?");
  Blobs one = Healthy();
  one["swish"] = ChannelsLast(one["swish"]);
  EXPECT_EQ(Guilty(*Judge(one)), "swish");
}

TEST_F(SubjectSession, ArithmeticIsFoundByTheValuesOrDeclared) {
  Blobs blobs = Healthy();
  for (auto& [name, tensor] : blobs) {
    tensor = tensor.ConvertedTo(DType::kF16).value().ConvertedTo(DType::kF32).value();
  }
  const RunReport found = Judge(blobs).value();
  EXPECT_TRUE(Has(found.judged_as, "f16") || Has(found.judged_as, "fp16")) << found.judged_as;
  SessionOptions declared;
  declared.arithmetic = SubjectArithmetic::kFp32;
  const RunReport fp32 = Judge(blobs, declared).value();
  EXPECT_EQ(fp32.judged_as, "NCHW, fp32");
  EXPECT_EQ(fp32.verdict, Verdict::kWrong);
  EXPECT_TRUE(Has(Notes(fp32), "arithmetic fp32 (declared)"));
  EXPECT_EQ(ParseArithmetic(ArithmeticName(SubjectArithmetic::kStoredBf16)).value(), SubjectArithmetic::kStoredBf16);
  EXPECT_TRUE(Has(ParseArithmetic("fp31").status().message(), "SessionOptions::arithmetic: expected fp32"));
}

// Four convolutions that store bf16; one of them read its input before it was rounded, as Winograd's algorithm may.
TEST_F(SubjectSession, ALoneWinogradAmongBf16IsGrey) {
  for (const int kernel : {3, 1}) {
    Graph graph;
    graph.inputs = {{"b0", DType::kF32, {1, 16, 12, 12}}};
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.1f);
    const auto draw = [&](const Shape& shape) {
      Tensor tensor = Tensor::Create(DType::kF32, shape).value();
      for (int64_t i = 0; i < tensor.NumElements(); ++i)
        tensor.data<float>()[i] = BFloat16ToFloat(FloatToBFloat16(normal(random)));
      return tensor;
    };
    Blobs blobs = {{"b0", draw({1, 16, 12, 12})}};
    Tensor exact = blobs["b0"];
    for (int i = 0; i < 4; ++i) {
      const std::string from = "b" + std::to_string(i), to = "b" + std::to_string(i + 1);
      Layer layer = MakeLayer(OpKind::kConvolution, "conv" + std::to_string(i), {from}, {to});
      auto param = std::make_shared<ConvolutionParam>();
      param->group = 1;
      param->in_channels_per_group = param->out_channels = 16;
      param->kernel_h = param->kernel_w = kernel;
      param->pad_h = param->pad_w = kernel / 2;
      param->pad_type = -1;
      layer.param = param;
      layer.resources["weight"] = draw({16, 16, kernel, kernel});
      Tensor out = Tensor::Create(DType::kF32, {1, 16, 12, 12}).value();
      ReferenceArgs args{layer, {i == 2 ? &exact : &blobs[from]}, {&out}};
      ASSERT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
      graph.layers.push_back(std::move(layer));
      graph.layers.back().index = i;
      exact = out;
      blobs[to] = Changed(out, [](float x, int64_t) { return BFloat16ToFloat(FloatToBFloat16(x)); });
    }
    graph.outputs = {"b4"};
    const std::string prefix = At("chain");
    ASSERT_TRUE(SaveModel(graph, prefix).ok());
    SessionOptions options;
    options.subject.tensors = Named(blobs);
    const auto session = Session::Open(prefix + ".tnnproto", options).value();
    const RunReport run = session->JudgeSubject().value();
    EXPECT_EQ(run.judged_as, "NCHW, bf16");
    EXPECT_EQ(run.layers[2].verdict, kernel == 3 ? Verdict::kGrey : Verdict::kWrong) << run.layers[2].reason;
    EXPECT_EQ(run.Count(Verdict::kAligned), 3);
    EXPECT_EQ(Has(run.layers[2].reason, "Winograd's algorithm, or an input that was not rounded yet"), kernel == 3);
  }
}

TEST_F(SubjectSession, NamesPairWhatIsCalledOtherwise) {
  Blobs renamed;
  SessionOptions options;
  for (const auto& [name, tensor] : Healthy()) {
    renamed["net," + name] = tensor;
    options.pairing.names[name] = "net," + name;
  }
  EXPECT_EQ(Judge(renamed, options)->Count(Verdict::kAligned), 23);
  SessionOptions unnamed;
  unnamed.subject.tensors = Named(renamed);
  const std::string refused = Refused(unnamed);
  EXPECT_TRUE(Has(refused, "the subject 'in memory': none of its tensors is this model's: it has 'net,")) << refused;
  EXPECT_TRUE(Has(refused, "PairingOptions::names")) << refused;
  SessionOptions ordered;
  ordered.pairing.by_order = true;
  const Blobs two = {{"data", Healthy().at("data")}, {"output_0", Healthy().at("conv1")}};
  EXPECT_TRUE(Has(Notes(*Judge(two, ordered)), "paired by order only, as asked: 'conv1' = 'output_0';"));
}

TEST_F(SubjectSession, MissingTensorsMakeAGroupAndBordersOneStep) {
  Blobs blobs = Healthy();
  for (const char* name : {"conv1", "depthwise", "dilated", "residual", "left", "right"}) blobs.erase(name);
  const RunReport groups = Judge(blobs).value();
  EXPECT_EQ(groups.verdict, Verdict::kAligned);
  EXPECT_LT(groups.layers.size(), 23u);
  const RunReport borders = Judge({{"data", Healthy().at("data")}, {"prob", Healthy().at("prob")}}).value();
  EXPECT_EQ(borders.layers.size(), 1u);
  EXPECT_TRUE(Has(Notes(borders), "dump the layers' outputs too")) << Notes(borders);
}

// A subject that ran at another size decides the size; two that say different ones are refused.
TEST_F(SubjectSession, TheSizeIsTheSubjectsUnlessItIsSaid) {
  NetworkOptions options;
  options.unfuse = true;
  LoadOptions load;
  load.input_shapes["data"] = {1, 3, 48, 48};
  AllBlobs all;
  auto network = CreateNetwork(LoadModel(kFaults, load).value(), "NAIVE", options).value();
  network->AddObserver(&all);
  const NetworkInputs inputs = PrepareInputs(InputOptions(), network->graph()).value();
  ASSERT_TRUE(RunNetwork(network.get(), inputs.values).ok());
  all.blobs.insert(inputs.values.begin(), inputs.values.end());
  EXPECT_EQ(Judge(all.blobs)->verdict, Verdict::kAligned);
  EXPECT_EQ(session_->graph()->inputs[0].shape.ToString(), "[1,3,48,48]");
  SessionOptions said;
  said.subject.tensors = Named(all.blobs);
  said.load.input_shapes["data"] = {1, 3, 40, 40};
  const std::string refused = Refused(said);
  EXPECT_TRUE(
      Has(refused, "'data' is [1,3,48,48] in the subject 'in memory', but [1,3,40,40] in LoadOptions::input_shapes"))
      << refused;
}

TEST_F(SubjectSession, AnotherInputIsAMatchThatDiffers) {
  SessionOptions options;
  options.inputs.values["data"] = Changed(Healthy().at("data"), [](float x, int64_t) { return x * 2 + 0.5f; });
  const RunReport report = Judge(Healthy(), options).value();
  EXPECT_EQ(report.verdict, Verdict::kAligned) << "each side is judged on its own inputs";
  ASSERT_EQ(session_->input_matches().size(), 1u);
  const InputMatch& match = session_->input_matches()[0];
  EXPECT_FALSE(match.equal);
  EXPECT_EQ(match.a + " " + match.b, "given subject");
  EXPECT_TRUE(Has(match.explanation, "a * x + b per channel")) << match.explanation;
}

TEST_F(SubjectSession, WithoutItsInputNothingIsGuessed) {
  Blobs blobs = Healthy();
  blobs.erase("data");
  const RunReport report = Judge(blobs).value();
  EXPECT_EQ(report.Count(Verdict::kNotTested), 1);
  EXPECT_TRUE(session_->inputs().values.empty());
  EXPECT_TRUE(Has(session_->inputs().lines.at(0), "data: not known; give the subject's with InputOptions::files"));
  SessionOptions given;
  given.inputs.values["data"] = Healthy().at("data");
  EXPECT_EQ(Judge(blobs, given)->Count(Verdict::kAligned), 23);
}

TEST_F(SubjectSession, NamedLayersAreJudgedAlone) {
  CheckOptions check;
  check.layers = {"relu6", "conv1"};
  const auto blobs = With("fc", [](float x, int64_t) { return x * 1.001f; });
  const RunReport report = Judge(blobs, SessionOptions(), check).value();
  EXPECT_EQ(report.layers.size(), 2u);
  EXPECT_EQ(report.verdict, Verdict::kAligned);
  check.layers = {"nowhere"};
  EXPECT_EQ(Judge(blobs, SessionOptions(), check).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SubjectSession, WhatCannotBeReadIsRefused) {
  SessionOptions options;
  options.subject.path = At("nowhere.npz");
  EXPECT_EQ(Refused(options), "there is no file or folder '" + At("nowhere.npz") + "'");
  options.subject.path = WriteText("x.dat", "12345678");
  EXPECT_TRUE(Has(Refused(options), "PairingOptions::tensors"));
  options.subject.path = "";
  Blobs integers = Healthy();
  integers["swish"] = integers["swish"].ConvertedTo(DType::kI32).value();
  options.subject.tensors = Named(integers);
  EXPECT_TRUE(Has(Refused(options), "the subject's tensor 'swish' ('memory') is i32, the model's blob is f32"));
  options.subject.tensors = {{"conv1", Healthy().at("conv1")}, {"conv1", Healthy().at("conv1")}};
  EXPECT_EQ(Refused(options), "'in memory' holds two tensors 'conv1'");
  const auto none = Session::Open(kFaults).value();
  EXPECT_EQ(none->JudgeSubject().status().message(), "the session has no subject (SessionOptions::subject)");
  EXPECT_EQ(none->JudgeGolden().status().message(), "the session has no golden (SessionOptions::golden)");
}

// A conversion that is wrong and a kernel that is wrong are told apart.
TEST_F(SubjectSession, TheGoldenTellsConversionFromKernel) {
  SessionOptions options;
  options.golden.tensors = Named(With("prob", [](float x, int64_t) { return x * 1.05f; }));
  options.subject.tensors = Named(With("fc", [](float x, int64_t) { return x + 0.01f; }));
  options.checks_devices = true;
  const auto session = Session::Open(kFaults, options).value();
  const RunReport golden = session->JudgeGolden().value(), subject = session->JudgeSubject().value();
  EXPECT_TRUE(golden.is_golden);
  EXPECT_EQ(Guilty(golden), "prob");
  EXPECT_EQ(Guilty(subject), "fc");
  const RunReport device = session->CheckDevice("NAIVE").value();
  EXPECT_EQ(device.verdict, Verdict::kAligned);
  std::string wrong;
  for (const LayerReport& layer : device.layers) {
    for (const OutputReport& output : layer.outputs) {
      EXPECT_TRUE(output.golden.compared) << output.blob;
      if (output.golden.conversion == Verdict::kWrong) wrong += output.blob + " ";
    }
  }
  EXPECT_EQ(wrong, "prob ");
  EXPECT_EQ(session->input_matches().size(), 1u);
  EXPECT_TRUE(session->input_matches()[0].equal);
}

TEST_F(SubjectSession, TwoGoldensAreRefused) {
  SessionOptions options;
  options.golden.tensors = Named(Healthy());
  options.run_onnxruntime = true;
  EXPECT_EQ(Refused(options), "SessionOptions::golden and SessionOptions::run_onnxruntime are two goldens; give one");
  options.golden.tensors.clear();
  EXPECT_TRUE(Has(Refused(options), "SessionOptions::run_onnxruntime: ONNX Runtime runs the original .onnx"));
  options.run_litert = true;
  EXPECT_EQ(Refused(options),
            "SessionOptions::run_litert and SessionOptions::run_onnxruntime are two goldens; give one");
  options.run_onnxruntime = false;
  EXPECT_TRUE(Has(Refused(options), "SessionOptions::run_litert: LiteRT runs the original .tflite"));
}

}  // namespace
}  // namespace plumb
