// SPDX-License-Identifier: Apache-2.0
// Convolution of 3x3 taps, stride 1, with what follows it, by Winograd's algorithm (device/shared/winograd.h) in NC4HW4
// and three launches: tiles to frequencies (winograd_input.comp), a product per frequency by the convolution kernels as
// one group each, and back (winograd_output.comp). Between them f32 in the workspace, whatever the blobs are stored as.
#include "device/shared/winograd.h"

#include <fmt/core.h>

#include <algorithm>

#include "device/vulkan/blocked_weights.h"
#include "device/vulkan/channel4_layout.h"
#include "device/vulkan/convolution_product.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/products.h"
#include "device/vulkan/shape_choice.h"
#include "device/vulkan/winograd_choice.h"

namespace plumb::vulkan {
namespace {

// Sizes of one layer in tiles, quads and frequencies.
struct Plan {
  ConvolutionShape shape;
  int64_t m = 0, row_tiles = 0, image_tiles = 0, tiles = 0;
  int64_t in_quads = 0, out_quads = 0, product_quads = 0;  // product_quads: whole blocks of 8 channels

  int64_t frequencies() const { return (m + 2) * (m + 2); }
  size_t input_bytes() const { return static_cast<size_t>(frequencies() * in_quads * tiles) * 16; }
  size_t product_bytes() const { return static_cast<size_t>(frequencies() * product_quads * tiles) * 16; }
  size_t weights() const { return static_cast<size_t>(frequencies() * product_quads * in_quads) * 16; }
};

Result<Plan> PlanOf(const KernelSpec& spec) {
  Plan plan;
  PLUMB_ASSIGN_OR_RETURN(plan.shape, ResolveAny(spec.layer(), spec.inputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(plan.m, ChooseWinogradTile(spec, plan.shape));
  const WindowAxis &h = plan.shape.window.h, &w = plan.shape.window.w;
  plan.row_tiles = (w.out + plan.m - 1) / plan.m;
  plan.image_tiles = (h.out + plan.m - 1) / plan.m * plan.row_tiles;
  plan.tiles = plan.shape.batch * plan.image_tiles;
  plan.in_quads = (plan.shape.in_channels + 3) / 4;
  plan.out_quads = (plan.shape.out_channels + 3) / 4;
  plan.product_quads = (plan.shape.out_channels + 7) / 8 * 2;
  return plan;
}

Status SupportsWinograd(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(RequireF32(spec));
  PLUMB_RETURN_IF_ERROR(RequireFastAlgorithms(spec));
  PLUMB_RETURN_IF_ERROR(ReadGroup(spec.group.members, *spec.blobs).status());
  PLUMB_ASSIGN_OR_RETURN(const Plan plan, PlanOf(spec));
  const Adapter& adapter = AdapterOf(spec);
  const uint64_t limit = std::min(adapter.max_storage_range, adapter.max_texels * 16);
  const uint64_t needed = std::max({plan.input_bytes(), plan.product_bytes(), plan.weights() * sizeof(float)});
  if (needed <= limit) return Status::Ok();
  return Status::NotSupported(fmt::format(
      "needs {} bytes between its launches, and the adapter binds {} (maxStorageBufferRange, maxTexelBufferElements)",
      needed, limit));
}

Status LayoutsWinograd(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) {
  PLUMB_ASSIGN_OR_RETURN(const Plan plan, PlanOf(spec));
  choice->workspace = static_cast<int64_t>((Aligned(plan.input_bytes()) + plan.product_bytes()) / sizeof(float));
  return Channel4Products(spec, arriving, choice);
}

// U = G g G^T as the weights of one group per frequency.
BlockedWeights TransformedWeights(const Plan& plan, const Folded& folded) {
  const int64_t in = plan.shape.in_channels, out = plan.shape.out_channels;
  BlockedWeights blocked;
  blocked.weight.assign(plan.weights(), 0.0f);
  blocked.bias.assign(static_cast<size_t>(plan.frequencies() * plan.product_quads * 4), 0.0f);
  double u[kMaxWinogradTile * kMaxWinogradTile];
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      TransformWinogradKernel(static_cast<int>(plan.m), folded.weight.data<float>() + (o * in + i) * 9, u);
      for (int64_t f = 0; f < plan.frequencies(); ++f) {
        const int64_t block = f * plan.product_quads / 2 + o / 8;
        blocked.weight[BlockedIndex(block, plan.in_quads, i, o % 8)] = static_cast<float>(u[f]);
      }
    }
  }
  return blocked;
}

class WinogradBuilder {
 public:
  WinogradBuilder(Builder* builder, Plan plan, const FusedGroup& group)
      : b_(builder), plan_(std::move(plan)), group_(group), cpu_(WantsCpuShapes(b_->spec)) {
    view_ = cpu_ ? Argument::kTexelsF32x4 : Argument::kStorage;
    const DeviceTensor& workspace = b_->spec.workspace;
    input_ = Argument::Part(workspace.buffer, workspace.offset, plan_.input_bytes());
    product_ = Argument::Part(workspace.buffer, workspace.offset + Aligned(plan_.input_bytes()), plan_.product_bytes());
  }

  Status Build() {
    AddInput();
    PLUMB_ASSIGN_OR_RETURN(const Folded folded, FoldedWeights(b_->layer(), plan_.shape, group_.affine));
    PLUMB_RETURN_IF_ERROR(AddProduct(TransformedWeights(plan_, folded)));
    PLUMB_RETURN_IF_ERROR(AddOutput(folded.bias));
    b_->numerics = UsualWinograd(static_cast<int>(plan_.m));
    return Status::Ok();
  }

 private:
  std::string ShaderName(const char* stem) const {
    return fmt::format("{}_{}{}", stem, plan_.m, cpu_ ? "_texels" : "");
  }
  // A layer's blob as the transforms read it.
  Argument Blob(int input) const {
    const auto& layout = b_->inputs[0].layout;
    return Argument::Input(input, cpu_ ? TexelsOf(layout) : Argument::kStorage);
  }

  void AddInput() {
    const WindowAxis &h = plan_.shape.window.h, &w = plan_.shape.window.w;
    LaunchSpec launch;
    launch.shader = ShaderName("winograd_input") + (cpu_ ? "" : HalfSuffix(b_->inputs[0].layout));
    launch.arguments = {input_, Blob(0)};
    const int64_t count = plan_.tiles * plan_.in_quads;
    launch.push.Int(count).Int(plan_.tiles).Int(plan_.image_tiles).Int(plan_.row_tiles);
    launch.push.Int(plan_.in_quads).Int(h.in).Int(w.in).Int(h.pad_begin).Int(w.pad_begin);
    launch.Over(count);
    b_->launches.push_back(std::move(launch));
  }

  Status AddProduct(const BlockedWeights& weights) {
    ConvolutionShape shape;  // one pixel per tile, one group per frequency
    shape.group = plan_.frequencies();
    shape.in_channels = shape.group * plan_.in_quads * 4;
    shape.out_channels = shape.group * plan_.product_quads * 4;
    shape.window.w.in = shape.window.w.out = plan_.tiles;
    PLUMB_ASSIGN_OR_RETURN(ProductArguments arguments, ProductConstants(b_, weights, view_));
    arguments.output = product_;
    arguments.input = arguments.addend = input_.As(view_);
    b_->launches.push_back(cpu_ ? TexelConvolution(shape, arguments) : TiledConvolution(shape, arguments));
    return Status::Ok();
  }

  Status AddOutput(const Tensor& bias) {
    const int addend = group_.AddendInput(b_->spec.group);
    const WindowAxis &h = plan_.shape.window.h, &w = plan_.shape.window.w;
    LaunchSpec launch;
    launch.shader = ShaderName("winograd_output");
    if (group_.epilogue.kind == Epilogue::Kind::kSwish) launch.shader += "_swish";
    launch.shader += HalfSuffix(b_->outputs[0].layout);
    std::vector<float> whole(static_cast<size_t>(plan_.out_quads * 4), 0.0f);
    std::copy_n(bias.data<float>(), plan_.shape.out_channels, whole.begin());
    PLUMB_ASSIGN_OR_RETURN(const Argument constant, b_->Constant(whole.data(), whole.size() * sizeof(float), view_));
    launch.arguments = {Argument::Output(0), product_.As(view_), Blob(std::max(addend, 0)), constant};
    const int64_t count = plan_.tiles * plan_.out_quads;
    launch.push.Int(count).Int(plan_.tiles).Int(plan_.image_tiles).Int(plan_.row_tiles);
    launch.push.Int(plan_.product_quads).Int(plan_.out_quads).Int(plan_.shape.out_channels).Int(h.out).Int(w.out);
    launch.push.Int(addend >= 0 ? 1 : 0);
    PushActivation4(group_.epilogue, &launch.push);
    launch.Over(count);
    b_->launches.push_back(std::move(launch));
    return Status::Ok();
  }

  Builder* b_;
  Plan plan_;
  const FusedGroup& group_;
  bool cpu_;
  Argument::View view_;
  Argument input_, product_;
};

Status BuildWinograd(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(Plan plan, PlanOf(b->spec));
  return WinogradBuilder(b, std::move(plan), group).Build();
}

}  // namespace

const KernelFunctions kernel_winograd = {SupportsWinograd, BuildWinograd, LayoutsWinograd};

}  // namespace plumb::vulkan
