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
#include <vector>

#include "plumb/dtype.h"
#include "plumb/numerics.h"
#include "plumb/shape.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

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
