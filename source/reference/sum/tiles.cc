// SPDX-License-Identifier: Apache-2.0
// A thread takes tiles in chunks; for each block of terms it fills the bands of the chunk's planes, gathers the tiles,
// and runs every six output channels over all of them, so that weights are widened once per chunk. Maps with few tiles
// are split between threads by output channels instead: then each weight is read by one thread only.
#include "reference/sum/tiles.h"

#include <algorithm>

#include "base/threads.h"
#include "reference/sum/band.h"

namespace plumb::reference {
namespace {

// Terms at a time. A chunk of tiles stays in L2: 96 KiB of gathered doubles per tile; half of it where one vector is
// summed at a time, so that the weights of kRows output channels stay in L1 beside it.
constexpr int64_t kTermBlock = 384, kNarrowTermBlock = 192;
constexpr int kMaxChunk = 8;       // tiles
constexpr int64_t kGathered = 64;  // terms at a time where they are grouped next: 16 KiB of L1

struct TileJob {
  const SumWork* work = nullptr;
  ConstReals source;
  int64_t z = 0;
  int64_t first = 0;  // pixel of the plane
  int64_t count = 0;
  int plane = 0;  // of the chunk's distinct planes
  int num_segments = 0;
  int num_targets = 0;
  bool squares = false;
  TileSegment segments[kTile];
  SumTarget targets[kTile];
};

struct PlaneSpan {
  int64_t image = -1, z = 0, first_row = 0, last_row = 0;
};

class TileSweep {
 public:
  TileSweep(const SumKernels& kernels, const SumPass& pass, const Phase& phase, const std::vector<int64_t>& images)
      : kernels_(kernels), pass_(pass), phase_(phase), images_(images) {
    const SumGeometry& g = *pass.geometry;
    in_ = g.in_channels / g.groups;
    out_ = g.out_channels / g.groups;
    taps_ = phase.taps();
    terms_ = in_ * taps_;
    weights_ = MakeWeightLayout(g);
    pointwise_ = phase.pointwise();
    term_block_ = kernels.tile_vectors * 8 < kTile ? kNarrowTermBlock : kTermBlock;
    slab_ = (pass.sink == SumSink::kValues || pass.sink == SumSink::kVariance ? 2 : 3) * kTile;
    // Term t of an output channel is element t of its weights.
    contiguous_ = !g.transposed && pass.order.lanes == 1 && (taps_ == 1 || !pass.order.kernel_first);
    for (const AxisTap& z : phase.axis[0].taps) {
      for (const AxisTap& y : phase.axis[1].taps) {
        for (const AxisTap& x : phase.axis[2].taps) {
          kernel_index_.push_back((z.kernel * g.axis[1].kernel + y.kernel) * g.axis[2].kernel + x.kernel);
        }
      }
    }
  }

  int64_t tiles_per_plane() const { return (phase_.plane_pixels() + kTile - 1) / kTile; }
  int64_t num_tiles() const { return static_cast<int64_t>(images_.size()) * phase_.axis[0].out * tiles_per_plane(); }
  int64_t out_per_group() const { return out_; }

  // Output channels [out_begin, out_end) of the group for tiles [begin, end).
  void Run(int64_t group, int64_t out_begin, int64_t out_end, int64_t begin, int64_t end) {
    group_ = group;
    out_begin_ = out_begin;
    out_end_ = out_end;
    const bool one_block = terms_ <= term_block_;
    const int64_t fit = one_block ? kMaxChunk : (int64_t{3} << 19) / (slab_ * 8 * (out_end - out_begin));
    const int64_t chunk = std::clamp<int64_t>(fit, 2, kMaxChunk);
    for (int64_t t = begin; t < end; t += chunk) Chunk(t, std::min(end, t + chunk));
  }

 private:
  void Chunk(int64_t begin, int64_t end);
  void MakeJobs(int64_t begin, int64_t end);
  void MakeSegments(TileJob* job);
  void MakeOffsets(int64_t k0, int64_t k1);
  void GatherPointwise(const TileJob& job, int64_t first, int64_t count, double* tile) const;
  void GatherBlock(int64_t k0, int64_t k1);
  void SumBlock(int64_t k0, int64_t k1);
  void StartRows(const TileJob& job, int64_t out, int rows, double* slab) const;
  double WidenWeights(int64_t out, int64_t k0, int64_t k1, double* dst) const;
  void SumRows(const TileJob& job, const double* x, int rows, int64_t k0, int64_t k1, double* slab);
  void DriftOfRow(int vectors, int rows, int r, TileArgs args) const;
  void StoreRows(const TileJob& job, const double* abs_x, int64_t out, int rows, const double* slab);

  const SumKernels& kernels_;
  const SumPass& pass_;
  const Phase& phase_;
  const std::vector<int64_t>& images_;
  int64_t in_, out_, taps_, terms_, term_block_;
  int64_t slab_;  // doubles per output channel and tile: sum, squares (or drift), weighted (or fp32 sums)
  WeightLayout weights_;
  bool pointwise_, contiguous_;
  std::vector<int64_t> kernel_index_;

  int64_t group_ = 0, out_begin_ = 0, out_end_ = 0;
  TileJob jobs_[kMaxChunk];
  int num_jobs_ = 0;
  bool any_squares_ = false;
  PlaneSpan planes_[kMaxChunk];
  int num_planes_ = 0;
  BandLayout band_;
  std::vector<int64_t> tap_offsets_;
  int64_t band_first_ = 0, band_count_ = 0;  // channels in the bands
  std::vector<int64_t> x_offset_, w_offset_;
  double* x_ = nullptr;      // [jobs][term_block_][kTile]
  double* abs_x_ = nullptr;  // [jobs][kTile]
  double* abs_w_ = nullptr;  // [out_end - out_begin]
  double* w_ = nullptr;      // [kRows][term_block_]
  double* slabs_ =
      nullptr;  // [jobs][out_end - out_begin][slab_], or one for kRows channels when there is one term block
};

void TileSweep::MakeSegments(TileJob* job) {
  const int64_t width = phase_.axis[2].out;
  const PlaneSpan& plane = planes_[job->plane];
  const AxisPlan& h = phase_.axis[1];
  const AxisPlan& w = phase_.axis[2];
  const SumAxis* axis = pass_.geometry->axis.data();
  const int64_t depth = phase_.axis[0].first + job->z * phase_.axis[0].step;
  for (int64_t p = 0; p < job->count;) {
    const int64_t row = (job->first + p) / width;
    const int64_t column = (job->first + p) % width;
    const int64_t count = std::min(width - column, job->count - p);
    job->segments[job->num_segments++] = {p, count, (row - plane.first_row) * band_.row_size() + column};
    const int64_t out = (depth * axis[1].out + h.first + row * h.step) * axis[2].out + w.first + column * w.step;
    if (p > 0 && w.step == 1 && h.step == 1) {
      job->targets[0].count += count;
    } else {
      job->targets[job->num_targets++] = {p, count, out, w.step};
    }
    p += count;
  }
}

void TileSweep::MakeJobs(int64_t begin, int64_t end) {
  const int64_t per_plane = tiles_per_plane();
  const int64_t width = std::max<int64_t>(1, phase_.axis[2].out);
  num_jobs_ = num_planes_ = 0;
  any_squares_ = false;
  int64_t rows = 0;
  for (int64_t t = begin; t < end; ++t) {
    TileJob& job = jobs_[num_jobs_++];
    job = TileJob();
    const int64_t plane_index = t / per_plane;
    const int64_t image = images_[static_cast<size_t>(plane_index / phase_.axis[0].out)];
    job.work = &(*pass_.work)[static_cast<size_t>(image)];
    job.source = pass_.sources[static_cast<size_t>(image)];
    job.squares = pass_.WantsSquares(*job.work);
    any_squares_ = any_squares_ || job.squares;
    job.z = plane_index % phase_.axis[0].out;
    job.first = t % per_plane * kTile;
    job.count = std::min<int64_t>(kTile, phase_.plane_pixels() - job.first);
    PlaneSpan* span = num_planes_ > 0 ? &planes_[num_planes_ - 1] : nullptr;
    if (span == nullptr || span->image != image || span->z != job.z) {
      span = &planes_[num_planes_++];
      *span = {image, job.z, job.first / width, 0};
    }
    span->last_row = (job.first + job.count - 1) / width;
    rows = std::max(rows, span->last_row - span->first_row + 1);
    job.plane = num_planes_ - 1;
  }
  band_ = BandLayout(phase_, rows);
  tap_offsets_ = band_.TapOffsets(phase_);
  band_count_ = 0;
  for (int j = 0; j < num_jobs_; ++j) MakeSegments(&jobs_[j]);
}

// x_offset_: where each term lies in a band (or, for a pointwise sum, in the input); w_offset_: in its output channel's
// weights.
void TileSweep::MakeOffsets(int64_t k0, int64_t k1) {
  x_offset_.resize(static_cast<size_t>(k1 - k0));
  w_offset_.resize(static_cast<size_t>(k1 - k0));
  const bool kernel_first = pass_.order.kernel_first;
  const int64_t in_volume = pass_.geometry->in_pixels();
  for (int64_t t = k0; t < k1; ++t) {
    const int64_t k = pass_.order.At(t, terms_);
    const int64_t c = kernel_first ? k % in_ : k / taps_;
    const size_t tap = static_cast<size_t>(kernel_first ? k / in_ : k % taps_);
    const size_t i = static_cast<size_t>(t - k0);
    x_offset_[i] = pointwise_ ? c * in_volume : (c - band_first_) * band_.channel_size() + tap_offsets_[tap];
    w_offset_[i] = c * weights_.per_in + kernel_index_[tap];
  }
}

// The tile of a pointwise sum straight from the input.
void TileSweep::GatherPointwise(const TileJob& job, int64_t first, int64_t count, double* tile) const {
  const AxisPlan& depth = phase_.axis[0];
  const int64_t z = job.z * depth.stride + depth.taps[0].offset;
  if (z < 0 || z >= depth.in) {
    for (int64_t k = 0; k < count; ++k) std::fill_n(tile + k * kTile, job.count, 0.0);
    return;
  }
  const int64_t start =
      group_ * in_ * pass_.geometry->in_pixels() + z * phase_.axis[1].in * phase_.axis[2].in + job.first;
  if (job.source.is_double && !pass_.square && job.count % 8 == 0) {  // gather reads whole eights
    const TileSegment all{0, job.count, 0};
    kernels_.gather(job.source.f64() + start, x_offset_.data() + first, count, &all, 1, tile);
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    WidenRun(kernels_, job.source, start + x_offset_[static_cast<size_t>(first + k)], 1, job.count, pass_.square,
             tile + k * kTile);
  }
}

void TileSweep::GatherBlock(int64_t k0, int64_t k1) {
  const int64_t count = k1 - k0;
  const bool in_turn = pass_.order.plain();  // else the terms are of all channels
  const int64_t first = in_turn ? k0 / taps_ : 0;
  const int64_t channels = (in_turn ? (k1 - 1) / taps_ + 1 : in_) - first;
  const int64_t plane_size = channels * band_.channel_size();
  double* band = pointwise_ ? nullptr : Scratch(ScratchSlot::kBand, num_planes_ * plane_size + kSlack);
  const bool refill = !pointwise_ && (band_count_ != channels || band_first_ != first);
  band_first_ = first;
  band_count_ = channels;
  MakeOffsets(k0, k1);
  for (int p = 0; refill && p < num_planes_; ++p) {
    const PlaneSpan& span = planes_[p];
    const BandFiller filler(kernels_, phase_, band_, pass_.sources[static_cast<size_t>(span.image)], pass_.square);
    filler.Fill(group_ * in_ + first, channels, span.z, span.first_row, band + p * plane_size);
  }
  const bool grouped = kernels_.tile_vectors * 8 < kTile;
  const int64_t at_once = grouped ? kGathered : count;
  double rows[kGathered * kTile + kSlack] = {};  // lanes that nobody fills must not be subnormal
  for (int j = 0; j < num_jobs_; ++j) {
    const TileJob& job = jobs_[j];
    double* tile = x_ + j * term_block_ * kTile;
    for (int64_t k = 0; k < count; k += at_once) {
      const int64_t some = std::min(at_once, count - k);
      double* to = grouped ? rows : tile;
      if (!pointwise_) {
        kernels_.gather(band + job.plane * plane_size, x_offset_.data() + k, some, job.segments, job.num_segments, to);
      } else {
        GatherPointwise(job, k, some, to);
      }
      if (job.squares) kernels_.add_abs(to, nullptr, some, abs_x_ + j * kTile);
      if (grouped) kernels_.group(rows, some, static_cast<int>((job.count + 7) / 8), term_block_ * 8, tile + k * 8);
    }
  }
}

// Terms [k0, k1) of an output channel's weights; returns the sum of their magnitudes.
double TileSweep::WidenWeights(int64_t out, int64_t k0, int64_t k1, double* dst) const {
  const int64_t row = group_ * weights_.per_group + out * weights_.per_out;
  if (contiguous_ && !pass_.weight.is_double && !pass_.square) {
    if (any_squares_) return kernels_.widen_abs(pass_.weight.f32() + row + k0, k1 - k0, dst);
    kernels_.widen(pass_.weight.f32() + row + k0, k1 - k0, dst);
    return 0;
  }
  double magnitude = 0;
  if (contiguous_ && !pass_.square) {
    const double* weight = pass_.weight.f64() + row + k0;
    std::copy_n(weight, k1 - k0, dst);
    for (int64_t i = 0; i < k1 - k0 && any_squares_; ++i) magnitude += std::abs(weight[i]);
    return magnitude;
  }
  for (size_t i = 0; i < w_offset_.size(); ++i) {
    dst[i] = pass_.weight.At(row + w_offset_[i]);
    if (pass_.square) dst[i] *= dst[i];
    magnitude += std::abs(dst[i]);
  }
  return magnitude;
}

// Terms [k0, k1) of `rows` output channels for one tile; slab is [sum, squares ...][rows][kTile].
void TileSweep::SumRows(const TileJob& job, const double* x, int rows, int64_t k0, int64_t k1, double* slab) {
  TileArgs args;
  args.x = x;
  args.w = w_;
  args.w_stride = term_block_;
  args.begin = k0;
  args.end = k1;
  args.terms = terms_;
  args.block = SampleBlock(terms_);
  const int vectors = static_cast<int>((job.count + 7) / 8);
  const bool begun = pass_.operands->bias != nullptr || job.work->image.later != nullptr;
  const bool weighted = pass_.sink == SumSink::kSquares && begun;
  for (int v = 0; v < vectors; v += kernels_.tile_vectors, args.x += term_block_ * 8 * kernels_.tile_vectors) {
    const int some = std::min(vectors - v, kernels_.tile_vectors);
    args.sum = slab + v * 8;
    if (pass_.sink == SumSink::kDrift) {
      for (int r = 0; r < rows; ++r) DriftOfRow(some, rows, r, args);
      continue;
    }
    args.squares = job.squares ? args.sum + rows * kTile : nullptr;
    args.weighted = weighted ? args.squares + rows * kTile : nullptr;
    kernels_.accumulate_tile(rows, some, args);
  }
}

// Row r of SumRows: the slab holds sums, drifts and, as floats, serial sums.
void TileSweep::DriftOfRow(int vectors, int rows, int r, TileArgs args) const {
  double* sums = args.sum;
  args.w += r * args.w_stride;
  args.sum = sums + r * kTile;
  args.drift = sums + (rows + r) * kTile;
  args.serial = reinterpret_cast<float*>(sums + (2 * rows + r) * kTile);
  kernels_.drift_tile(vectors, args);
}

void TileSweep::StoreRows(const TileJob& job, const double* abs_x, int64_t out, int rows, const double* slab) {
  for (int r = 0; r < rows; ++r) {
    SumRow row;
    row.out_channel = group_ * out_ + out + r;
    row.count = job.count;
    row.terms = terms_;
    row.sum = slab + r * kTile;
    row.squares = row.drift = slab + (rows + r) * kTile;
    row.weighted = slab + (2 * rows + r) * kTile;
    row.abs_x = abs_x;
    row.abs_w = abs_w_[out + r - out_begin_];
    StoreRow(kernels_, pass_, *job.work, row, job.targets, job.num_targets);
  }
}

void TileSweep::StartRows(const TileJob& job, int64_t out, int rows, double* slab) const {
  for (int r = 0; r < rows; ++r) {
    std::fill_n(slab + r * kTile, kTile, pass_.Start(group_ * out_ + out + r));
  }
  const bool sums_only = pass_.sink == SumSink::kVariance || (pass_.sink == SumSink::kValues && !job.squares);
  if (!sums_only) std::fill(slab + rows * kTile, slab + rows * slab_, 0.0);
  if (!pass_.begun) return;
  for (int r = 0; r < rows; ++r) {  // serial sums begin as the others do
    double later[kTile] = {}, *sum = slab + r * kTile;
    const double* from = job.work->image.later;
    if (from != nullptr)
      Collect(from + (group_ * out_ + out + r) * pass_.geometry->out_pixels(), job.targets, job.num_targets, later);
    auto* serial = reinterpret_cast<float*>(slab + (2 * rows + r) * kTile);
    const int wide = 8 * kernels_.tile_vectors;  // as DriftOfRow finds them
    for (int p = 0; p < kTile; ++p) {
      sum[p] += later[p];
      serial[p / wide * 2 * wide + p % wide] = static_cast<float>(sum[p]);
    }
  }
}

void TileSweep::SumBlock(int64_t k0, int64_t k1) {
  const bool first = k0 == 0;
  const bool last = k1 == terms_;
  for (int64_t out = out_begin_; out < out_end_;) {
    const int64_t left = out_end_ - out;
    const int rows = left >= 6 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    for (int r = 0; r < rows; ++r) {
      const double magnitude = WidenWeights(out + r, k0, k1, w_ + r * term_block_);
      double& total = abs_w_[out + r - out_begin_];
      total = first ? magnitude : total + magnitude;
    }
    for (int j = 0; j < num_jobs_; ++j) {
      double* slab = first && last ? slabs_ : slabs_ + (j * (out_end_ - out_begin_) + out - out_begin_) * slab_;
      if (first) StartRows(jobs_[j], out, rows, slab);
      SumRows(jobs_[j], x_ + j * term_block_ * kTile, rows, k0, k1, slab);
      if (last) StoreRows(jobs_[j], abs_x_ + j * kTile, out, rows, slab);
    }
    out += rows;
  }
}

void TileSweep::Chunk(int64_t begin, int64_t end) {
  MakeJobs(begin, end);
  const int64_t outs = out_end_ - out_begin_;
  x_ = Scratch(ScratchSlot::kTile, kMaxChunk * term_block_ * kTile + kSlack);
  w_ = Scratch(ScratchSlot::kWeight, kRows * term_block_);
  slabs_ = Scratch(ScratchSlot::kSum, terms_ <= term_block_ ? kRows * slab_ : num_jobs_ * outs * slab_);
  abs_x_ = Scratch(ScratchSlot::kMagnitude, kMaxChunk * kTile + outs);
  abs_w_ = abs_x_ + kMaxChunk * kTile;
  std::fill(abs_x_, abs_w_, 0.0);
  for (int64_t k0 = 0; k0 < terms_ || k0 == 0; k0 += term_block_) {
    const int64_t k1 = std::min(terms_, k0 + term_block_);
    if (k1 > k0) GatherBlock(k0, k1);
    SumBlock(k0, k1);
  }
}

// Whether threads part at tiles, or at output channels, and then each gathers all tiles: which of them leaves less to
// the thread that has most, counted in output channels of a tile.
bool PartAtTiles(int64_t groups, int64_t tiles, int64_t outs) {
  constexpr int64_t kGathering = 8;  // output channels that take as long as gathering the tile
  const int64_t threads = NumThreads(), blocks = (outs + kRows - 1) / kRows;
  const auto most = [threads](int64_t pieces) { return (pieces + threads - 1) / threads; };
  const int64_t at_tiles = most(groups * tiles) * (outs + kGathering);
  return at_tiles <= tiles * (most(groups * blocks) * kRows + most(groups) * kGathering);
}

}  // namespace

void ForEachPart(int64_t groups, int64_t tiles, int64_t outs,
                 FunctionRef<void(int64_t, int64_t, int64_t, int64_t, int64_t)> run) {
  const bool at_tiles = PartAtTiles(groups, tiles, outs);
  const int64_t pieces = at_tiles ? tiles : (outs + kRows - 1) / kRows;  // of a group
  ParallelFor(groups * pieces, 1, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t group = begin / pieces, stop = std::min(end, (group + 1) * pieces);
      const int64_t first = begin - group * pieces, last = stop - group * pieces;
      if (at_tiles) {
        run(group, 0, outs, first, last);
      } else {
        run(group, first * kRows, std::min(outs, last * kRows), 0, tiles);
      }
      begin = stop;
    }
  });
}

void SumByTiles(const SumKernels& kernels, const SumPass& pass) {
  std::vector<int64_t> images;
  for (size_t i = 0; i < pass.sources.size(); ++i) {
    if (pass.sources[i].data != nullptr) images.push_back(static_cast<int64_t>(i));
  }
  const int64_t groups = pass.geometry->groups;
  for (const Phase& phase : MakePhases(*pass.geometry)) {
    TileSweep plan(kernels, pass, phase, images);
    const int64_t tiles = plan.num_tiles();
    const int64_t outs = plan.out_per_group();
    ForEachPart(groups, tiles, outs,
                [&](int64_t group, int64_t out_begin, int64_t out_end, int64_t begin, int64_t end) {
                  TileSweep(kernels, pass, phase, images).Run(group, out_begin, out_end, begin, end);
                });
  }
}

}  // namespace plumb::reference
