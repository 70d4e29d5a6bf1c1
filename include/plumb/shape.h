// Shape: the dims of a tensor in logical order (N, C, then spatial), whatever its memory layout.
// Rank 0 is a scalar with one element; a dim may be 0 (an empty tensor); a dim is never negative once a graph is
// prepared.
#ifndef PLUMB_SHAPE_H_
#define PLUMB_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "plumb/status.h"

namespace plumb {

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const std::vector<int64_t>& dims() const { return dims_; }
  std::vector<int64_t>& dims() { return dims_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  // The dim, or 1 when the rank is too small (TNN's rule: a missing dim counts as 1).
  int64_t DimOrOne(int i) const { return i < rank() ? dims_[static_cast<size_t>(i)] : 1; }

  // Product of all dims; 1 for rank 0. REQUIRES: Validate() is OK (no overflow).
  int64_t NumElements() const { return CountFrom(0); }
  // Product of dims[from ...]; 1 past the end.
  int64_t CountFrom(int from) const { return Count(from, rank()); }
  // Product of dims[from ... to).
  int64_t Count(int from, int to) const;
  // InvalidArgument when a dim is negative or the product of the dims that are not zero exceeds 2^40.
  Status Validate() const;
  // "[1,3,224,224]"; "[]" for a scalar.
  std::string ToString() const;

  bool operator==(const Shape& other) const { return dims_ == other.dims_; }
  bool operator!=(const Shape& other) const { return dims_ != other.dims_; }

 private:
  std::vector<int64_t> dims_;
};

}  // namespace plumb

#endif  // PLUMB_SHAPE_H_
