// SPDX-License-Identifier: Apache-2.0
// Observer: what a network calls around each layer's Forward. Dump, statistics, checking and calibration are observers.
//
// Watching changes no bit of the result (design decision 4). Before a Forward every observer is asked once per step
// whether it Wants it; steps that nobody wants keep their fast path. A step is a layer, or a fused group that carries
// the index and name of its last member. Errors that an observer returns do not stop the Forward: the outputs stay
// valid and the first error is what Forward (or Wait) returns. Threading: called on the thread that runs Forward, one
// call at a time.
#ifndef PLUMB_OBSERVER_H_
#define PLUMB_OBSERVER_H_

#include <string>
#include <utility>
#include <vector>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// Numerics: how a step computes, as far as its rounding errors depend on that: by which algorithm, in what it adds up,
// and in what it holds the operands of its products. Kernels declare it, and the checker judges a step by the bound of
// exactly that (doc/check.md, "The rule").
struct Numerics {
  enum Algorithm {
    kDirect,    // sums of products as the operator is defined
    kWinograd,  // Lavin and Gray, arXiv:1509.09308
  };
  Algorithm algorithm = kDirect;
  // Of kWinograd: F(tile x tile, r x r), or along one axis F(tile, r), with tile + r - 2 finite interpolation points;
  // infinity is the last one. tile 0: any form in use, of a runtime of which nobody knows.
  int tile = 0;
  std::vector<double> points;
  int dimensions = 2;  // 1: kernels of one row or one column
  // Of kWinograd with tile > 0. 2: a convolution of stride 2 is the sum of four of stride 1, of the even and the odd
  // rows and columns of map and kernel, and each is computed so; r is half of the kernel's taps, rounded up.
  int stride = 1;
  DType accumulator = DType::kF32;  // f32, or f16 or bf16: every sum is rounded so
  DType storage = DType::kF32;      // f32, or f16 or bf16: products round their operands (blobs and weights) so first

  static Numerics Winograd(int tile, std::vector<double> points, int dimensions = 2) {
    return {kWinograd, tile, std::move(points), dimensions, 1, DType::kF32, DType::kF32};
  }
  // r of kWinograd: the taps along an axis.
  int taps() const { return static_cast<int>(points.size()) + 2 - tile; }
  // InvalidArgument for a form of Winograd's algorithm that nobody computes: kernels of more than kMaxTaps taps, tiles
  // of more than kMaxPositions inputs along an axis, points that lie within 1/8 of each other or beyond 8, strides
  // beyond 2, and a stride of 2 along one axis.
  Status Validate() const;
  // What Validate() accepts, in words that follow "expected".
  static std::string ValidForms();
  static constexpr int kMaxTaps = 7, kMaxPositions = 10;
  // "winograd F(4x4,3x3) points 0 1 -1 2 -2", "winograd F(4,7) ...", "winograd of stride 2 F(4x4,4x4) ...", "sums in
  // f16"; "" for direct sums in f32.
  std::string Name() const;
};

// A blob that crosses a step's border. An input belongs to the member that reads it, an output to the one that writes
// it.
struct PortInfo {
  int layer_index = 0;
  std::string layer_name;
  int slot = 0;  // that layer's input or output number
  std::string blob;
  DType dtype = DType::kF32;
  Shape shape;
  std::string layout;          // the device's name for it
  bool constant = false;       // part of the model
  DType stored = DType::kF32;  // in what the device stores the elements: f16 for f32 blobs of NORMAL precision
};

struct MemberInfo {
  int index = 0;
  std::string name;
  std::string type;
  std::vector<std::string> nodes;  // names in the source model
  std::string source_line;         // Layer::source_line
};

struct StepInfo {
  int index = 0;  // of the last member
  std::string name;
  std::string type;
  std::vector<MemberInfo> members;    // one, or several when fused
  std::string device;                 // "X86"; "NAIVE" when this step fell back
  std::string kernel;                 // "x86/convolution_onednn"
  std::string detail;                 // what the kernel says of itself
  Numerics numerics;                  // how the kernel says that it computes
  std::vector<std::string> refusals;  // kernels that were asked first, with their reasons
  bool fallback = false;
  std::vector<PortInfo> inputs;
  std::vector<PortInfo> outputs;
};

class LayerEvent {
 public:
  virtual ~LayerEvent() = default;
  virtual const StepInfo& step() const = 0;
  virtual int forward() const = 0;     // number of this Forward, from 0
  virtual double seconds() const = 0;  // After only: time of the step, synchronised
  // A dense host copy in logical order. Inputs are intact in Before; afterwards an input may have been overwritten.
  virtual Result<Tensor> Input(size_t i) const = 0;
  virtual Result<Tensor> Output(size_t i) const = 0;  // REQUIRES: After
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual bool Wants(const StepInfo& /*step*/, int /*forward*/) { return true; }
  virtual Status ForwardBegin(int /*forward*/) { return Status::Ok(); }
  virtual Status Before(const LayerEvent& /*event*/) { return Status::Ok(); }
  virtual Status After(const LayerEvent& /*event*/) { return Status::Ok(); }
  virtual Status ForwardEnd(int /*forward*/) { return Status::Ok(); }
};

}  // namespace plumb

#endif  // PLUMB_OBSERVER_H_
