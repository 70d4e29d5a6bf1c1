// Concat. Parts that are contiguous in the result (nothing but ones before the axis) ask to be computed in place; what
// the runtime does not grant is copied. Blocked feature maps join along the channels when every part but the last fills
// its blocks.
#include "op/concat.h"

#include <cstring>

#include "base/threads.h"
#include "device/x86/blocked_layout.h"
#include "device/x86/kernel_list.h"

namespace plumb::x86 {
namespace {

constexpr size_t kConcatRow = 1 << 12;  // bytes of a row that is copied by itself

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

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const int64_t rows = outputs[0].shape.Count(0, axis_);
    const size_t dst_row = outputs[0].bytes() / static_cast<size_t>(rows);
    size_t offset = 0;
    for (const DeviceTensor& input : inputs) {
      const size_t row = input.bytes() / static_cast<size_t>(rows);
      const char* from = input.host<char>();
      char* to = outputs[0].host<char>() + offset;
      offset += row;
      if (from == to && (rows == 1 || row == dst_row)) continue;
      if (row < kConcatRow) {
        CopyShortRows(from, row, to, dst_row, rows);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r, from += row, to += dst_row) CopyRow(from, to, row);
    }
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

  static void CopyRow(const char* from, char* to, size_t bytes) {
    ParallelFor(static_cast<int64_t>(bytes), 1 << 16, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    });
  }

  // Rows of a few elements: what a call of memcpy costs would outweigh them.
  static void CopyShortRows(const char* from, size_t row, char* to, size_t dst_row, int64_t rows) {
    ParallelFor(rows, (1 << 16) / static_cast<int64_t>(row + 1), [&](int64_t begin, int64_t end) {
      const char* src = from + static_cast<size_t>(begin) * row;
      char* dst = to + static_cast<size_t>(begin) * dst_row;
      for (int64_t r = begin; r < end; ++r, src += row, dst += dst_row) {
        if (row == sizeof(float)) {
          std::memcpy(dst, src, sizeof(float));  // one move
        } else {
          std::memcpy(dst, src, row);
        }
      }
    });
  }

  int axis_ = 1;
  bool blocked_ = false;
};

}  // namespace

const KernelFunctions kernel_concat = {ConcatKernel::Supports, MakeKernel<ConcatKernel>};

}  // namespace plumb::x86
