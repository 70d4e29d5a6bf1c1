// SPDX-License-Identifier: Apache-2.0
// Plan: what an operator of this room tells the devices, as data: which programs run, what they read and write, and
// the numbers they are given. A program is one file <name>.gpu in a subset of OpenCL C and GLSL
// (include/gpu.clh and include/gpu.glslh say which), built for each type that program_list.def names. Everything lies
// in plain order.
//
// An operator is a row of kernel_list.def and a function
//   Status plan_<kernel>(Plan* plan);
// that adds launches or refuses. Devices ask it once for Supports and once for each kernel.
#ifndef PLUMB_DEVICE_GPU_PLAN_H_
#define PLUMB_DEVICE_GPU_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "device/kernel.h"

namespace plumb::gpu {

constexpr size_t kMaxWords = 32;  // 128 bytes of push constants are what every Vulkan driver has

// What a device can do.
struct Facts {
  bool half = false;       // f32 blobs are stored as f16
  int64_t max_rounds = 0;  // that the loops of one work item may turn together
};

// A buffer of a program. Its type is one of the programs' own: "real" (an f32 blob as the device stores it), "f32",
// "i32", "i64", "f64", "u8", "i8", "b1" .. "b8" (elements that are only moved). An i64 blob may be read as pairs of
// "i32".
struct Port {
  enum From { kOutput, kInput, kConstant, kScratch, kFlag };
  From from = kInput;
  int index = 0;
  std::string type;
};

struct Launch {
  std::string program;
  std::vector<Port> ports;
  std::vector<int64_t> words;  // 32 bits each; the first is the number of work items

  Launch& Int(int64_t value);
  Launch& Ints(const std::vector<int64_t>& values, size_t count);  // then zeros
  Launch& Float(float value);
  int64_t items() const { return words[0]; }
};

class Plan {
 public:
  Plan(const KernelSpec& kernel_spec, const Facts& device_facts) : spec(kernel_spec), facts(device_facts) {}

  const KernelSpec& spec;
  const Facts facts;
  std::vector<Launch> launches;
  std::vector<std::vector<int32_t>> constants;  // floats as their bits
  std::vector<int64_t> scratches;               // words of 32 bits
  std::vector<std::string> complaints;  // one per flag: what is wrong when a program raises it, without the value

  const Layer& layer() const { return spec.layer(); }
  const BlobInfo& in(int i) const { return spec.inputs[static_cast<size_t>(i)]; }
  const BlobInfo& out(int i = 0) const { return spec.outputs[static_cast<size_t>(i)]; }
  bool has(int i) const { return static_cast<size_t>(i) < spec.inputs.size(); }

  // The value is valid until the next Add.
  Launch& Add(std::string program, int64_t items, std::vector<Port> ports);
  // The launch once, or once per part of `steps` where an item may not walk all of them at `rounds` rounds each; each
  // part gets its first step and the one behind its last as two more words.
  void AddParts(Launch launch, int64_t steps, int64_t rounds = 1);
  // NotSupported where an item may not loop so often.
  Status RequireRounds(int64_t rounds) const;

  Port In(int i, std::string type) const { return {Port::kInput, i, std::move(type)}; }
  Port Out(int i, std::string type) const { return {Port::kOutput, i, std::move(type)}; }
  Port Ints(const std::vector<int64_t>& values);
  Port Floats(const std::vector<float>& values);
  Port Scratch(int64_t elements, std::string type);  // "i32" or "f32"
  // The program writes 1 and the value that it cannot take; Forward then fails with the words and the value.
  Port Flag(const std::string& words);
  Port Again(const Port& port, std::string type) const { return {port.from, port.index, std::move(type)}; }

  // "real", "i32", "i64": the type in which f32, i32, i64 are computed. NotSupported for others.
  Result<std::string> Number(DType dtype) const;
  // The same, and "f64" for f64: for programs that need no functions of it.
  Result<std::string> NumberOrF64(DType dtype) const;
  // NotSupported unless input `i` is f32.
  Status RequireF32(int i) const;
  // "b1" .. "b8", by the bytes of a stored element.
  std::string Bits(DType dtype) const;
  // Whole numbers of any dtype: i32 and i64 as they are, constants of others as i32.
  struct Whole {
    Port port;
    int64_t wide;  // as of Wide
  };
  Result<Whole> WholeNumbers(int input);
  // 1 where indices are i64, which programs read as pairs of i32; 0 for i32. NotSupported for others.
  Result<int64_t> Wide(int input) const;
};

using PlanFunction = Status (*)(Plan* plan);

// The operator's plan, checked: one layer, sizes and numbers within 32 bits.
Status MakePlan(PlanFunction function, Plan* plan);

// The dtype as whose elements a port is counted, given that of its blob.
DType DTypeOfPort(const std::string& type, DType blob);

}  // namespace plumb::gpu

#endif  // PLUMB_DEVICE_GPU_PLAN_H_
