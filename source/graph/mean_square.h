// The mean square that the values of each blob are to be expected to have under generated weights: a rough model, layer by
// layer, only there to choose the weights' scale. Deterministic on every machine: + * / only.
#ifndef PLUMB_GRAPH_MEAN_SQUARE_H_
#define PLUMB_GRAPH_MEAN_SQUARE_H_

#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

class MeanSquares {
 public:
  // Of the layer's first input.
  double Input(const Layer& layer) const { return Of(layer.inputs.empty() ? std::string() : layer.inputs[0]); }
  // Notes the layer's outputs. `drawn`: the layer has filters drawn for its input, so that its sums have mean square 2.
  void AddLayer(const Layer& layer, bool drawn);

 private:
  double Of(const std::string& blob) const;
  double Output(const Layer& layer) const;

  std::map<std::string, double> values_;  // a blob that is not here (network input, constant) has 1
};

}  // namespace plumb

#endif  // PLUMB_GRAPH_MEAN_SQUARE_H_
