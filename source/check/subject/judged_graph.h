// SPDX-License-Identifier: Apache-2.0
// The graph that foreign tensors are judged by: nodes that were imported as several layers are one operator again where
// one says what they are (ImportRecord::wholes), because another runtime's kernel need not round in the order of those
// layers; and constants that nodes compute (ImportRecord::folded) are computed by layers where the subject has another
// value than ours: a fault there is its node's, and not its reader's.
#ifndef PLUMB_CHECK_SUBJECT_JUDGED_GRAPH_H_
#define PLUMB_CHECK_SUBJECT_JUDGED_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/check.h"
#include "plumb/model.h"
#include "plumb/observer.h"

namespace plumb {

struct JudgedGraph {
  Graph graph;
  std::map<std::string, std::vector<MemberInfo>> members;  // by layer name: the layers that it stands for
  // Blobs that layers put back compute: no constants, though shape inference may know what they are to be.
  std::vector<std::string> computed;
};

// A node stays several layers where the subject has a blob between them: then each is judged on its own. A weight that
// is such a constant is the subject's.
JudgedGraph MakeJudgedGraph(const Graph& graph, const ImportRecord& record, const BlobSource& subject);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_JUDGED_GRAPH_H_
