// SPDX-License-Identifier: Apache-2.0
// Attention without scores in memory: softmax(Q K scale + mask) V for a block of rows of Q at a time, whose scores of
// all keys stay in the second cache (two passes over each row, nothing is computed again). K and V of a head are packed
// once per thread into panels (simd/panel.h). Threads share heads and blocks of rows.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "base/threads.h"
#include "device/cpu/attention_group.h"
#include "device/cpu/kernel_list.h"
#include "device/cpu/reorder.h"
#include "simd/gemv.h"
#include "simd/panel.h"
#include "simd/softmax.h"
#include "simd/transpose.h"

namespace plumb::cpu {
namespace {

// Blocks of keys whose values, 16 KiB of a panel of AVX2, stay in the first cache from one run of rows to the next.
constexpr int64_t kPartBlocks = 32;

// Fewer rows of Q read K and V too seldom for packing to pay: four over 2,048 keys take 0.31 of the time so with
// AVX-512 and 0.5 with AVX2, 64 and 24 of them 0.93 and 0.97. With narrower vectors sums across them cost more: eight
// rows take 1.5 times the instructions of packing on ARM. Keys that lie as columns are read once for each row.
int64_t LeastQueries(bool columns) {
  const Isa isa = EffectiveIsa();
  return columns || (isa != Isa::kAvx2 && isa != Isa::kAvx512) ? 5 : isa == Isa::kAvx2 ? 25 : 97;
}

int64_t RoundedUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// [rows][columns] as panels [2 * block columns][rows], the last one filled up with zeros. Some panels at a time: what a
// row has for them lies together, and rows may lie a page apart.
template <int kLanes>
void PackRows(const float* from, int64_t rows, int64_t columns, float* to) {
  constexpr int64_t kPanels = 4;
  const int64_t whole = columns / kLanes, rest = columns % kLanes;
  for (int64_t first = 0; first < whole; first += kPanels) {
    const int64_t last = std::min(whole, first + kPanels);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t panel = first; panel < last; ++panel)
        std::memcpy(to + (panel * rows + row) * kLanes, from + row * columns + panel * kLanes, kLanes * sizeof(float));
    }
  }
  if (rest == 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    float* end = std::copy_n(from + row * columns + whole * kLanes, rest, to + (whole * rows + row) * kLanes);
    std::fill_n(end, kLanes - rest, 0.0f);
  }
}

void PackMatrix(const float* from, int64_t rows, int64_t columns, float* to) {
  ChannelBlock() == 8 ? PackRows<16>(from, rows, columns, to) : PackRows<32>(from, rows, columns, to);
}

// The same of rows that are to be columns, `step` apart.
void PackTurned(const float* from, int64_t step, int64_t rows, int64_t columns, float* to) {
  const int64_t lanes = 2 * ChannelBlock();
  for (int64_t first = 0; first < columns; first += lanes, to += rows * lanes) {
    const int64_t count = std::min(lanes, columns - first);
    if (count < lanes) std::fill_n(to, rows * lanes, 0.0f);
    simd::Transpose(from + first * step, step, count, rows, to, lanes);
  }
}

class AttentionKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    if (spec.precision == Precision::kLow) return Status::NotSupported("computes in f32, not for precision LOW");
    return ReadAttention(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_RETURN_IF_ERROR(Kernel::ChooseLayouts(spec, arriving, choice));
    PLUMB_ASSIGN_OR_RETURN(group_, ReadAttention(spec.group.members, *spec.blobs));
    threads_ = NumThreads();
    PlanSpace();
    choice->workspace = threads_ * thread_floats_;
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    spec_ = &spec;
    return Status::Ok();
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const auto product = static_cast<size_t>(group_.product);  // behind a Permute of the keys
    Call call;
    call.queries = inputs[product].host<float>(), call.keys = inputs[1 - product].host<float>();
    call.values = inputs.back().host<float>(), call.dst = outputs[0].host<float>();
    if (group_.scale.present()) call.scale = *group_.scale.Find(spec_->group, inputs);
    if (group_.divides) call.scale = 1 / call.scale;
    if (group_.mask.present()) call.mask = group_.mask.Find(spec_->group, inputs);
    const int64_t units = runs_ * static_cast<int64_t>(group_.scores.first_matrix.size());
    ParallelRegion(static_cast<int>(std::min<int64_t>(threads_, units)), [&](int thread, int count) {
      Space space = SpaceOf(thread);
      for (int64_t u = units * thread / count; u < units * (thread + 1) / count; ++u) {
        if (!few_) Pack(call, static_cast<size_t>(u / runs_), &space);
        const int64_t begin = u % runs_ * rows_;
        RunRows(call, u / runs_, begin, std::min(group_.scores.m, begin + rows_), space);
      }
    });
    return Status::Ok();
  }

  std::string Detail() const override { return fmt::format("{} rows at a time", rows_); }

 private:
  // One Forward's pointers.
  struct Call {
    const float *queries, *keys, *values, *mask = nullptr;
    float scale = 1;
    float* dst;
  };
  // A thread's part of the workspace, and what is packed there.
  struct Space {
    float *keys, *values, *scores, *results, *factors;
    int64_t key_offset = -1, value_matrix = -1;
  };

  void PlanSpace() {
    const MatMulShape &scores = group_.scores, &values = group_.values;
    const int64_t lanes = 2 * ChannelBlock(), run = simd::PanelRows(ChannelBlock());
    // A panel more than there are: rows a power of two apart would share few sets of the first cache.
    score_step_ = RoundedUp(scores.n, lanes) + lanes;
    value_step_ = RoundedUp(values.n, lanes);
    const int64_t fitting = L2CacheBytes() / 4 / (score_step_ * static_cast<int64_t>(sizeof(float)));
    const int64_t parts = (scores.m + std::max(run, fitting) - 1) / std::max(run, fitting);
    rows_ = std::min(scores.m, RoundedUp((scores.m + parts - 1) / parts, run));
    runs_ = (scores.m + rows_ - 1) / rows_;
    few_ = scores.m < LeastQueries(group_.key_step == 0);
    key_floats_ = few_ ? 0 : (score_step_ - lanes) * scores.k;
    value_floats_ = few_ ? 0 : value_step_ * scores.n;
    thread_floats_ = RoundedUp(key_floats_ + value_floats_ + rows_ * (score_step_ + value_step_ + 1), lanes);
  }

  Space SpaceOf(int thread) const {
    float* at = spec_->workspace.host<float>() + thread * thread_floats_;
    float* values = at + key_floats_;
    float* scores = values + value_floats_;
    float* results = scores + rows_ * score_step_;
    return {at, values, scores, results, results + rows_ * value_step_};
  }

  void Pack(const Call& call, size_t head, Space* space) const {
    const MatMulShape &scores = group_.scores, &values = group_.values;
    if (space->key_offset != group_.key_offset[head]) {
      space->key_offset = group_.key_offset[head];
      const float* keys = call.keys + space->key_offset;
      group_.key_step == 0 ? PackMatrix(keys, scores.k, scores.n, space->keys)
                           : PackTurned(keys, group_.key_step, scores.k, scores.n, space->keys);
    }
    if (space->value_matrix != values.second_matrix[head]) {
      space->value_matrix = values.second_matrix[head];
      PackMatrix(call.values + space->value_matrix * values.k * values.n, values.k, values.n, space->values);
    }
  }

  void RunRows(const Call& call, int64_t head, int64_t begin, int64_t end, const Space& space) const {
    const MatMulShape& scores = group_.scores;
    const auto h = static_cast<size_t>(head);
    const float* queries = call.queries + (scores.first_matrix[h] * scores.m + begin) * scores.k;
    few_ ? ComputeFewScores(queries, call.keys + group_.key_offset[h], end - begin, space)
         : ComputeScores(queries, end - begin, space);
    simd::ScoreRows rows{space.scores, end - begin, scores.n, score_step_, call.scale};
    if (call.mask != nullptr) rows.mask = call.mask + group_.mask_offset[h] + begin * group_.mask.row_step;
    rows.mask_row_step = group_.mask.row_step, rows.mask_step = static_cast<int>(group_.mask.step);
    simd::SoftmaxWeights(rows, space.factors);
    const int64_t columns = group_.values.n;
    const float* values = call.values + group_.values.second_matrix[h] * group_.values.k * columns;
    float* to = call.dst + (head * scores.m + begin) * columns;
    if (SumValues(values, rows.rows, space, to)) return;
    // The sums of weights that do not add up to 1 may have gone beyond float.
    simd::ScaleRows(space.scores, score_step_, rows.rows, scores.n, space.factors, space.scores, score_step_);
    std::fill_n(space.factors, rows.rows, 1.0f);
    SumValues(values, rows.rows, space, to);
  }

  void ComputeScores(const float* queries, int64_t rows, const Space& space) const {
    const int64_t block = ChannelBlock(), lanes = 2 * block, depth = group_.scores.k;
    simd::PanelSource source;
    source.block = ChannelBlock(), source.block_step = block, source.pixel_step = depth;
    source.blocks = BlocksOf(depth), source.last = static_cast<int>(depth % block);
    source.from = queries;
    simd::PanelResult result;
    result.block_step = block, result.pixel_step = score_step_;
    for (int64_t first = 0; first < group_.scores.n; first += lanes) {
      source.weights = space.keys + first * depth;
      result.to = space.scores + first;
      simd::PanelPixels(rows, source, result);
    }
  }

  // The sums of weighted values times the rows' factors, and whether all of them are finite.
  bool SumValues(const float* values, int64_t rows, const Space& space, float* to) const {
    const int64_t columns = group_.values.n;
    const bool there = few_ || columns % ChannelBlock() == 0;
    float* sums = there ? to : space.results;
    const int64_t step = there ? columns : value_step_;
    few_ ? SumFewValues(values, rows, space, sums) : SumPackedValues(rows, space, step, sums);
    return simd::ScaleRows(sums, step, rows, columns, space.factors, to, columns);
  }

  // To rows of whole blocks, `step` apart.
  void SumPackedValues(int64_t rows, const Space& space, int64_t step, float* to) const {
    const int64_t block = ChannelBlock(), lanes = 2 * block, keys = group_.scores.n, blocks = BlocksOf(keys);
    simd::PanelSource source;
    source.block = ChannelBlock(), source.block_step = block, source.pixel_step = score_step_;
    simd::PanelResult result;
    result.block_step = block, result.pixel_step = step;
    for (int64_t begin = 0, end; begin < blocks; begin = end) {
      end = std::min(blocks, begin + kPartBlocks);
      source.blocks = end - begin, source.last = end == blocks ? static_cast<int>(keys % block) : 0;
      source.from = space.scores + begin * block;
      for (int64_t first = 0; first < group_.values.n; first += lanes) {
        source.weights = space.values + first * keys + begin * block * lanes;
        result.blocks = first + block < group_.values.n ? 2 : 1;
        result.to = to + first;
        result.addend = begin == 0 ? nullptr : result.to;
        simd::PanelPixels(rows, source, result);
      }
    }
  }

  void ComputeFewScores(const float* queries, const float* keys, int64_t rows, const Space& space) const {
    const int64_t depth = group_.scores.k, count = group_.scores.n;
    if (group_.key_step != 0)
      return simd::GemvDots({queries, space.scores, rows, depth, score_step_}, depth, keys, count, group_.key_step);
    for (int64_t row = 0; row < rows; ++row) {
      float* to = space.scores + row * score_step_;
      std::fill_n(to, count, 0.0f);
      simd::GemvAdd(queries + row * depth, depth, keys, count, to);
    }
  }

  void SumFewValues(const float* values, int64_t rows, const Space& space, float* to) const {
    const int64_t columns = group_.values.n;
    std::fill_n(to, rows * columns, 0.0f);
    simd::GemvAdd({space.scores, to, rows, score_step_, columns}, group_.values.k, values, columns);
  }

  const KernelSpec* spec_ = nullptr;
  AttentionGroup group_;
  int threads_ = 1;
  int64_t score_step_ = 0, value_step_ = 0;  // of the rows of scores and of results in a thread's space
  int64_t rows_ = 0, runs_ = 0;              // rows of queries at a time, and how often
  int64_t key_floats_ = 0, value_floats_ = 0, thread_floats_ = 0;
  bool few_ = false;  // rows: nothing is packed
};

}  // namespace

const KernelFunctions kernel_attention = {AttentionKernel::Supports, MakeKernel<AttentionKernel>};

}  // namespace plumb::cpu
