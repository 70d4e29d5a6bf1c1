// The graph that foreign tensors are judged by: nodes that were imported as several layers are one operator again where one
// says what they are (ImportRecord::wholes), because another runtime's kernel need not round in the order of those layers.
#ifndef PLUMB_CHECK_JUDGED_GRAPH_H_
#define PLUMB_CHECK_JUDGED_GRAPH_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/observer.h"

namespace plumb {

struct JudgedGraph {
  Graph graph;
  std::map<std::string, std::vector<MemberInfo>> members;  // by layer name: the layers that it stands for
};

// A layer as a report lists it.
MemberInfo MemberOf(const Layer& layer);

// A node stays several layers where `known` holds for a blob between them: then each is judged on its own.
JudgedGraph MakeJudgedGraph(const Graph& graph, const ImportRecord& record, const std::function<bool(const std::string& blob)>& known);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGED_GRAPH_H_
