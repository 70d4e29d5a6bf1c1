// SPDX-License-Identifier: Apache-2.0
// NameWalk: two graphs are walked together. Weights say which product is which; what a product reads is the same on
// both sides, whatever was fused in front of it. From these pairs on, one operator of pairs gives a pair, in both
// directions, until nothing new is found. A tensor that two would claim keeps the first.
#ifndef PLUMB_NAMES_WALK_H_
#define PLUMB_NAMES_WALK_H_

#include <map>
#include <string>
#include <vector>

#include "names/graph.h"

namespace plumb {

class NameWalk {
 public:
  NameWalk(const NameGraph& a, const NameGraph& b) : a_(a), b_(b) {}

  void PairEndsByName();
  // Of what names leave: as many on both sides; `several`: also more than one, since both files keep their order.
  void PairInputsInOrder(bool several);
  void PairOutputsInOrder(bool several);
  void Grow();
  // False when one of them has another partner.
  bool Pair(const std::string& a, const std::string& b, const std::string& because);

  // The model's tensor of a tensor of the other graph; null: none.
  const std::string* PartnerOf(const std::string& name) const;
  const std::string& Because(const std::string& name) const;
  const std::map<std::string, std::string>& pairs() const { return to_a_; }  // of the other graph: of the model

 private:
  void PairInOrder(std::vector<std::string> a, std::vector<std::string> b, bool several, const char* because);
  // Which weighted node is which, where the weights of one alone fit.
  void FindProducts();
  // What is read; then what is written, behind what the other node has fused into it.
  void Product(const NameNode& a, const NameNode& b);
  void ProductOutput(const NameNode& a, const NameNode& b);
  // Whether the nodes read the same, as far as all of it is paired.
  bool ReadSame(const NameNode& a, const NameNode& b) const;
  void Forward(const NameNode& b);
  void Backward(const NameNode& b);

  const NameGraph& a_;
  const NameGraph& b_;
  std::map<const NameNode*, const NameNode*> products_;  // of b: of a
  std::map<std::string, std::string> to_a_, to_b_, because_;
};

}  // namespace plumb

#endif  // PLUMB_NAMES_WALK_H_
