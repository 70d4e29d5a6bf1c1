// SPDX-License-Identifier: Apache-2.0
// The weights of a convolution by Winograd's algorithm, packed in panels of two output blocks. Of F(2x2,3x3) in a layer
// of many weights 9 of 16 factors are kept, which the others are made of (simd/winograd_made.h): as many as the model
// has.
#ifndef PLUMB_DEVICE_CPU_WINOGRAD_WEIGHTS_H_
#define PLUMB_DEVICE_CPU_WINOGRAD_WEIGHTS_H_

#include <cstdint>
#include <memory>

#include "device/cpu/product.h"
#include "simd/panel.h"
#include "simd/winograd.h"

namespace plumb::cpu {

class WinogradWeights {
 public:
  // `shape` is that of stride 1.
  WinogradWeights(const simd::WinogradShape& shape, int64_t in_channels, int64_t out_channels);

  int64_t panels() const { return panels_; }
  bool makes_some() const { return makes_some_; }
  // f32 values that Multiply needs at `room`, of each thread.
  int64_t room_floats() const { return makes_some_ ? 4 * step_ : 0; }

  // [out][in] per the strides, each of kernel_h * kernel_w taps.
  Status Pack(const float* weights, const WeightStrides& strides);

  // The position that comes as the i-th. Multiply of a panel is called for all of them, in this order.
  int64_t Position(int64_t i) const;
  // Products of a panel with tiles at the i-th position; source.weights and next are set here.
  void Multiply(int64_t panel, int64_t i, int64_t tiles, simd::PanelSource source, const simd::PanelResult& result,
                float* room) const;

 private:
  const float* Plane(int64_t panel, int64_t plane) const;

  simd::WinogradShape shape_;
  int64_t in_channels_, out_channels_, panels_, planes_;
  bool makes_some_;
  int64_t step_;                   // between planes, [input channel][2 blocks] each
  std::shared_ptr<float> packed_;  // [panel][plane]
};

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_WINOGRAD_WEIGHTS_H_
