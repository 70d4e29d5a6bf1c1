// GraphBuilder: a small graph in code, layer by layer in execution order.
//
// Example:
//   plumb::GraphBuilder builder;
//   builder.Input("image", {1, 3, 32, 32});
//   builder.Add("Convolution", {"image"}, {"features"},
//               "in_channels_per_group=3 out_channels=8 kernel=3x3 stride=2 pad=1");
//   builder.Add("ReLU", {"features"}, {"positive"});
//   builder.Output("positive");
//   PLUMB_ASSIGN_OR_RETURN(plumb::Graph graph, builder.Build());
//
// Operators are those of doc/op_support.md. Parameters are text, as ListParams (plumb/support.h) gives them: name=value
// with a blank between two; a boolean's name alone is true; lists are [1,2]; "kernel=1x7" sets kernel_h and kernel_w,
// "stride=2" stride_h and stride_w. What is not named keeps its default; a name that the operator lacks is an error
// that lists those that it has. Errors: Build returns the first of all mistakes. Ownership: tensors are shared.
// Threading: one thread at a time.
#ifndef PLUMB_GRAPH_BUILDER_H_
#define PLUMB_GRAPH_BUILDER_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

class GraphBuilder {
 public:
  // `name` stands in messages and reports where a file's name stands otherwise.
  explicit GraphBuilder(std::string name = "in code");

  // A network input.
  GraphBuilder& Input(const std::string& blob, Shape shape, DType dtype = DType::kF32);
  // A blob with a value that is part of the graph.
  GraphBuilder& Constant(const std::string& blob, Tensor value);
  // A layer, named after its first output. `weights` by slot, as in Layer::resources.
  GraphBuilder& Add(const std::string& type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                    const std::string& params = "", std::map<std::string, Tensor> weights = {});
  // A network output.
  GraphBuilder& Output(const std::string& blob);

  // The graph, with every shape and weight checked. Weights that were not given are drawn from the seed as for a model
  // without a tnnmodel (plumb/model.h). InvalidArgument for an operator or parameter that there is not; CorruptModel
  // for a blob that is read before it is defined and for shapes and weights that do not fit. The builder keeps its
  // layers.
  Result<Graph> Build(uint64_t seed = 1) const;

 private:
  Graph graph_;
  Status status_;  // of the first call that failed
};

}  // namespace plumb

#endif  // PLUMB_GRAPH_BUILDER_H_
