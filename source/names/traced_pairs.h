// SPDX-License-Identifier: Apache-2.0
// TracedPairs: traces both graphs again and again (trace.h), and tells the walk which tensors have one formula.
#ifndef PLUMB_NAMES_TRACED_PAIRS_H_
#define PLUMB_NAMES_TRACED_PAIRS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "names/graph.h"
#include "names/plain.h"
#include "names/trace.h"
#include "names/values.h"
#include "names/walk.h"

namespace plumb {

constexpr const char* kSameFormula = "the same formula";

class TracedPairs {
 public:
  TracedPairs(const NameModel& a, const NameModel& b, NameWalk* walk) : a_(*a.graph), b_(*b.graph), walk_(walk) {}

  // The files' graphs; inputs that `model` leaves open have the dims that `other` fixes, where these run.
  Status Read(const std::string& a, const std::string& b, const NameModel& model, const NameModel& other);
  Status Run();
  // Tensors of a file whose axes stand in another order: the same elements, turned.
  Status FindTurned();
  // What both graphs compute on drawn inputs, of tensors of as many elements as one of `left` of the other graph.
  Status RunBoth(const std::set<std::string>& left, std::vector<ValuedTensor>* model,
                 std::vector<ValuedTensor>* other) const;

  // Tensors of the other graph that are one of the model's which has a partner already.
  const std::map<std::string, std::string>& again() const { return again_; }

 private:
  Result<std::map<std::string, Tensor>> InputsOfOther(const std::map<std::string, Tensor>& model) const;
  Status PrepareCells();
  Status Trace(const std::set<std::string>& kept_b);
  // Pairs of one formula.
  void Match();
  // Of the tensors of one formula one of the same shape, of the same name, or any; one without a partner before others.
  void Take(const std::string& name, const Shape& shape, const std::vector<std::string>& model);
  // A pair of the walk whose formulas differ counts as one of the same formula from the next trace on.
  void Force(const std::string& theirs, const std::string& ours);

  const NameGraph& a_;
  const NameGraph& b_;
  NameWalk* walk_;
  PlainGraph plain_a_, plain_b_;
  std::map<std::string, Cells> given_a_, given_b_, cells_a_, cells_b_;
  std::set<std::string> kept_;
  std::map<std::string, std::string> forced_;  // blob of b: blob of a
  std::map<std::string, CellsMark> marks_a_, marks_b_;
  std::map<std::string, std::string> again_;
};

}  // namespace plumb

#endif  // PLUMB_NAMES_TRACED_PAIRS_H_
