// SPDX-License-Identifier: Apache-2.0
// Network inputs: out of files, out of memory, or generated; and the one call that runs a network on them.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, plumb::LoadModel("net.tnnproto"));
//   plumb::InputOptions options;                       // nothing given: all inputs are generated, by seed
//   PLUMB_ASSIGN_OR_RETURN(const plumb::NetworkInputs inputs, plumb::PrepareInputs(options, graph));
//   PLUMB_ASSIGN_OR_RETURN(auto network, plumb::CreateNetwork(std::move(graph), "NAIVE"));
//   PLUMB_ASSIGN_OR_RETURN(auto outputs, plumb::RunNetwork(network.get(), inputs.values));
//   std::printf("%s -> %g\n", inputs.lines[0].c_str(), outputs.at("prob").ValueAt(0));
//
// Threading: free functions without shared state. Tensors share memory with what was given where nothing is converted.
#ifndef PLUMB_INPUTS_H_
#define PLUMB_INPUTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/network.h"
#include "plumb/tensor_file.h"

namespace plumb {

struct InputOptions {
  std::map<std::string, Tensor> values;  // by network input; floats of another width are converted
  // FILE (all inputs by their names, or the only input) or NAME=FILE; .txt (TNN), .npy, .npz, .bin/.dat, images.
  std::vector<std::string> files;
  ImageOptions image;  // of files that are images
  std::string layout;  // of `values` and `files` of four dims: "NHWC" or "NCHW"; empty: the model's own
  // lo, hi of generated inputs (lo <= hi, finite), within what the graph needs (indices: the rows). Nothing: f32
  // uniform in [-1, 1), integers what the graph allows, else 0..1.
  std::optional<std::pair<double, double>> range;
  uint64_t seed = kDefaultSeed;  // of generated inputs: the same bits on every machine
  // Of generated inputs of f32 many are drawn and the one is taken that exercises the weakest layers most: those behind
  // which dead channels or limits that are reached everywhere would hide a fault. The reference runs 6 to 32 times.
  bool exercise = false;
  std::vector<std::string> exercised_layers;  // names or indexes of those that count; empty: all
  std::string name = "given";                 // how errors and reports call `values` and `files`
};

struct NetworkInputs {
  std::map<std::string, Tensor> values;  // one per network input, of its dtype and shape
  // For reports: one per network input, "x f32 [1,3,8,8]: photo.png, ..."; and what InputOptions::exercise found.
  std::vector<std::string> lines;
  bool generated = false;  // some of them
};

// A network's output of four dims, from the model's own order of the axes (NHWC of a .tflite file, else NCHW) to
// "NHWC" or "NCHW"; as it is for "". Tensors of other ranks stay as they are.
Result<Tensor> InLayout(const Graph& graph, const Tensor& tensor, const std::string& layout);

// The shapes of the tensors in these files, for inputs that the model leaves open (LoadOptions::open_shapes): by name,
// and "" for a single tensor whose name nobody says. A file that cannot be read is left to PrepareInputs.
std::map<std::string, Shape> ShapesOfFiles(const std::vector<std::string>& files);

// What a network input is drawn from where nobody gives it: what the graph takes (indices: the rows), else a default.
struct GeneratedRange {
  double lo = 0, hi = 0;
  bool whole = false;      // whole numbers lo .. hi; otherwise uniform in [lo, hi)
  bool ascending = false;  // nothing is drawn: lo, lo + 1, ... along the last dim, hi once it is reached
  bool needed = false;     // another value would make a layer fail
  std::string why;         // "rows of 'embedding' (Gather)"; "": the default
};
// By network input.
std::map<std::string, GeneratedRange> GeneratedRanges(const Graph& graph, const BlobTable& blobs);

// Every network input exactly once. `blobs`: InferShapes of the graph. InvalidArgument, naming both sides: a file or
// value that fits no input, an input that is not given while others are, another dtype or shape, a range that the graph
// cannot take. NotSupported: an input of a dtype that is not generated. Reading files: as ReadTensors.
Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph, const BlobTable& blobs);
Result<NetworkInputs> PrepareInputs(const InputOptions& options, const Graph& graph);

// .png .jpg .jpeg .bmp
bool IsImageFile(const std::string& path);

// SetInput, Forward, GetOutput: the network's outputs by name.
Result<std::map<std::string, Tensor>> RunNetwork(Network* network, const std::map<std::string, Tensor>& inputs);

}  // namespace plumb

#endif  // PLUMB_INPUTS_H_
