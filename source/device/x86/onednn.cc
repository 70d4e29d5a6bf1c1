// SPDX-License-Identifier: Apache-2.0
// Sums of products (device/cpu/product.h) on oneDNN, whose own threads never run: everything that includes its header.
// 3.x has no operation descriptors and its append_eltwise takes no scale: two #ifs.
#include "device/x86/onednn.h"

#include <fmt/core.h>

#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/block_pool.h"
#include "base/cpu.h"
#include "base/memory_budget.h"
#include "device/cpu/product.h"

namespace plumb::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dims = memory::dims;
using tag = memory::format_tag;
constexpr auto kF32 = memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

// oneDNN's parallel sections must find one OpenMP thread wherever it is called. The setting belongs to the thread,
// which may be the host program's and use OpenMP itself: it gets its own setting back.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& Engine() {
  static const dnnl::engine* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& Stream() {
  static thread_local dnnl::stream stream(Engine());
  return stream;
}

using Buffer = std::shared_ptr<void>;

Buffer AllocateAligned(size_t bytes) { return AllocateBlock(bytes + 64); }

// Scratch memory of the calling thread, grown to the largest size seen: a network warms it up in its first Forward.
void* ThreadScratch(size_t bytes) {
  static thread_local Buffer buffer;
  static thread_local size_t size = 0;
  if (bytes > size) {
    buffer = AllocateAligned(bytes);
    size = buffer ? bytes : 0;
  }
  return buffer.get();
}

std::string ErrorText(const char* what, const dnnl::error& e) {
  return fmt::format("oneDNN cannot make a {}: {} (dnnl_status {})", what, e.what(), static_cast<int>(e.status));
}

// oneDNN writes generated code into memory that it was not given (2.6.3 under `ulimit -v`: SIGSEGV). A primitive with
// its reorders and products takes some buffers of 256 KiB.
constexpr uint64_t kRoomForCode = uint64_t{16} << 20;

// A call into oneDNN with its exceptions turned into a Status. No memory is no refusal, which would send the layer to
// another kernel: it is thrown up to the library's door (CatchNoMemory).
template <class F>
auto Guarded(const char* what, F&& make) -> Result<decltype(make())> {
  const OneOpenMpThread hold;
  if (!HasAddressSpace(kRoomForCode)) throw std::bad_alloc();
  try {
    return make();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) throw std::bad_alloc();
    return e.status == dnnl_unimplemented ? Status::NotSupported(ErrorText(what, e))
                                          : Status::DeviceError(ErrorText(what, e));
  }
}

void AppendEltwise(dnnl::post_ops* ops, algorithm kind, float alpha, float beta) {
#if DNNL_VERSION_MAJOR >= 3
  ops->append_eltwise(kind, alpha, beta);
#else
  ops->append_eltwise(1.0f, kind, alpha, beta);
#endif
}

dnnl::primitive_attr Attributes(const Epilogue& epilogue) {
  dnnl::post_ops ops;
  if (epilogue.sum) ops.append_sum(1.0f);
  switch (epilogue.kind) {
    case Epilogue::Kind::kNone: break;
    case Epilogue::Kind::kRelu: AppendEltwise(&ops, algorithm::eltwise_relu, 0, 0); break;
    case Epilogue::Kind::kLeakyRelu: AppendEltwise(&ops, algorithm::eltwise_relu, epilogue.alpha, 0); break;
    case Epilogue::Kind::kClip: AppendEltwise(&ops, algorithm::eltwise_clip, epilogue.alpha, epilogue.beta); break;
    case Epilogue::Kind::kSwish: AppendEltwise(&ops, algorithm::eltwise_swish, 1, 0); break;
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::desc FeatureMap(Format format, int64_t channels, int64_t h, int64_t w) {
  const tag blocked = ChannelBlock() == 16 ? tag::nChw16c : tag::nChw8c;
  return {{1, channels, h, w}, kF32, format == Format::kBlocked ? blocked : tag::nchw};
}

int64_t EndPad(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t begin,
               bool transposed) {
  const int64_t extent = (kernel - 1) * dilation + 1;
  if (!transposed && in + begin >= extent && (in + begin - extent) / stride + 1 == out)
    return 0;  // what is left over is not read
  return transposed ? (in - 1) * stride + extent - begin - out : (out - 1) * stride + extent - begin - in;
}

struct ConvGeometry {
  dims strides, dilations, pad_begin, pad_end;
};

ConvGeometry Geometry(const ConvParams& p) {
  const int64_t bottom = EndPad(p.in_h, p.out_h, p.kernel_h, p.stride_h, p.dilation_h, p.pad_top, p.transposed);
  const int64_t right = EndPad(p.in_w, p.out_w, p.kernel_w, p.stride_w, p.dilation_w, p.pad_left, p.transposed);
  return {{p.stride_h, p.stride_w}, {p.dilation_h - 1, p.dilation_w - 1}, {p.pad_top, p.pad_left}, {bottom, right}};
}

template <class Forward>
typename Forward::primitive_desc ConvDesc(const ConvParams& p, algorithm kind, const memory::desc& src,
                                          const memory::desc& weights, const memory::desc& bias,
                                          const memory::desc& dst) {
  const ConvGeometry g = Geometry(p);
  const dnnl::primitive_attr attributes = Attributes(p.epilogue);
#if DNNL_VERSION_MAJOR >= 3
  return typename Forward::primitive_desc(Engine(), kInference, kind, src, weights, bias, dst, g.strides, g.dilations,
                                          g.pad_begin, g.pad_end, attributes);
#else
  const typename Forward::desc desc(kInference, kind, src, weights, bias, dst, g.strides, g.dilations, g.pad_begin,
                                    g.pad_end);
  return typename Forward::primitive_desc(desc, attributes, Engine());
#endif
}

dnnl::inner_product_forward::primitive_desc InnerProductDesc(const memory::desc& src, const memory::desc& weights,
                                                             const memory::desc& bias, const memory::desc& dst,
                                                             const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(), kInference, src, weights, bias, dst, attributes};
#else
  return {{kInference, src, weights, bias, dst}, attributes, Engine()};
#endif
}

dnnl::matmul::primitive_desc MatMulDesc(const memory::desc& src, const memory::desc& weights, const memory::desc& bias,
                                        const memory::desc& dst, const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(), src, weights, bias, dst, attributes};
#else
  return {{src, weights, bias, dst}, attributes, Engine()};
#endif
}

// Memory that stays with the weights: packed filter and a copy of the bias.
struct Packed {
  Buffer data;
  memory mem;
  size_t bytes = 0;
};

std::shared_ptr<Packed> MakePacked(const memory::desc& desc) {
  auto packed = std::make_shared<Packed>();
  packed->bytes = desc.get_size();
  packed->data = AllocateAligned(packed->bytes);
  if (!packed->data) throw std::bad_alloc();
  packed->mem = memory(desc, Engine(), packed->data.get());
  return packed;
}

std::shared_ptr<Packed> Pack(const memory::desc& from, const float* data, const memory::desc& to) {
  auto packed = MakePacked(to);
  memory source(from, Engine(), const_cast<float*>(data));
  dnnl::reorder(source, packed->mem).execute(Stream(), source, packed->mem);
  Stream().wait();
  return packed;
}

// The handle is set only when it changed: oneDNN 2.x clears the padded channels each time it is set.
void Point(memory* mem, const float* data) {
  void* handle = const_cast<float*>(data);
  if (mem->get_data_handle() != handle) mem->set_data_handle(handle);
}

class OneDnnProduct : public Product {
 public:
  memory::desc src_desc, dst_desc, scratch_desc;
  memory::desc weights_desc;              // of weights given to Run
  std::shared_ptr<Packed> weights, bias;  // or packed
  dnnl::primitive primitive;

  template <class PrimitiveDesc>
  void Describe(const PrimitiveDesc& desc) {
    src_desc = desc.src_desc();
    dst_desc = desc.dst_desc();
    scratch_desc = desc.scratchpad_desc();
    implementation_ = desc.impl_info_str();
  }

  void MakeArgs() {
    args_.clear();
    args_.emplace(DNNL_ARG_SRC, memory(src_desc, Engine(), DNNL_MEMORY_NONE));
    args_.emplace(DNNL_ARG_DST, memory(dst_desc, Engine(), DNNL_MEMORY_NONE));
    args_.emplace(DNNL_ARG_SCRATCHPAD, memory(scratch_desc, Engine(), DNNL_MEMORY_NONE));
    args_.emplace(DNNL_ARG_WEIGHTS, weights ? weights->mem : memory(weights_desc, Engine(), DNNL_MEMORY_NONE));
    if (bias) args_.emplace(DNNL_ARG_BIAS, bias->mem);
  }

  void Run(const float* src, float* dst, const float* given) override {
    const OneOpenMpThread hold;
    Point(&args_.at(DNNL_ARG_SRC), src);
    Point(&args_.at(DNNL_ARG_DST), dst);
    if (given != nullptr) Point(&args_.at(DNNL_ARG_WEIGHTS), given);
    const size_t scratch = scratch_desc.get_size();
    if (scratch > 0) Point(&args_.at(DNNL_ARG_SCRATCHPAD), static_cast<float*>(ThreadScratch(scratch)));
    primitive.execute(Stream(), args_);
  }

  ProductPtr Share() const override {
    auto copy = std::make_unique<OneDnnProduct>(*this);
    copy->MakeArgs();
    return copy;
  }

  const std::string& implementation() const override { return implementation_; }
  size_t packed_bytes() const override { return weights ? weights->bytes : 0; }
  // A kernel that oneDNN keeps for correctness only; it may be a thousand times slower.
  bool is_reference() const { return implementation_.rfind("ref", 0) == 0; }

 private:
  std::string implementation_;
  std::unordered_map<int, memory> args_;
};
using OneDnnPtr = std::unique_ptr<OneDnnProduct>;

}  // namespace

Status InitOneDnn() {
  static std::once_flag once;
  static Status status;
  std::call_once(once, [] {
    const Isa isa = EffectiveIsa();
    if (isa == CpuIsa()) return;
    const auto cap = isa == Isa::kAvx512 ? dnnl::cpu_isa::avx512_core
                     : isa == Isa::kAvx2 ? dnnl::cpu_isa::avx2
                                         : dnnl::cpu_isa::sse41;
    if (dnnl::set_max_cpu_isa(cap) == dnnl::status::success) return;
    status = Status::NotSupported(
        fmt::format("oneDNN was used before it could be held to {}; set PLUMB_MAX_CPU_ISA before the program starts",
                    IsaName(isa)));
  });
  return status;
}

namespace {
bool MayUseAvx512() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni: return false;
    default: return true;
  }
}
}  // namespace

int ChannelBlock() {
  static const int block = MayUseAvx512() ? 16 : 8;
  return block;
}

std::string OneDnnVersion() {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}{}", v->major, v->minor, v->patch,
                     ChannelBlock() == 16 ? ", AVX-512" : ", at most AVX2");
}

namespace {

// dst[m,1] = src[m,k] * weights[k,1], rows `stride` apart: oneDNN 3.7 writes such a column as if they were not.
class ColumnProduct : public Product {
 public:
  ColumnProduct(int64_t m, int64_t k, int64_t stride) : m_(m), k_(k), stride_(stride) {}
  void Run(const float* src, float* dst, const float* weights) override {
    for (int64_t row = 0; row < m_; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < k_; ++i) sum += double{src[row * k_ + i]} * double{weights[i * stride_]};
      dst[row * stride_] = static_cast<float>(sum);
    }
  }
  ProductPtr Share() const override { return std::make_unique<ColumnProduct>(*this); }
  const std::string& implementation() const override { return kColumn; }
  size_t packed_bytes() const override { return 0; }

 private:
  static inline const std::string kColumn = "column";
  int64_t m_, k_, stride_;
};

dims WeightDims(const ConvParams& p) {
  dims sizes{p.out_channels / p.groups, p.in_channels / p.groups, p.kernel_h, p.kernel_w};
  if (p.groups > 1) sizes.insert(sizes.begin(), p.groups);
  return sizes;
}

// Everything of a convolution but its weights; sets `packed` to the weights' layout.
OneDnnPtr DescribeConvolution(const ConvParams& p, bool has_bias, memory::desc* packed) {
  const memory::desc src = FeatureMap(p.src, p.in_channels, p.in_h, p.in_w);
  const memory::desc dst = FeatureMap(p.dst, p.out_channels, p.out_h, p.out_w);
  const memory::desc any(WeightDims(p), kF32, tag::any);
  const memory::desc bias = has_bias ? memory::desc({p.out_channels}, kF32, tag::x) : memory::desc();
  auto product = std::make_unique<OneDnnProduct>();
  const auto take = [&](const auto& pd) {
    product->Describe(pd);
    *packed = pd.weights_desc();
    product->primitive = dnnl::primitive(pd.get());
  };
  if (p.transposed) {
    take(ConvDesc<dnnl::deconvolution_forward>(p, algorithm::deconvolution_direct, src, any, bias, dst));
  } else {
    take(ConvDesc<dnnl::convolution_forward>(p, algorithm::convolution_direct, src, any, bias, dst));
  }
  return product;
}

const char* ConvolutionName(const ConvParams& p) { return p.transposed ? "deconvolution" : "convolution"; }

Status CheckQuick(const OneDnnProduct& product, const ConvParams& p) {
  if (!product.is_reference()) return Status::Ok();
  return Status::NotSupported(fmt::format("oneDNN has only its reference kernel '{}' for this {}",
                                          product.implementation(), ConvolutionName(p)));
}

}  // namespace

// Measured (doc/x86.md): with SSE4 both take the same time.
bool ProductsLeadDepthwise(int64_t pixels, const simd::DepthwiseAxis& across) {
  constexpr int64_t kLargeMap = 28 * 28;
  if (ChannelBlock() == 16) return pixels < kLargeMap;
  return EffectiveIsa() < Isa::kAvx2 || !simd::IsWideDepthwise(across);
}

// With AVX-512 not measured.
bool ProductsLead(const ConvParams& p) {
  return ChannelBlock() == 16 || p.src == Format::kPlain || (p.stride_h == 1 && p.stride_w == 1);
}

Status CheckConvolution(const ConvParams& p) {
  const auto product = Guarded(ConvolutionName(p), [&] {
    memory::desc packed;
    return DescribeConvolution(p, true, &packed);
  });
  return product.ok() ? CheckQuick(**product, p) : product.status();
}

Result<ProductPtr> MakeConvolution(const ConvParams& p, const float* weights, const WeightStrides& s,
                                   const float* bias) {
  PLUMB_ASSIGN_OR_RETURN(OneDnnPtr made, Guarded(ConvolutionName(p), [&] {
                           dims strides{s.out, s.in, p.kernel_w, 1};
                           if (p.groups > 1) strides.insert(strides.begin(), s.group);
                           memory::desc packed;
                           OneDnnPtr product = DescribeConvolution(p, bias != nullptr, &packed);
                           product->weights = Pack(memory::desc(WeightDims(p), kF32, strides), weights, packed);
                           const memory::desc bias_desc({p.out_channels}, kF32, tag::x);
                           if (bias) product->bias = Pack(bias_desc, bias, bias_desc);
                           product->MakeArgs();
                           return product;
                         }));
  PLUMB_RETURN_IF_ERROR(CheckQuick(*made, p));
  return ProductPtr(std::move(made));
}

Result<ProductPtr> MakeInnerProduct(int64_t m, int64_t k, int64_t n, const float* weights, const float* bias,
                                    const Epilogue& epilogue) {
  return Guarded("inner product", [&]() -> ProductPtr {
    const memory::desc plain({n, k}, kF32, tag::ab);
    const memory::desc bias_desc = bias ? memory::desc({n}, kF32, tag::x) : memory::desc();
    const auto pd = InnerProductDesc({{m, k}, kF32, tag::ab}, {{n, k}, kF32, tag::any}, bias_desc,
                                     {{m, n}, kF32, tag::ab}, Attributes(epilogue));
    auto product = std::make_unique<OneDnnProduct>();
    product->Describe(pd);
    product->primitive = dnnl::inner_product_forward(pd);
    product->weights = Pack(plain, weights, pd.weights_desc());
    if (bias) product->bias = Pack(bias_desc, bias, bias_desc);
    product->MakeArgs();
    return product;
  });
}

Result<ProductPtr> MakeMatMul(int64_t m, int64_t k, int64_t n, int64_t stride) {
  if (n == 1 && stride > 1) return ProductPtr(std::make_unique<ColumnProduct>(m, k, stride));
  return Guarded("matrix product", [&]() -> ProductPtr {
    const memory::desc a({m, k}, kF32, dims{k, 1}), b({k, n}, kF32, dims{stride, 1}),
        dst({m, n}, kF32, dims{stride, 1});
    const auto pd = MatMulDesc(a, b, memory::desc(), dst, Attributes(Epilogue()));
    auto product = std::make_unique<OneDnnProduct>();
    product->Describe(pd);
    product->primitive = dnnl::matmul(pd);
    product->weights_desc = pd.weights_desc();
    product->MakeArgs();
    return product;
  });
}

}  // namespace plumb::cpu
