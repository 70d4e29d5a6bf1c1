// SPDX-License-Identifier: Apache-2.0
// The transformations of Winograd's algorithm (cook_toom.h) on maps in channel blocks. A map is cut into tiles of
// tile_h x tile_w outputs; the inputs of a tile become one value per position and channel, the products of each
// position are sums over the channels (panel.h), and these become the tile's outputs.
//
// The last position of an axis, the point at infinity, counts in a tile's last output alone: tiles that reach beyond
// the map do without it.
#ifndef PLUMB_SIMD_WINOGRAD_H_
#define PLUMB_SIMD_WINOGRAD_H_

#include <cstdint>
#include <vector>

#include "simd/product.h"

namespace plumb::simd {

// Stride 1, no dilation.
struct WinogradShape {
  int tile_h = 4, tile_w = 4, kernel_h = 3, kernel_w = 3;
  int block = 8;  // channels, 8 or 16
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0, pad_top = 0, pad_left = 0;
  bool cut_column_first = false;  // numbers the last column's tiles first where they reach beyond the map

  int positions() const { return (tile_h + kernel_h - 1) * (tile_w + kernel_w - 1); }
  int64_t tiles_h() const { return (out_h + tile_h - 1) / tile_h; }
  int64_t tiles_w() const { return (out_w + tile_w - 1) / tile_w; }
  int64_t tiles() const { return tiles_h() * tiles_w(); }
  // Tiles that are numbered first: the last column's, but for one in a last row that reaches beyond the map.
  int64_t cut_tiles() const { return cut_column_first && out_w % tile_w > 0 ? out_h / tile_h : 0; }
};

// Row and column of a tile. Tiles are numbered row by row; with cut_column_first those that need a position of the last
// column are neighbours, too.
struct WinogradTile {
  int64_t y = 0, x = 0;
};
class TileNumbers {
 public:
  explicit TileNumbers(const WinogradShape& s) : cut_(s.cut_tiles()), across_(s.tiles_w() - (cut_ > 0 ? 1 : 0)) {}
  WinogradTile At(int64_t tile) const {
    if (tile < cut_) return {tile, across_};
    const int64_t rest = tile - cut_;
    // The last row has the last column's tile in its place.
    if (cut_ > 0 && rest >= cut_ * across_) return {cut_, rest - cut_ * across_};
    return {rest / across_, rest % across_};
  }

 private:
  int64_t cut_, across_;
};

// Tiles [first, last) need a position.
struct WinogradTiles {
  int64_t first = 0, last = 0;
};
WinogradTiles TilesThatNeed(const WinogradShape& shape, int64_t position);

// Whether there is code for these tiles and this kernel: F(4x4,3x3), F(2x2,3x3), F(2x2,5x5) and F(4x4,4x4), and along
// one axis, the other having tiles and kernels of 1, F(4,3), F(4,5) and F(4,7). Everything below REQUIRES it.
bool HasWinograd(const WinogradShape& shape);

// The finite interpolation points; of both axes, where both have some.
std::vector<double> WinogradPoints(const WinogradShape& shape);

// `filters` filters of kernel_h x kernel_w taps side by side (taps[t * filters + i] is tap t of the i-th; a multiple of
// 8) as positions() factors each, in float64 and rounded once: position p of the i-th goes to transformed[at[p] + i],
// or nowhere where at[p] is negative.
void WinogradKernels(const WinogradShape& shape, const float* taps, int64_t filters, float* transformed,
                     const int64_t* at);

// Tiles [first, first + count) of one channel block: plane is [in_h][in_w][block]; position p of the i-th of them goes
// to tiles + p * position_step + i * block.
void WinogradInput(const WinogradShape& shape, const float* plane, int64_t first, int64_t count, float* tiles,
                   int64_t position_step);

// The way back: position p of the i-th tile lies at sums + p * position_step + i * block; plane and addend are
// [out_h][out_w][block]. end.bias has `block` values; addend may be null.
void WinogradOutput(const WinogradShape& shape, const float* sums, int64_t position_step, int64_t first, int64_t count,
                    const ProductEnd& end, const float* addend, float* plane);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_WINOGRAD_H_
