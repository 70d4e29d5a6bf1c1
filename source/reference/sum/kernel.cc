// SPDX-License-Identifier: Apache-2.0
// One set of the loops per instruction set, and the choice between them.
#include "reference/sum/kernel.h"

#include "base/cpu.h"
#include "reference/sum/float_loops.h"
#include "reference/sum/loops.h"

namespace plumb::reference {
namespace {

// PLUMB_SUM_SET(name, attribute, doubles per vector, widest tile in units of 8 pixels)
#define PLUMB_SUM_SET(set, attribute, width, vectors)                                                                  \
  namespace set {                                                                                                      \
  attribute void AccumulateTile(int rows, int v, const TileArgs& a) {                                                  \
    loops::AccumulateTile<width, vectors>(rows, v, a);                                                                 \
  }                                                                                                                    \
  attribute void AccumulateRow(int v, const TileArgs& a) { loops::AccumulateRow<width>(v, a); }                        \
  attribute void DriftTile(int v, const TileArgs& a) { loops::DriftTile<8 * vectors>(v, a); }                          \
  attribute void Dot(int rows, const float* w, int64_t stride, const double* x, int64_t n, double* out,                \
                     double* abs_w) {                                                                                  \
    loops::Dot<width>(rows, w, stride, x, n, out, abs_w);                                                              \
  }                                                                                                                    \
  attribute void Gather(const double* source, const int64_t* offsets, int64_t n, const TileSegment* segments, int num, \
                        double* tile) {                                                                                \
    loops::Gather<width>(source, offsets, n, segments, num, tile);                                                     \
  }                                                                                                                    \
  attribute void Group(const double* rows, int64_t n, int groups, int64_t step, double* tile) {                        \
    loops::Group<width>(rows, n, groups, step, tile);                                                                  \
  }                                                                                                                    \
  attribute void AddAbs(const double* x, const int64_t* offsets, int64_t n, double* out) {                             \
    loops::AddAbs<width>(x, offsets, n, out);                                                                          \
  }                                                                                                                    \
  attribute void Widen(const float* src, int64_t n, double* dst) { loops::Widen(src, n, dst); }                        \
  attribute double WidenAbs(const float* src, int64_t n, double* dst) { return loops::WidenAbs<width>(src, n, dst); }  \
  attribute void Finish(const FinishArgs& a) { loops::Finish(a); }                                                     \
  attribute void Transform(const TransformArgs& a) { loops::Transform<width == 2 ? 4 : 8>(a); }                        \
  attribute void Subtract(const double* near, const double* x, int64_t n, float* dst, DifferenceRange* range) {        \
    loops::Subtract<width>(near, x, n, dst, range);                                                                    \
  }                                                                                                                    \
  attribute void AccumulateFloats(int rows, int halves, const FloatTileArgs& a) {                                      \
    loops::AccumulateFloats<2 * width>(rows, halves, a);                                                               \
  }                                                                                                                    \
  attribute void DriftFloats(const FloatDriftArgs& a) { loops::DriftFloats<4 * width>(a); }                            \
  constexpr SumKernels kSet = {                                                                                        \
      #set,  vectors,  AccumulateTile, AccumulateRow, DriftTile, Dot,       Gather,           Group,      AddAbs,      \
      Widen, WidenAbs, Finish,         Transform,     Subtract,  4 * width, AccumulateFloats, DriftFloats};            \
  }

PLUMB_SUM_SET(baseline, , 2, 1)

#if defined(__x86_64__)
PLUMB_SUM_SET(avx2, __attribute__((target("arch=x86-64-v3"))), 4, 1)
PLUMB_SUM_SET(avx512, __attribute__((target("arch=x86-64-v4"))), 8, 4)
#endif

struct SetList {
  const SumKernels* sets[3];
  int count = 0;
  explicit SetList(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::kAvx512) sets[count++] = &avx512::kSet;
    if (isa == Isa::kAvx512 || isa == Isa::kAvx2) sets[count++] = &avx2::kSet;
#endif
    sets[count++] = &baseline::kSet;
  }
};

const SetList& Sets() {
  static const SetList list(CpuIsa());
  return list;
}

}  // namespace

const SumKernels& BestSumKernels() { return *SetList(EffectiveIsa()).sets[0]; }
int NumSumKernels() { return Sets().count; }
const SumKernels& SumKernelsAt(int index) { return *Sets().sets[index]; }

}  // namespace plumb::reference
