// SPDX-License-Identifier: Apache-2.0
// Concat. Parts that are contiguous in the result (nothing but ones before the axis) ask to be computed in place; what
// the runtime does not grant is copied. Blocked feature maps join along the channels when every part but the last fills
// its blocks.
#include "op/concat.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kConcatGrain = 1 << 16;  // bytes that are worth a second thread

class ConcatKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireSingle(spec));
    return NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, spec.outputs[0].shape.rank()).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(axis_, NormalizeAxis(ParamOf<ConcatParam>(spec.layer()).axis, spec.outputs[0].shape.rank()));
    blocked_ = JoinsBlocks(spec, arriving);
    const LayoutPtr layout = LayoutOf(blocked_ ? Format::kBlocked : Format::kPlain);
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    if (spec.outputs[0].shape.Count(0, axis_) != 1) return Status::Ok();
    size_t offset = 0;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      choice->shares.push_back({ShareWish::kPart, 0, static_cast<int>(i), offset});
      offset += layout->Bytes(spec.inputs[i].dtype, spec.inputs[i].shape);
    }
    return Status::Ok();
  }

  bool MovesOnly() const override { return true; }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t rows = outputs[0].shape.Count(0, axis_);
    const size_t dst_row = outputs[0].bytes() / static_cast<size_t>(std::max<int64_t>(1, rows));
    parts_.clear();
    size_t offset = 0;
    for (const DeviceTensor& input : inputs) {
      const size_t row = input.bytes() / static_cast<size_t>(std::max<int64_t>(1, rows));
      const Part part{input.host<char>(), outputs[0].host<char>() + offset, row};
      offset += row;
      if (part.from != part.to || (rows != 1 && row != dst_row)) parts_.push_back(part);
    }
    if (rows < NumThreads()) {
      for (const Part& part : parts_) {
        for (int64_t r = 0; r < rows; ++r) CopyRow(part, r, dst_row);
      }
      return Status::Ok();
    }
    ParallelFor(rows, std::max<int64_t>(1, kConcatGrain / static_cast<int64_t>(dst_row + 1)),
                [&](int64_t begin, int64_t end) {
                  for (const Part& part : parts_) CopyRows(part, begin, end, dst_row);
                });
    return Status::Ok();
  }

 private:
  bool JoinsBlocks(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving) const {
    if (axis_ != 1) return false;
    bool any = false;
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      any = any || IsBlocked(arriving[i]);
      const bool fills = spec.inputs[i].shape[1] % ChannelBlock() == 0;
      if (!fills && i + 1 < spec.inputs.size()) return false;
    }
    return any;
  }

  // What one input gives to every row of the output.
  struct Part {
    const char* from;
    char* to;
    size_t row;
  };

  // One row, on all threads.
  static void CopyRow(const Part& part, int64_t r, size_t dst_row) {
    const char* from = part.from + static_cast<size_t>(r) * part.row;
    char* to = part.to + static_cast<size_t>(r) * dst_row;
    ParallelFor(static_cast<int64_t>(part.row), kConcatGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
  }

  static void CopyRows(const Part& part, int64_t begin, int64_t end, size_t dst_row) {
    const char* from = part.from + static_cast<size_t>(begin) * part.row;
    char* to = part.to + static_cast<size_t>(begin) * dst_row;
    for (int64_t r = begin; r < end; ++r, from += part.row, to += dst_row) {
      if (part.row == sizeof(float)) {
        std::memcpy(to, from, sizeof(float));  // one move: rows of one element
      } else {
        std::memcpy(to, from, part.row);
      }
    }
  }

  std::vector<Part> parts_;
  int axis_ = 1;
  bool blocked_ = false;
};

}  // namespace

const KernelFunctions kernel_concat = {ConcatKernel::Supports, MakeKernel<ConcatKernel>};

}  // namespace plumb::cpu
