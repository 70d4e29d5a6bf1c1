// SPDX-License-Identifier: Apache-2.0
// A whole check in one call, and ending one from outside.
#include "plumb/tool/check_all.h"

#include <atomic>
#include <memory>

#include "plumb/tool/interrupt.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

const std::string kDigits = PLUMB_EXAMPLES "/digits/digits.tnnproto";

// A device that no build for this machine has.
#if defined(__aarch64__)
constexpr const char* kForeign = "X86";
#else
constexpr const char* kForeign = "ARM";
#endif

class CountSteps : public Observer {
 public:
  Status After(const LayerEvent&) override {
    ++steps;
    return Status::Ok();
  }
  int steps = 0;
};

TEST(CheckAllTest, DevicesAreJudgedOneAfterTheOtherAndFailuresKept) {
  const auto session = Session::Open(kDigits);
  ASSERT_TRUE(session.ok()) << session.status().message();
  CheckPlan plan;
  plan.devices = {"NAIVE", kForeign};
  plan.reproduce = "again";
  const auto result = CheckAll(session->get(), plan);
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->runs.size(), 1u);
  EXPECT_EQ(result->runs[0].verdict, Verdict::kAligned);
  EXPECT_EQ(result->devices[0].state, AskedDevice::State::kRan);
  EXPECT_EQ(result->devices[1].state, AskedDevice::State::kFailed);
  EXPECT_EQ(result->devices[1].exit_code, 3);
  EXPECT_EQ(result->devices[1].code, StatusCode::kNotFound);
  EXPECT_EQ(Conclude(*result).exit_code, 3);
  EXPECT_EQ(result->checked.reproduce, "again");
}

TEST(CheckAllTest, ASubjectIsJudgedAloneUnlessDevicesAreNamed) {
  auto graph = LoadModel(kDigits);
  ASSERT_TRUE(graph.ok());
  const NetworkInputs inputs = PrepareInputs(InputOptions(), *graph).value();
  auto network = CreateNetwork(std::move(*graph), "NAIVE").value();
  const auto outputs = RunNetwork(network.get(), inputs.values).value();
  SessionOptions options;
  options.subject.tensors = {{"input", inputs.values.at("input")}, {"prob", outputs.at("prob")}};
  CheckPlan plan;
  plan.reproduce_subject = "--subject theirs.npz";
  const auto alone = CheckAll(Session::Open(kDigits, options).value().get(), plan);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  ASSERT_EQ(alone->runs.size(), 1u);
  EXPECT_EQ(alone->runs[0].device, "subject");
  EXPECT_EQ(alone->runs[0].reproduce, "--subject theirs.npz");
  plan.devices = {"NAIVE"};
  EXPECT_EQ(CheckAll(Session::Open(kDigits, options).value().get(), plan)->runs.size(), 2u);
}

TEST(CheckAllTest, HooksPrepareSeeAndMayReplaceTheJudging) {
  const auto session = Session::Open(kDigits).value();
  CheckPlan plan;
  plan.devices = {"NAIVE", kForeign};
  auto count = std::make_shared<CountSteps>();
  std::vector<std::string> seen;
  plan.hooks.described = [](CheckedModel* checked) { checked->model = "mine"; };
  plan.hooks.prepare = [&](std::shared_ptr<Device> device, const NetworkOptions& options) {
    auto network = Network::Create(session->graph(), std::move(device), options);
    if (network.ok()) network.value()->AddObserver(count);
    return network;
  };
  plan.hooks.judged = [&](const CheckedModel& checked, RunReport* run, const std::map<std::string, Tensor>& outputs) {
    seen.push_back(checked.model + " " + run->device);
    run->notes.emplace_back("seen");
    return outputs.count("prob") == 1 ? Status::Ok() : Status::Internal("the output is missing");
  };
  plan.hooks.not_run = [&](AskedDevice* asked) { seen.push_back("not " + asked->device); };
  const auto result = CheckAll(session.get(), plan);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(seen, (std::vector<std::string>{"mine NAIVE", std::string("not ") + kForeign}));
  EXPECT_EQ(result->runs[0].notes, std::vector<std::string>{"seen"});
  EXPECT_EQ(count->steps, static_cast<int>(result->runs[0].layers.size()));
  plan.devices = {"NAIVE"};
  plan.hooks.use = [](Network* network) { return Status::Mismatch(network->device_name() + " was used otherwise"); };
  const auto used = CheckAll(session.get(), plan);
  ASSERT_TRUE(used.ok()) << used.status().message();
  EXPECT_TRUE(used->runs.empty());
  EXPECT_EQ(used->devices[0].error, "NAIVE was used otherwise");
  EXPECT_EQ(used->devices[0].code, StatusCode::kMismatch);
}

TEST(CheckAllTest, OtherInputsAndASubjectThatCannotBeJudged) {
  const auto session = Session::Open(kDigits).value();
  CheckPlan plan;
  plan.devices = {"NAIVE"};
  std::map<std::string, Tensor> twice;
  ASSERT_TRUE(twice.emplace("input", Tensor::Zeros(DType::kF32, {2, 1, 8, 8}).value()).second);
  plan.inputs = &twice;
  plan.network.input_shapes["input"] = Shape{2, 1, 8, 8};
  const auto doubled = CheckAll(session.get(), plan);
  ASSERT_TRUE(doubled.ok()) << doubled.status().message();
  EXPECT_EQ(doubled->runs[0].outputs[0].device.shape(), (Shape{2, 10, 1, 1}));

  SessionOptions options;
  options.subject.tensors = {{"prob", Tensor::Zeros(DType::kF32, {1, 10, 1, 1}).value()}};
  options.checks_devices = false;
  const auto with_subject = Session::Open(kDigits, options).value();
  CheckPlan named;
  named.check.layers = {"nowhere"};
  std::string said;
  named.hooks.failed = [&](CheckError* error) { said = error->message; };
  const auto failed = CheckAll(with_subject.get(), named);
  ASSERT_TRUE(failed.ok()) << failed.status().message();
  ASSERT_EQ(failed->errors.size(), 1u);
  EXPECT_EQ(failed->errors[0].message, said);
  EXPECT_EQ(failed->errors[0].code, StatusCode::kInvalidArgument);
  EXPECT_EQ(Conclude(*failed).exit_code, 2);
}

TEST(CheckAllTest, ADeviceIsAskedOnceAndByNameWhereItIsNamed) {
  const auto asked = AskDevices({"X86", "ALL", "NAIVE", "X86"});
  ASSERT_TRUE(asked.ok()) << asked.status().message();
  EXPECT_EQ(asked->front().device, "X86");
  EXPECT_EQ(asked->back().device, "NAIVE");
  int by_name = 0;
  for (const AskedDevice& one : *asked) by_name += one.by_name ? 1 : 0;
  EXPECT_EQ(by_name, 2);
  EXPECT_EQ(AskDevices({"CUDA"}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(AskDevices({}).status().code(), StatusCode::kInvalidArgument);
}

TEST(InterruptTest, AForwardEndsAtTheNextLayerAndTheNetworkGoesOn) {
  auto network = CreateNetwork(LoadModel(kDigits).value(), "NAIVE").value();
  const NetworkInputs inputs = PrepareInputs(InputOptions(), network->graph()).value();
  CountSteps count;
  network->AddObserver(&count);
  {
    const Interrupter stop([&] { return count.steps == 2; });
    const Interrupter never([] { return false; });
    const auto ended = RunNetwork(network.get(), inputs.values);
    EXPECT_EQ(ended.status().code(), StatusCode::kDeviceError);
    EXPECT_TRUE(Has(ended.status().message(), "interrupted")) << ended.status().message();
    EXPECT_EQ(count.steps, 2);
  }
  EXPECT_TRUE(RunNetwork(network.get(), inputs.values).ok());
}

TEST(InterruptTest, ACheckOfDevicesOrASubjectEnds) {
  SessionOptions options;
  const NetworkInputs inputs = PrepareInputs(InputOptions(), LoadModel(kDigits).value()).value();
  options.subject.tensors = {{"input", inputs.values.at("input")}};
  const auto session = Session::Open(kDigits, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  std::atomic<bool> stop{true};
  CheckPlan plan;
  plan.devices = {"NAIVE"};
  const Interrupter interrupter([&] { return stop.load(); });
  EXPECT_TRUE(Has(session.value()->JudgeSubject().status().message(), "interrupted"));
  EXPECT_TRUE(Has(CheckAll(Session::Open(kDigits).value().get(), plan).status().message(), "interrupted"));
  stop = false;
  EXPECT_TRUE(CheckAll(Session::Open(kDigits).value().get(), plan).ok());
}

}  // namespace
}  // namespace plumb
