// SPDX-License-Identifier: Apache-2.0
// Pools of other than two spatial dims.
#include "format/tnn/translate.h"
#include "op/pooling.h"
#include "op/squeeze.h"

namespace plumb::tnn {
namespace {

struct Pooling1DParam : ParamBase<Pooling1DParam> {
  int pool_type = 0, kernel = 0, stride = 1, pad = 0, kernel_index = -1, second_index = -1, pad_type = 0;
  bool ceil_mode = false;
  void Visit(ParamVisitor& v) override {
    v.Int("pool_type", pool_type);
    v.Int("kernel", kernel);
    v.Int("stride", stride);
    v.Int("pad", pad);
    v.Int("kernel_index", kernel_index);
    v.Int("second_index", second_index);
    v.Int("pad_type", pad_type);
    v.Bool("ceil_mode", ceil_mode);
  }
};

// A Pooling of columns.
Status TranslatePooling1D(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const auto& p = ParamOf<Pooling1DParam>(layers->line());
  const auto column = ParamWith<SqueezeParam>([](SqueezeParam* q) { q->axes = {3}; });
  const std::string high = layers->Name("column"), pooled = layers->Name("pooled");
  layers->Add(OpKind::kUnsqueeze, layers->line().inputs, {high}, column);
  layers->Add(OpKind::kPooling, {high}, {pooled}, ParamWith<PoolingParam>([&](PoolingParam* q) {
                q->pool_type = p.pool_type;
                q->kernel_h = p.kernel, q->kernel_w = p.kernel == 0 ? 0 : 1;
                q->stride_h = p.stride;
                q->pad_h = p.pad;
                q->kernel_index_h = p.kernel_index;
                q->pad_type = p.pad_type;
                q->ceil_mode = p.ceil_mode;
              }));
  layers->Add(OpKind::kSqueeze, {pooled}, layers->line().outputs, column);
  return Status::Ok();
}

}  // namespace

Translation Pooling1DTranslation() { return {MakeParam<Pooling1DParam>, TranslatePooling1D}; }

}  // namespace plumb::tnn
