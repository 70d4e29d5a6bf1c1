// SPDX-License-Identifier: Apache-2.0
// A piece of the blob at a time goes through all layers while it lies in the first cache: memory is read and written
// once, and one loop over threads is started.
#include "device/cpu/element_chain.h"

#include <algorithm>
#include <string>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "device/cpu/kernel_list.h"
#include "op/binary.h"
#include "simd/binary.h"
#include "simd/unary.h"

namespace plumb::cpu {
namespace {

using simd::BinaryOp;
using simd::UnaryOp;

constexpr int64_t kChainGrain = 8192;  // elements that are worth a second thread
constexpr int64_t kPiece = 2048;       // elements: 8 KiB, four of which fit the first cache

// One layer of the chain.
struct Link {
  UnaryOp unary = UnaryOp::kNumOps;
  BinaryOp binary = BinaryOp::kNumOps;
  int slot = 0;         // where the chain's value enters
  bool single = false;  // the other operand is one value ...
  Tensor element;       // ... of the layer's own, where it is not empty
  bool has_other() const { return binary != BinaryOp::kNumOps; }
};

UnaryOp ChainUnary(OpKind kind) {
  switch (kind) {
    case OpKind::kSigmoid: return UnaryOp::kSigmoid;
    case OpKind::kErf: return UnaryOp::kErf;
    case OpKind::kTanh: return UnaryOp::kTanh;
    default: return UnaryOp::kNumOps;
  }
}

BinaryOp ChainBinary(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd: return BinaryOp::kAdd;
    case OpKind::kSub: return BinaryOp::kSub;
    case OpKind::kMul: return BinaryOp::kMul;
    case OpKind::kDiv: return BinaryOp::kDiv;
    default: return BinaryOp::kNumOps;
  }
}

// What is read of a layer whose operand of `shape` comes as `blob`, the chain's value; "" in front of the first, which
// may take any operand of that shape.
Result<Link> ReadLink(const Layer& layer, const std::string& blob, const Shape& shape, const BlobTable& blobs) {
  Link link;
  link.unary = ChainUnary(layer.kind);
  link.binary = ChainBinary(layer.kind);
  const auto refuse = [&](const char* why) { return Status::NotSupported("'" + layer.type + "' " + why); };
  if (link.unary == UnaryOp::kNumOps && !link.has_other()) return refuse("is in no chain of element-wise layers");
  for (const std::string& name : layer.inputs) {
    if (blobs.at(name).dtype != DType::kF32) return refuse("is in such a chain as f32 only");
  }
  if (!link.has_other()) return layer.inputs.size() == 1 ? Result<Link>(link) : refuse("has more than one input");
  if (layer.inputs.size() == 1) {
    const Tensor* element = layer.Resource("element");
    if (element == nullptr || element->NumElements() != 1) return refuse("has a constant of more than one value");
    link.slot = ParamOf<BinaryParam>(layer).weight_input_index == 0 ? 1 : 0;
    link.single = true;
    PLUMB_ASSIGN_OR_RETURN(link.element, element->ConvertedTo(DType::kF32));
    return link;
  }
  const auto fits = [&](int slot) {
    const std::string& name = layer.inputs[static_cast<size_t>(slot)];
    return blob.empty() ? blobs.at(name).shape == shape : name == blob;
  };
  link.slot = fits(0) ? 0 : 1;
  const std::string& other = layer.inputs[static_cast<size_t>(1 - link.slot)];
  if (!fits(link.slot) || other == blob) return refuse("does not read the chain's value once");
  link.single = blobs.at(other).shape.NumElements() == 1 && shape.NumElements() != 1;
  if (!link.single && blobs.at(other).shape != shape) return refuse("broadcasts its other operand");
  return link;
}

Result<std::vector<Link>> ReadChain(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  if (members.size() < 2) return Status::NotSupported("one layer is no chain");
  std::vector<Link> links;
  std::string blob;
  const Shape& shape = blobs.at(members[0]->outputs[0]).shape;
  bool has_function = false;
  for (const Layer* layer : members) {
    if (blobs.at(layer->outputs[0]).shape != shape)
      return Status::NotSupported("'" + layer->type + "' changes the chain's shape");
    PLUMB_ASSIGN_OR_RETURN(Link link, ReadLink(*layer, blob, shape, blobs));
    if (layer == members[0] && layer->inputs.size() == 1 && blobs.at(layer->inputs[0]).shape != shape)
      return Status::NotSupported("'" + layer->type + "' changes the chain's shape");
    has_function = has_function || !link.has_other();
    links.push_back(std::move(link));
    blob = layer->outputs[0];
  }
  if (!has_function) return Status::NotSupported("the chain has no sigmoid, erf or tanh");
  return links;
}

class ElementChainKernel : public Kernel {
 public:
  static Status Supports(const KernelSpec& spec) {
    PLUMB_RETURN_IF_ERROR(RequireF32(spec));
    return ReadChain(spec.group.members, *spec.blobs).status();
  }

  Status ChooseLayouts(const KernelSpec& spec, const std::vector<LayoutPtr>& arriving, LayoutChoice* choice) override {
    const Shape& shape = spec.outputs[0].shape;
    bool blocked = false;
    for (size_t i = 0; i < arriving.size(); ++i) {
      blocked = blocked || (IsBlocked(arriving[i]) && spec.inputs[i].shape == shape);
    }
    const LayoutPtr layout = LayoutOf(blocked ? Format::kBlocked : Format::kPlain);
    choice->inputs.assign(arriving.size(), LayoutOf(Format::kPlain));
    choice->outputs = {layout};
    for (size_t i = 0; i < arriving.size(); ++i) {
      if (spec.inputs[i].shape != shape) continue;
      choice->inputs[i] = layout;
      choice->shares.push_back({ShareWish::kOverwrite, 0, static_cast<int>(i)});
    }
    return Status::Ok();
  }

  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    PLUMB_ASSIGN_OR_RETURN(links_, ReadChain(spec.group.members, *spec.blobs));
    return Status::Ok();
  }

  // The group's inputs are in the order of the links: in front the chain's first value and a first Mul's other operand
  // in the order of their slots, then one for each link whose other operand is a blob.
  Status Run(const std::vector<DeviceTensor>& inputs, const std::vector<DeviceTensor>& outputs) override {
    const Link& first = links_[0];
    const bool two = first.has_other() && first.element.empty();
    const float* src = inputs[two ? static_cast<size_t>(first.slot) : 0].host<float>();
    std::vector<const float*> others(links_.size());
    size_t next = two ? 2 : 1;
    for (size_t i = 0; i < links_.size(); ++i) {
      if (!links_[i].has_other()) continue;
      if (!links_[i].element.empty()) {
        others[i] = links_[i].element.data<float>();
      } else {
        others[i] = inputs[i == 0 ? static_cast<size_t>(1 - first.slot) : next++].host<float>();
      }
    }
    float* dst = outputs[0].host<float>();
    ParallelFor(static_cast<int64_t>(outputs[0].bytes() / sizeof(float)), kChainGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kPiece) RunPiece(src, others, at, std::min(kPiece, end - at), dst);
    });
    ZeroTailLanes(outputs[0]);
    return Status::Ok();
  }

 private:
  void RunPiece(const float* src, const std::vector<const float*>& others, int64_t at, int64_t count,
                float* dst) const {
    float piece[kPiece];
    const auto n = static_cast<size_t>(count);
    const float* value = src + at;
    for (size_t i = 0; i < links_.size(); ++i) {
      const Link& link = links_[i];
      float* to = i + 1 == links_.size() ? dst + at : piece;
      if (!link.has_other()) {
        simd::Unary(link.unary, {}, value, to, n);
      } else {
        const float* other = others[i] + (link.single ? 0 : at);
        const int step = link.single ? 0 : 1;
        if (link.slot == 0) {
          simd::BinaryRow(link.binary, value, 1, other, step, to, n);
        } else {
          simd::BinaryRow(link.binary, other, step, value, 1, to, n);
        }
      }
      value = to;
    }
  }

  std::vector<Link> links_;
};

}  // namespace

Status IsElementChain(const std::vector<const Layer*>& members, const BlobTable& blobs) {
  return ReadChain(members, blobs).status();
}

const KernelFunctions kernel_element_chain = {ElementChainKernel::Supports, MakeKernel<ElementChainKernel>};

}  // namespace plumb::cpu
