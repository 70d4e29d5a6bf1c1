// SPDX-License-Identifier: Apache-2.0
// Network inputs whose file leaves dims open, before anything is loaded: what follows from shapes that are given and
// from the batch, and shapes that run, found by trying.
#ifndef PLUMB_FORMAT_OPEN_DIMS_H_
#define PLUMB_FORMAT_OPEN_DIMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plumb/model.h"
#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// How the note begins that names shapes which nobody gave; the options that give them follow.
inline constexpr const char kChosenShapesNote[] = "open dims: chosen by trying, ";

using InputShapeMap = std::map<std::string, Shape>;

struct DeclaredInput {
  std::string name;
  DType dtype = DType::kF32;
  bool has_shape = true;
  std::vector<int64_t> dims;           // -1: open
  std::vector<std::string> dim_names;  // "N"; "" where the file has none

  bool open() const;
  std::string DimsText() const;  // "[N,3,?,?]"
};

// By name, those that are open, as they are declared: "[N,3,?,?]".
std::map<std::string, std::string> OpenAmong(const std::vector<DeclaredInput>& inputs);

// LoadOptions::input_shapes, and of open_shapes those that fit inputs that are open; the name "" there stands for the
// only input. Where shapes may be chosen, one that contradicts a fixed dim is left out: who reads that tensor refuses
// it.
InputShapeMap GivenShapes(const std::vector<DeclaredInput>& inputs, const LoadOptions& options);

// InvalidArgument for the shape of what is no input, or of another rank than is declared.
Status CheckGivenShapes(const std::vector<DeclaredInput>& inputs, const InputShapeMap& shapes);

// Fills open dims: an input that `given` names takes that shape; a dim of the same name elsewhere takes the same value;
// a batch (named so, or the first of several dims that no other meaning is named for) is that of the given inputs,
// else 1. `note` says which inputs got a batch of 1; "" when none did.
std::vector<DeclaredInput> FillOpenDims(std::vector<DeclaredInput> inputs, const InputShapeMap& given,
                                        std::string* note);

// Network inputs whose values would have to be known when the model is loaded, and values that suit, where whoever
// needs them can say some.
using NeededValues = std::map<std::string, std::vector<int64_t>>;

// One attempt at loading a model.
struct ShapeTrial {
  Status status;
  NeededValues needed;  // when it failed
};
using InputValues = std::map<std::string, Tensor>;  // whole numbers, one or a list, that become constants
using TryShapes = std::function<ShapeTrial(const InputShapeMap& shapes, const InputValues& values)>;

struct FoundShapes {
  InputShapeMap smallest, usual;  // of the inputs that were open; both equal: only that ran
  InputValues values;             // and these must be constants
  Status refusal;                 // what the attempt at a usual shape said, when nothing ran
  bool runs() const { return !usual.empty() || !values.empty(); }
  // "LoadOptions::input_shapes x=1,3,32,32 LoadOptions::input_values n=1", quoted for a shell: a tool puts its own
  // options in.
  std::string Options(const InputShapeMap& shapes) const;
};

// Looks for shapes of the inputs that are open (FillOpenDims comes first) by calling `attempt` on usual sizes, for some
// ten seconds at most. Sides of images begin at 32 pixels; 1 is the last length that is tried. Where values are needed
// (a size, a rate, a count), usual ones are tried as well, also where nothing is open: `found.values` is then not
// empty.
FoundShapes FindShapes(const std::vector<DeclaredInput>& inputs, const TryShapes& attempt);

// The refusal of a model with open inputs: what is open, and what of them runs.
Status OpenDimsError(const std::vector<DeclaredInput>& inputs, const FoundShapes& found);

}  // namespace plumb

#endif  // PLUMB_FORMAT_OPEN_DIMS_H_
