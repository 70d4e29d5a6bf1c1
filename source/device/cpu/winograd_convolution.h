// SPDX-License-Identifier: Apache-2.0
// A convolution by Winograd's algorithm (simd/winograd.h), in channel blocks, over a batch, on all threads.
//
// One of stride 2 is computed as one of stride 1: the even and odd rows and columns of its input, of few channels in
// plain order, are written out as channels of their own, and so are those of the kernel (Numerics::stride).
//
// Tiles of an image are taken in groups whose transformed inputs stay in the second cache; for each panel of two output
// blocks their products become sums per position and these at once outputs. Where an image has tiles for every thread,
// threads take ranges of tiles, so that a core reads what it wrote; else all transform the inputs of the whole image,
// and then take panels.
#ifndef PLUMB_DEVICE_CPU_WINOGRAD_CONVOLUTION_H_
#define PLUMB_DEVICE_CPU_WINOGRAD_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/product.h"
#include "device/cpu/winograd_weights.h"
#include "plumb/observer.h"
#include "simd/winograd.h"

namespace plumb::cpu {

class WinogradConvolution {
 public:
  using Element = float;
  static constexpr bool kFastAlgorithm = true;
  // NotSupported, with the reason, where direct sums are faster or the algorithm does not apply.
  static Status Check(const ConvParams& params);
  // Whether Check is OK and a quarter of the direct sums' multiplications is left: F(4x4,3x3).
  static bool LeavesAQuarter(const ConvParams& params);
  // Packs the weights ([out][in] per the strides); Run takes at most `threads`. `bias` may be null. REQUIRES: Check is
  // OK.
  static Result<WinogradConvolution> Create(int64_t batch, const ConvParams& params, const float* weights,
                                            const WeightStrides& strides, const float* bias, int threads);
  // f32 values that Run needs at `workspace` when it was created for so many threads.
  static int64_t Workspace(const ConvParams& params, int threads);

  // Image strides in elements; `addend` lies as dst and may be dst, or is null.
  void Run(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image, float* workspace);

  std::string implementation() const { return plan_.by_tiles ? "by tiles" : "by panels"; }
  Numerics numerics() const;

 private:
  // How the tiles of an image are shared out.
  struct Plan {
    simd::WinogradShape shape;
    int64_t in_blocks = 0, out_blocks = 0, panels = 0;
    int threads = 1;
    int64_t groups = 1, group_tiles = 0;      // group_tiles: of the largest
    bool by_tiles = true;                     // threads take groups; else panels of the one group
    int64_t map_floats = 0;                   // of the rows that a group reads, written out for a stride of 2
    int64_t room_floats = 0;                  // of WinogradWeights::Multiply
    std::vector<simd::WinogradTiles> needed;  // of each position

    Plan(const ConvParams& given, int num_threads);
    int64_t input_step(int64_t tiles) const;  // between positions of transformed inputs
    int64_t sums_step(int64_t tiles) const;   // between positions of sums
    int64_t RowsOf(int64_t tile_rows) const { return tile_rows * shape.tile_h + shape.kernel_h - 1; }
    int64_t input_floats() const { return shape.positions() * input_step(group_tiles); }
    int64_t sums_floats() const { return shape.positions() * sums_step(group_tiles); }
    int64_t panel_floats() const { return sums_floats() + room_floats; }                    // of RunPanel: sums, room
    int64_t thread_floats() const { return input_floats() + panel_floats() + map_floats; }  // by_tiles
  };

  WinogradConvolution(const ConvParams& given, int64_t batch, int threads);
  std::vector<float> SplitKernels(const float* weights, const WeightStrides& strides) const;
  void SplitInput(const float* src, int64_t first, int64_t rows, float* map) const;
  Status Pack(const float* weights, const WeightStrides& strides, const float* bias);
  void TransformInput(const simd::WinogradShape& shape, const float* src, int64_t first, int64_t count,
                      int64_t first_block, int64_t last_block, float* tiles) const;
  void TransformSplitInput(const float* src, int64_t first, int64_t count, float* map, float* tiles) const;
  void RunTiles(const float* src, int64_t src_image, const float* addend, float* dst, int64_t dst_image,
                float* workspace) const;
  void RunPanels(const float* src, const float* addend, float* dst, float* workspace) const;
  void RunPanel(int64_t panel, int64_t first, int64_t count, const float* tiles, const float* addend, float* sums,
                float* dst) const;

  Plan plan_;
  ConvParams given_, params_;  // params_: what is computed, of stride 1
  int64_t batch_;
  simd::ProductEnd end_;
  WinogradWeights weights_;
  std::vector<float> bias_;  // [panel][2 blocks]
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_WINOGRAD_CONVOLUTION_H_
