// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3, stride 1, without dilation and groups, by Winograd's algorithm F(4x4,3x3), where that is faster
// than direct sums (doc/opencl.md has the measurement): in channel blocks with what follows them (fused_tail.h), on CPU
// drivers. The transformed inputs are f32 in the network's memory plan, the transformed weights f32 whatever the blobs'
// storage.
#include "device/shared/winograd.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/threads.h"
#include "device/opencl/convolution_group.h"
#include "device/opencl/queue.h"

namespace plumb::opencl {
namespace {

constexpr int kM = 4;                                // outputs per side of a tile
constexpr int64_t kPositions = (kM + 2) * (kM + 2);  // POSITIONS of winograd.cl
constexpr int64_t kTiles = 6;                        // TILES of winograd.cl
constexpr int64_t kWinogradPair = 2 * kBlock;
constexpr int64_t kMaxWorkspace = int64_t{64} << 20;  // bytes

struct Sizes {
  int64_t units, blocks, pairs;

  explicit Sizes(const ConvolutionShape& s) {
    const int64_t tiles = s.batch * ((s.window.h.out + kM - 1) / kM) * ((s.window.w.out + kM - 1) / kM);
    units = (tiles + kTiles - 1) / kTiles;
    blocks = (s.in_channels + kBlock - 1) / kBlock;
    pairs = (s.out_channels + kWinogradPair - 1) / kWinogradPair;
  }
  int64_t workspace() const { return units * kPositions * blocks * kTiles * kBlock; }
};

// [pair][position][input block][8][16]; zeros where there is no channel.
std::vector<float> PackWeights(const ConvolutionShape& s, const float* weight) {
  const Sizes sizes(s);
  std::vector<float> packed(static_cast<size_t>(sizes.pairs * kPositions * sizes.blocks * kBlock * kWinogradPair),
                            0.0f);
  ParallelFor(s.out_channels, 1, [&](int64_t begin, int64_t end) {
    double u[kPositions];
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; c < s.in_channels; ++c) {
        TransformWinogradKernel(kM, weight + (o * s.in_channels + c) * 9, u);
        float* to = packed.data() + (o / kWinogradPair * kPositions * sizes.blocks * kBlock + c) * kWinogradPair +
                    o % kWinogradPair;
        for (int64_t p = 0; p < kPositions; ++p)
          to[p * sizes.blocks * kBlock * kWinogradPair] = static_cast<float>(u[p]);
      }
    }
  });
  return packed;
}

bool Fits(const ConvolutionShape& s) {
  const auto fits = [](const WindowAxis& a) { return a.kernel == 3 && a.stride == 1 && a.dilation == 1; };
  return s.group == 1 && fits(s.window.h) && fits(s.window.w);
}

// Measured on PoCL, 1 and 2 threads (doc/opencl.md): from 2^21 multiplications of direct sums on it is never slower and
// mostly twice as fast. Maps below 5 x 5 fill too little of their tiles; below 8 input channels direct sums read less.
bool Pays(const ConvolutionShape& s) {
  const int64_t outputs = s.batch * s.out_channels * s.window.h.out * s.window.w.out;
  return s.window.h.out >= 5 && s.window.w.out >= 5 && s.in_channels >= kBlock &&
         outputs * s.in_channels * 9 >= int64_t{1} << 21;
}

class WinogradKernel : public ClKernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    PLUMB_RETURN_IF_ERROR(RequireFastAlgorithms(spec));
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    if (!Fits(group.shape)) return Status::NotSupported("needs 3x3, stride 1, no dilation, no groups");
    const WinogradUse use = QueueOf(spec.device).context().winograd();
    if (use == WinogradUse::kNever) return Status::NotSupported("is switched off by PLUMB_OPENCL_WINOGRAD=off");
    if (!Launcher::CpuShapes(spec.device)) return Status::NotSupported("is for CPU drivers");
    if (use == WinogradUse::kWhereItPays && !Pays(group.shape)) {
      return Status::NotSupported("pays from 2^21 multiplications, 8 input channels and maps of 5x5 on");
    }
    const int64_t bytes = Sizes(group.shape).workspace() * 4;
    if (bytes > kMaxWorkspace) return Status::NotSupported(fmt::format("needs a workspace of {} bytes", bytes));
    return Status::Ok();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    const LayoutPtr layout = StoredLayout(spec, DType::kF32, true);
    choice->inputs.assign(arriving.size(), layout);
    choice->outputs = {layout};
    choice->workspace = Sizes(group.shape).workspace();
    group.WishForAddend(spec, choice);
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&,
                 const std::vector<DeviceTensor>& outputs) override {
    PLUMB_ASSIGN_OR_RETURN(const ConvGroup group, ConvGroup::Of(spec));
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, Fold(spec.layer(), group.shape, group.strides(), group.fused.affine));
    PLUMB_ASSIGN_OR_RETURN(weight_, UploadArray(spec.device, PackWeights(group.shape, folded.weight.data<float>())));
    conv_ = ConvArg(group.shape);
    sizes_ = Sizes(group.shape);
    transformed_ = spec.workspace;
    PLUMB_ASSIGN_OR_RETURN(to_tiles_, Load(spec, "winograd.cl", "winograd_input"));
    PLUMB_ASSIGN_OR_RETURN(from_tiles_, Load(spec, "winograd.cl", "winograd_output"));
    return tail_.Prepare(spec, group, folded, sizes_.pairs * kWinogradPair, outputs[0]);
  }

  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    PLUMB_RETURN_IF_ERROR(
        to_tiles_.Run({sizes_.blocks, sizes_.units}, transformed_, inputs[0], sizes_.units, sizes_.blocks, conv_));
    PLUMB_RETURN_IF_ERROR(from_tiles_.Run({sizes_.units, sizes_.pairs}, outputs[0], transformed_,
                                          tail_.AddendOf(inputs), weight_, tail_.bias, sizes_.units, sizes_.blocks,
                                          sizes_.pairs, tail_.flags, conv_, tail_.epilogue));
    return tail_.zero.Run(outputs[0]);
  }

  Numerics DeclaredNumerics() const override { return UsualWinograd(kM); }

 private:
  ConvArg conv_;
  Sizes sizes_{ConvolutionShape()};
  Array weight_;
  DeviceTensor transformed_;
  ConvTail tail_;
  Launcher to_tiles_, from_tiles_;
};

}  // namespace

const KernelFunctions kernel_convolution_winograd = {WinogradKernel::Supports, MakeKernel<WinogradKernel>};

}  // namespace plumb::opencl
