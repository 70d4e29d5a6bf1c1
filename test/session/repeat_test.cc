// SPDX-License-Identifier: Apache-2.0
// --repeat: a network that computes the same again, and one of which a step does not.
#include "session/repeat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plumb/plumb.h"
#include "plumb/tool/check_all.h"

namespace plumb {
namespace {

class GivenEvent : public LayerEvent {
 public:
  GivenEvent(const StepInfo& step, std::vector<float> values) : step_(step), values_(std::move(values)) {}
  const StepInfo& step() const override { return step_; }
  int forward() const override { return 0; }
  double seconds() const override { return 0; }
  Result<Tensor> Input(size_t) const override { return Status::NotFound("no input"); }
  Result<Tensor> Output(size_t) const override {
    Tensor tensor = Tensor::Create(DType::kF32, {static_cast<int64_t>(values_.size())}).value();
    std::copy(values_.begin(), values_.end(), tensor.data<float>());
    return tensor;
  }

 private:
  const StepInfo& step_;
  std::vector<float> values_;
};

StepInfo RepeatedStep(int index, const std::string& name) {
  StepInfo step;
  step.index = index;
  step.name = name;
  step.type = "ReLU";
  step.kernel = "test/relu";
  step.outputs.emplace_back();
  step.outputs[0].blob = name;
  return step;
}

// One Forward of two steps.
void RunOnce(RepeatObserver* observer, std::vector<float> a, std::vector<float> b) {
  const StepInfo first = RepeatedStep(3, "first"), second = RepeatedStep(4, "second");
  ASSERT_TRUE(observer->ForwardBegin(0).ok());
  ASSERT_TRUE(observer->After(GivenEvent(first, std::move(a))).ok());
  ASSERT_TRUE(observer->After(GivenEvent(second, std::move(b))).ok());
}

TEST(Repeat, TheFirstStepThatChangesIsNamed) {
  RepeatObserver observer;
  RunOnce(&observer, {1, 2}, {4, 8});
  RunOnce(&observer, {1, 2}, {4, 8});
  EXPECT_EQ(observer.Describe(), "repeated: 2 Forwards have the same bits in all 2 tensors");
  RunOnce(&observer, {1, 2}, {4, 7});
  RunOnce(&observer, {1.5, 2}, {5, 7});
  EXPECT_EQ(observer.Describe(),
            "repeated: 2 of 3 later Forwards compute otherwise than the first; first changes step 4 'second' (ReLU, "
            "test/relu) in Forward 3: 1 of 2 values, by 0.12 of the largest; what changes first: 'first' (1 times), "
            "'second' (1 times)");
}

TEST(Repeat, NaNIsTheSameAndALostOneIsInfinitelyFar) {
  RepeatObserver observer;
  RunOnce(&observer, {NAN, 2}, {4, 8});
  RunOnce(&observer, {NAN, 2}, {4, 8});
  EXPECT_NE(observer.Describe().find("the same bits"), std::string::npos);
  RunOnce(&observer, {1, 2}, {4, 8});
  EXPECT_NE(observer.Describe().find("1 of 2 values, by inf of the largest"), std::string::npos) << observer.Describe();
}

TEST(Repeat, ADeviceRunsSoManyTimesMore) {
  auto session = Session::Open(PLUMB_EXAMPLES "/digits/digits.tnnproto").value();
  CheckPlan plan;
  plan.devices = {"NAIVE"};
  plan.repeats = 2;
  const CheckResult result = CheckAll(session.get(), plan).value();
  ASSERT_EQ(result.runs.size(), 1u);
  EXPECT_EQ(result.runs[0].verdict, Verdict::kAligned);
  ASSERT_FALSE(result.runs[0].notes.empty());
  EXPECT_EQ(result.runs[0].notes.back().substr(0, 41), "repeated: 3 Forwards have the same bits i");
}

TEST(Poison, ADeviceThatWritesWhatItReadsComputesTheSame) {
  auto session = Session::Open(PLUMB_EXAMPLES "/digits/digits.tnnproto").value();
  CheckPlan plan;
  plan.devices = {"ALL"};
  plan.poison = true;
  plan.repeats = 1;
  const CheckResult result = CheckAll(session.get(), plan).value();
  ASSERT_FALSE(result.runs.empty());
  for (const RunReport& run : result.runs) {
    ASSERT_GE(run.notes.size(), 2u) << run.device;
    EXPECT_EQ(run.notes[run.notes.size() - 2].substr(0, 20), "repeated: 2 Forwards") << run.device;
    EXPECT_EQ(run.notes.back().substr(0, 44), "poisoned: with NaN in all outputs and worksp") << run.notes.back();
  }
}

TEST(Poison, AChangeIsNamed) {
  RepeatObserver observer;
  RunOnce(&observer, {1, 2}, {4, 8});
  RunOnce(&observer, {1, 2}, {4, NAN});
  EXPECT_EQ(observer.DescribePoisoned(),
            "poisoned: memory that nobody wrote is read, with NaN in it other values come out; first changes step 4 "
            "'second' (ReLU, test/relu) in Forward 2: 1 of 2 values, by inf of the largest");
}

TEST(Varied, ItemsOfABatchAreComparedOneByOne) {
  RepeatObserver same(2), other(2), third(2);
  for (RepeatObserver* observer : {&same, &other, &third}) RunOnce(observer, {1, 2}, {4, 8});
  RunOnce(&same, {1, 2, 1, 2}, {4, 8, 4, 8});
  EXPECT_EQ(same.DescribeVaried("twice"), "twice: all 2 tensors have the same bits");
  EXPECT_FALSE(same.changed());
  RunOnce(&other, {1, 2, 1, 2}, {4, 8, 4, 7});
  EXPECT_EQ(other.DescribeVaried("twice"),
            "twice: other values come out; first changes step 4 'second' (ReLU, test/relu) in Forward 2: 1 of 2 "
            "values, by 0.12 of the largest");
  RunOnce(&third, {1, 2, 1, 2, 1, 2}, {4, 8});
  EXPECT_EQ(third.DescribeVaried("twice"),
            "twice: all 1 tensors have the same bits; 1 have another shape and are not compared");
}

// The reference itself gives other values: no device is to blame.
TEST(Varied, ANetworkThatMixesItemsIsSaid) {
  RepeatObserver observer(2);
  RunOnce(&observer, {1, 2}, {4, 8});
  RunOnce(&observer, {1, 2, 1, 2}, {4, 8, 4, 7});
  observer.MixItems();
  EXPECT_EQ(observer.DescribeVaried("twice"),
            "twice: the network itself looks across axis 0, so that items are not compared");
}

TEST(Varied, ADeviceIsJudgedOnceMore) {
  auto session = Session::Open(PLUMB_EXAMPLES "/digits/digits.tnnproto").value();
  CheckPlan plan;
  plan.devices = {"NAIVE", "X86"};
  plan.vary_threads = 3;
  plan.batch = 4;
  const CheckResult result = CheckAll(session.get(), plan).value();
  ASSERT_EQ(result.comparisons.size(), 4u) << "the last line and the exit code know them";
  EXPECT_EQ(result.comparisons[3].what, "X86 with the inputs 4 times along axis 0");
  EXPECT_EQ(result.comparisons[3].verdict, Verdict::kAligned);
  for (const RunReport& run : result.runs) {
    ASSERT_GE(run.notes.size(), 2u) << run.device;
    EXPECT_EQ(run.notes[run.notes.size() - 2].rfind("with 3 threads: all ", 0), 0u) << run.notes.back();
    EXPECT_EQ(run.notes.back().rfind("with the inputs 4 times along axis 0: ", 0), 0u) << run.notes.back();
    EXPECT_EQ(run.notes.back().find("cannot be run"), std::string::npos) << run.notes.back();
    EXPECT_EQ(run.notes.back().find("is wrong"), std::string::npos) << run.notes.back();
  }
}

}  // namespace
}  // namespace plumb
