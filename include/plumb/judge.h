// SPDX-License-Identifier: Apache-2.0
// One call of an operator, judged: is an output that anybody computed (a kernel under test, a compiler, a device) what
// rounding explains on these very inputs? The operator is replayed in float64 on the inputs, and each element is held
// against the rounding error to be expected of it (doc/judge.md; the rule is doc/tolerance.md's).
//
// Example:
//   const plumb::OperatorCall call{"softmax", {image}, {{"axis", int64_t{-1}}}};
//   const plumb::Tensor mine = image;  // what the kernel under test computed
//   PLUMB_ASSIGN_OR_RETURN(const plumb::Judgement judgement, plumb::JudgeCall(call, {mine}));
//   std::puts(judgement.Describe().c_str());  // "wrong: E 1.3e+06, R 9.6e+06, as fp32; ..."
//
// Errors: InvalidArgument, NotSupported (no such operator, attribute or dtype; inputs that do not fit), each in one
// sentence. Ownership: values; tensors share the caller's memory and are not changed. Threading: free functions that
// may run at once.
#ifndef PLUMB_JUDGE_H_
#define PLUMB_JUDGE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plumb/check.h"
#include "plumb/tensor.h"

namespace plumb {

// A whole number may stand for a float.
using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

// "axis=-1", "eps=1e-5", "pads=1,1,1,1", "approximate=tanh": numbers where all of it are, else text. InvalidArgument.
Result<std::pair<std::string, AttributeValue>> ParseAttribute(const std::string& text);

struct OperatorCall {
  // An ONNX operator ("Softmax", of the newest opset; "com.microsoft.SkipLayerNormalization"), a name that NumPy's or
  // PyTorch's users know ("layer_norm"; CallNames), a TNN type ("SoftmaxCaffe"; weights behind the inputs, in the order
  // of the tnnmodel), or a model's path (.onnx, .tnnproto), whose network inputs are the inputs.
  std::string op;
  std::vector<Tensor> inputs;  // in the operator's order; an empty one is left out
  std::map<std::string, AttributeValue> attributes = {};
};

// The names beside ONNX's and TNN's, with what they call: {"layer_norm", "LayerNormalization (eps: epsilon)"}.
std::map<std::string, std::string> CallNames();

// In what an operator is computed.
struct CallArithmetic {
  SubjectArithmetic arithmetic = SubjectArithmetic::kFp32;
  bool narrow_sums = false;  // of kFp16 and kBf16: each sum is rounded to 16 bits, too, not only what is stored
  std::string Name() const;  // "fp32", "fp16", "fp16+f16-sums"
};
// The names of ParseArithmetic (plumb/subject.h), "fp16+f16-sums" and "bf16+bf16-sums". InvalidArgument lists them.
Result<CallArithmetic> ParseCallArithmetic(const std::string& name);

struct JudgeCallOptions {
  // How it is allowed to be computed. Nothing: as the output's dtype says: f32; of f16 and bf16 stored so, summed in
  // f32; in any order of summation, by Winograd's algorithm, too.
  std::optional<CallArithmetic> arithmetic;
  // Any arithmetic that explains the output will do, and is said (Judgement::computed_as).
  bool find = false;
  bool causes = true;  // look for what a wrong output computes instead
};

// One element of an output.
struct JudgedElement {
  std::vector<int64_t> index;
  double actual = 0, expected = 0;
  double tau = 0;  // the error that rounding explains there
};

struct JudgedOutput {
  OutputReport report;  // verdict, E, R, bias, metrics
  JudgedElement worst;  // of |actual - expected| / tau; index empty: all equal
};

struct Judgement {
  Verdict verdict = Verdict::kNotTested;
  std::string reason;       // why not aligned
  std::string cause;        // what is computed instead, where that is known
  std::string computed_as;  // "fp32", "fp32+winograd", "f16 operands in 1 of 1 MatMul (found)"
  std::vector<JudgedOutput> outputs;

  // The output that decided.
  const JudgedOutput& Worst() const;
  // "wrong: E 812 R 96: computed as tanh-GELU ...; worst at [3,17]: 0.5 for 0.25, allowed 3e-07"
  std::string Describe() const;
};

// `outputs`: in the operator's order; those behind the last are not asked for. InvalidArgument for a shape that the
// operator does not give.
Result<Judgement> JudgeCall(const OperatorCall& call, const std::vector<Tensor>& outputs,
                            const JudgeCallOptions& options = {});

// What a right implementation may give.
struct CallTolerance {
  Tensor expected;  // f64, or the output's integer dtype
  Tensor tau;       // f64: how far each element may lie from it
  // The smallest pair (of those, the one that allows least on average) for which |actual - expected| <= atol + rtol
  // |expected| holds wherever |actual - expected| <= tau: what a test without Plumb may ask of everybody.
  double rtol = 0, atol = 0;
};

// One per output. Stored in f16 or bf16 where the arithmetic says so; `num_outputs`: how many are asked for.
Result<std::vector<CallTolerance>> ToleranceOf(const OperatorCall& call, const CallArithmetic& arithmetic = {},
                                               size_t num_outputs = 1);

}  // namespace plumb

#endif  // PLUMB_JUDGE_H_
