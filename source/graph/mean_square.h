// SPDX-License-Identifier: Apache-2.0
// The mean square that the values of each blob are to be expected to have under generated weights: a rough model, layer
// by layer, only there to choose the weights' scale. It tells the part that is symmetric around 0 (a layer's sums),
// which a ReLU halves, from the part that is not negative, which a ReLU keeps: sums of ReLU outputs along a residual
// path stay large. Deterministic on every machine: + * / only.
#ifndef PLUMB_GRAPH_MEAN_SQUARE_H_
#define PLUMB_GRAPH_MEAN_SQUARE_H_

#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

class MeanSquares {
 public:
  // Of the layer's first input.
  double Input(const Layer& layer) const { return First(layer).Total(); }
  double OfBlob(const std::string& blob) const { return Of(blob).Total(); }
  // Notes the layer's outputs. `drawn`: the layer has filters drawn for its input, so that its sums have mean square 2.
  void AddLayer(const Layer& layer, bool drawn);

 private:
  struct Value {
    double symmetric = 1, positive = 0;
    double Total() const { return symmetric + positive; }
  };
  Value Of(const std::string& blob) const;
  Value First(const Layer& layer) const { return Of(layer.inputs.empty() ? std::string() : layer.inputs[0]); }
  Value Output(const Layer& layer) const;

  std::map<std::string, Value> values_;  // a blob that is not here (network input, constant) has 1, symmetric
};

}  // namespace plumb

#endif  // PLUMB_GRAPH_MEAN_SQUARE_H_
