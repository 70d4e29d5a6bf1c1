// SPDX-License-Identifier: Apache-2.0
// Attention as one step before the judge: the CPU device's kernel is aligned in every form, with keys that are hidden,
// scores that differ little or much and long rows; kernels that are wrong in one place are wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "device/cpu/cpu_name.h"
#include "device/device.h"
#include "plumb/check.h"
#include "plumb/plumb.h"
#include "util/attention_graph.h"

namespace plumb {
namespace {

// What a plain kernel does, and does wrong.
struct Plain {
  bool shifted = true;      // by the largest score
  float scale = 1;          // of the scores, beside the graph's
  int64_t mask_row = 0;     // the mask of so many rows further
  int64_t left_out = -1;    // the key that is left out ...
  int64_t left_out_of = 0;  // ... of this row of each head, or of all rows: -1
  int64_t turned_head = 0;  // V of so many heads further
};
const Plain* planned = nullptr;

// In f32, one row after the other. REQUIRES: keys as columns, Mul by the layer's own value, a mask [rows, keys] of its
// own, one batch.
class PlainAttention : public Kernel {
 public:
  explicit PlainAttention(const KernelSpec& spec) : group_(spec.group) {}
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    const Shape &q = in[0].shape, &v = in[2].shape;
    const int64_t heads = q[1], rows = q[2], size = q[3], keys = v[2], values = v[3];
    const float by = group_.members[1]->Resource("element")->data<float>()[0] * planned->scale;
    const float* mask = group_.members[2]->Resource("element")->data<float>();
    std::vector<float> scores(static_cast<size_t>(keys));
    for (int64_t h = 0; h < heads; ++h) {
      const float* head_v = in[2].host<float>() + (h + planned->turned_head) % heads * keys * values;
      for (int64_t r = 0; r < rows; ++r) {
        const float* row = in[0].host<float>() + (h * rows + r) * size;
        const float* row_mask = mask + std::min(rows - 1, r + planned->mask_row) * keys;
        for (int64_t j = 0; j < keys; ++j) {
          float sum = 0;
          for (int64_t c = 0; c < size; ++c) sum += row[c] * in[1].host<float>()[(h * size + c) * keys + j];
          scores[static_cast<size_t>(j)] = sum * by + row_mask[j];
        }
        if (planned->left_out >= 0 && (planned->left_out_of < 0 || planned->left_out_of == r))
          scores[static_cast<size_t>(planned->left_out)] = -1e4f;
        const float most = planned->shifted ? *std::max_element(scores.begin(), scores.end()) : 0;
        float sum = 0;
        for (float& score : scores) sum += score = std::exp(score - most);
        for (int64_t c = 0; c < values; ++c) {
          float y = 0;
          for (int64_t j = 0; j < keys; ++j) y += scores[static_cast<size_t>(j)] / sum * head_v[j * values + c];
          out[0].host<float>()[(h * rows + r) * values + c] = y;
        }
      }
    }
    return Status::Ok();
  }

 private:
  LayerGroup group_;
};

const KernelRow kPlain = {
    "plain", OpKind::kMatMul,
    [](const KernelSpec& spec) {
      return spec.group.members.size() == 5 ? Status::Ok() : Status::NotSupported("attention");
    },
    [](const KernelSpec& spec) -> std::unique_ptr<Kernel> { return std::make_unique<PlainAttention>(spec); }};

LayerReport Judge(const AttentionForm& form, float size, bool causal = false, const Plain* plan = nullptr,
                  int64_t infinite_value = -1) {
  const auto graph = AttentionGraph(form, causal);
  const std::shared_ptr<Device> device = OpenDevice(kCpuDevice).value();
  planned = plan;
  if (plan != nullptr) device->kernels_in_front = {kPlain};
  auto network = Network::Create(graph, device, {}).value();
  auto inputs = AttentionInputs(*graph, form, size, causal);
  if (infinite_value >= 0) inputs["v"].data<float>()[infinite_value] = INFINITY;
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), inputs).ok());
  for (const auto& [name, value] : inputs) EXPECT_TRUE(network->SetInput(name, value).ok());
  const Status run = network->Forward();
  EXPECT_TRUE(run.ok()) << run.ToString();
  const RunReport report = checker.Finish().value();
  EXPECT_EQ(report.layers.size(), 1u);
  EXPECT_EQ(report.layers[0].step.kernel, On(plan == nullptr ? "attention" : "plain"));
  return report.layers[0];
}

void ExpectAligned(const AttentionForm& form, float size, bool causal = false, const Plain* plan = nullptr) {
  const LayerReport layer = Judge(form, size, causal, plan);
  EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.reason;
  EXPECT_LE(layer.Worst()->excess, 0.7);
  EXPECT_LE(layer.Worst()->rms_excess, 1.0);
}

// Scores of about one, of some tens, and of thousands, where one key has all the weight.
TEST(AttentionKernels, AreAlignedWhateverTheScores) {
  for (const float size : {0.1f, 2.0f, 6.0f, 60.0f}) {
    for (const int64_t tokens : {1, 30, 257}) {
      for (const int64_t values : {8, 64}) {
        SCOPED_TRACE(testing::Message() << "size " << size << ", " << tokens << " tokens of " << values);
        AttentionForm form;
        form.rows = form.keys = tokens, form.size = values;
        ExpectAligned(form, size);
      }
    }
  }
}

TEST(AttentionKernels, AreAlignedBehindMasks) {
  for (const float hidden :
       {-10.0f, -1e4f, -1e9f, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest()}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(testing::Message() << hidden << (causal ? " causal" : ""));
      AttentionForm form;
      form.rows = form.keys = 60, form.size = 16, form.mask = {60, 60}, form.hidden = hidden;
      ExpectAligned(form, 2, causal);
    }
  }
}

// Rows that are hidden whole: equal weights, those of the scores rounded to the mask's magnitude, or NaN.
TEST(AttentionKernels, AreAlignedWhereAllKeysAreHidden) {
  for (const float hidden :
       {-1e4f, -1e9f, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::lowest()}) {
    AttentionForm form;
    form.batch = {2, 3}, form.rows = 20, form.keys = 33, form.mask = {20, 1}, form.hidden = hidden;
    SCOPED_TRACE(hidden);
    const LayerReport layer = Judge(form, 2);
    EXPECT_NE(layer.verdict, Verdict::kWrong) << layer.reason;
    EXPECT_NE(layer.verdict, Verdict::kGrey) << layer.reason;
  }
}

TEST(AttentionKernels, AreAlignedOnLongRows) {
  AttentionForm form;
  form.batch = {1, 1}, form.rows = 9, form.keys = 5000, form.size = 32;
  ExpectAligned(form, 0.1f);
  ExpectAligned(form, 3);
}

// A weight that is 0 in f32 alone makes NaN of an infinite value, where float64 has infinity: the weight's bound says
// that nothing is known of such a sum.
TEST(AttentionKernels, AreNotWrongForAnInfiniteValue) {
  int64_t differing = 0;
  for (const float size : {2.0f, 15.0f, 60.0f}) {
    AttentionForm form;
    form.rows = form.keys = 60, form.size = 16;
    const LayerReport layer = Judge(form, size, false, nullptr, 33 * 16);
    EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.reason;
    differing += layer.Worst()->introduced.nan_a - layer.Worst()->introduced.nan_b;
  }
  EXPECT_GT(differing, 0) << "the case is not hard enough to show anything";
}

AttentionForm PlainForm() {
  AttentionForm form;
  form.batch = {1, 3}, form.rows = form.keys = 50, form.size = 32, form.turned = true, form.mask = {50, 50};
  return form;
}

TEST(AttentionKernels, AreAlignedWithoutTheShift) {
  Plain plain;
  ExpectAligned(PlainForm(), 2, true, &plain);
  ExpectAligned(PlainForm(), 4, true, &plain);
  plain.shifted = false;
  ExpectAligned(PlainForm(), 2, true, &plain);
  ExpectAligned(PlainForm(), 4, true, &plain);
}

// Each fault, and the words of its cause where one is found.
TEST(AttentionKernels, AreWrongInOnePlace) {
  struct Fault {
    const char* name;
    void (*change)(Plain* plain);
    const char* cause;
  };
  const Fault faults[] = {
      {"a scale off by 1 %", [](Plain* p) { p->scale = 1.01f; }, "computed "},
      {"a scale off by 0.01 %", [](Plain* p) { p->scale = 1.0001f; }, ""},
      {"a mask off by one", [](Plain* p) { p->mask_row = 1; }, "with the mask the constant one earlier along axis 0"},
      {"a key left out of one row", [](Plain* p) { p->left_out = 7, p->left_out_of = 20; }, ""},
      {"a key left out of all rows", [](Plain* p) { p->left_out = 3, p->left_out_of = -1; }, ""},
      {"the values of the next head", [](Plain* p) { p->turned_head = 1; }, ""}};
  for (const Fault& fault : faults) {
    for (const float size : {0.3f, 2.0f}) {
      Plain plain;
      fault.change(&plain);
      const LayerReport layer = Judge(PlainForm(), size, true, &plain);
      EXPECT_EQ(layer.verdict, Verdict::kWrong) << fault.name << ", " << size << ": " << layer.reason;
      EXPECT_NE(layer.cause.find(fault.cause), std::string::npos) << fault.name << ": " << layer.cause;
    }
  }
}

}  // namespace
}  // namespace plumb
