// SPDX-License-Identifier: Apache-2.0
#include "format/tflite/sparse.h"

#include <fmt/core.h>

#include <cstring>
#include <vector>

namespace plumb::tflite {
namespace {

struct Level {
  bool compressed = false;
  int64_t size = 0;  // of a dense one
  std::vector<int64_t> segments, indices;
  int dim = 0;       // of the tensor
  int64_t step = 1;  // what one index is worth in that dim
};

template <class Vector>
std::vector<int64_t> Values(const Vector* table) {
  if (table == nullptr || table->values() == nullptr) return {};
  return std::vector<int64_t>(table->values()->begin(), table->values()->end());
}

std::vector<int64_t> ValuesOf(schema::SparseIndexVector type, const void* table) {
  switch (type) {
    case schema::SparseIndexVector::Int32Vector: return Values(static_cast<const schema::Int32Vector*>(table));
    case schema::SparseIndexVector::Uint16Vector: return Values(static_cast<const schema::Uint16Vector*>(table));
    case schema::SparseIndexVector::Uint8Vector: return Values(static_cast<const schema::Uint8Vector*>(table));
    default: return {};
  }
}

Status Bad(const char* what) { return Status::CorruptModel(fmt::format("its sparsity {}", what)); }

Result<std::vector<Level>> LevelsOf(const schema::SparsityParameters& sparsity, const Shape& shape) {
  const auto* order = sparsity.traversal_order();
  const auto* dims = sparsity.dim_metadata();
  const size_t blocks = sparsity.block_map() == nullptr ? 0 : sparsity.block_map()->size();
  const size_t rank = static_cast<size_t>(shape.rank()), count = rank + blocks;
  if (order == nullptr || dims == nullptr || order->size() != count || dims->size() != count)
    return Bad("has another number of levels than the tensor has dims and blocks");
  std::vector<Level> levels(count);
  std::vector<bool> seen(count, false);
  std::vector<int64_t> block(rank, 1);
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<flatbuffers::uoffset_t>(i);
    const int dim = order->Get(at);
    if (dim < 0 || static_cast<size_t>(dim) >= count || seen[static_cast<size_t>(dim)])
      return Bad("walks a dim twice or one that is not there");
    seen[static_cast<size_t>(dim)] = true;
    const schema::DimensionMetadata& given = *dims->Get(at);
    Level& level = levels[i];
    level.compressed = given.format() != 0;
    level.size = given.dense_size();
    level.segments = ValuesOf(given.array_segments_type(), given.array_segments());
    level.indices = ValuesOf(given.array_indices_type(), given.array_indices());
    level.dim = dim;
    if (static_cast<size_t>(dim) < rank) continue;
    level.dim = sparsity.block_map()->Get(static_cast<flatbuffers::uoffset_t>(dim) - shape.rank());
    if (level.dim < 0 || level.dim >= shape.rank() || level.compressed || level.size < 1)
      return Bad("has a block of a dim that is not there, or a block that is not dense");
    block[static_cast<size_t>(level.dim)] *= level.size;
  }
  for (size_t i = 0; i < count; ++i) {
    if (static_cast<size_t>(order->Get(static_cast<flatbuffers::uoffset_t>(i))) < rank)
      levels[i].step = block[static_cast<size_t>(levels[i].dim)];
  }
  return levels;
}

class Walk {
 public:
  Walk(const std::vector<Level>& levels, std::string_view bytes, Tensor* dense)
      : levels_(levels), bytes_(bytes), dense_(*dense), place_(static_cast<size_t>(dense->shape().rank()), 0) {}

  Status Run() {
    PLUMB_RETURN_IF_ERROR(Visit(0, 0));
    return next_ == bytes_.size() ? Status::Ok() : Bad("leaves values over");
  }

 private:
  Status Visit(size_t depth, int64_t parent) {
    if (depth == levels_.size()) return Store();
    const Level& level = levels_[depth];
    int64_t begin = 0, end = level.size;
    if (level.compressed) {
      if (parent + 1 >= static_cast<int64_t>(level.segments.size())) return Bad("has too few segments");
      begin = level.segments[static_cast<size_t>(parent)];
      end = level.segments[static_cast<size_t>(parent) + 1];
      if (begin < 0 || begin > end || end > static_cast<int64_t>(level.indices.size()))
        return Bad("has a segment that leads outside its indices");
    }
    int64_t& place = place_[static_cast<size_t>(level.dim)];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t shift = (level.compressed ? level.indices[static_cast<size_t>(i)] : i) * level.step;
      if (shift < 0 || place + shift >= dense_.shape()[level.dim]) return Bad("has an index outside the tensor");
      place += shift;
      const Status status = Visit(depth + 1, level.compressed ? i : parent * level.size + i);
      place -= shift;
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  Status Store() {
    const size_t size = DTypeSize(dense_.dtype());
    if (bytes_.size() - next_ < size) return Bad("has more places than the buffer has values");
    int64_t offset = 0;
    for (size_t i = 0; i < place_.size(); ++i) offset = offset * dense_.shape()[static_cast<int>(i)] + place_[i];
    std::memcpy(static_cast<char*>(dense_.raw()) + static_cast<size_t>(offset) * size, bytes_.data() + next_, size);
    next_ += size;
    return Status::Ok();
  }

  const std::vector<Level>& levels_;
  std::string_view bytes_;
  Tensor& dense_;
  std::vector<int64_t> place_;
  size_t next_ = 0;
};

}  // namespace

Result<Tensor> Densified(const schema::SparsityParameters& sparsity, std::string_view bytes, DType stored,
                         const Shape& shape) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Level> levels, LevelsOf(sparsity, shape));
  constexpr int64_t kSparsest = 1000;  // zeros for each value that is there: memory stays in proportion to the file
  if (shape.NumElements() > kSparsest * (static_cast<int64_t>(bytes.size()) + 1)) return Bad("leaves too few values");
  PLUMB_ASSIGN_OR_RETURN(Tensor dense, Tensor::Zeros(stored, shape));
  PLUMB_RETURN_IF_ERROR(Walk(levels, bytes, &dense).Run());
  return dense;
}

}  // namespace plumb::tflite
