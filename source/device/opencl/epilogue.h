// SPDX-License-Identifier: Apache-2.0
// What follows a sum of products, as kernels take it (Epilogue of common.clh).
#ifndef PLUMB_DEVICE_OPENCL_EPILOGUE_H_
#define PLUMB_DEVICE_OPENCL_EPILOGUE_H_

#include "device/shared/epilogue.h"

namespace plumb::opencl {

struct EpilogueArg {
  int kind = 0;
  float alpha = 0, beta = 0;

  EpilogueArg() = default;
  explicit EpilogueArg(const Epilogue& epilogue) : alpha(epilogue.alpha), beta(epilogue.beta) {
    switch (epilogue.kind) {
      case Epilogue::Kind::kNone: kind = 0; break;
      case Epilogue::Kind::kRelu: kind = 1; break;
      case Epilogue::Kind::kLeakyRelu: kind = 2; break;
      case Epilogue::Kind::kClip: kind = 3; break;
      case Epilogue::Kind::kSwish: kind = 4; break;
    }
  }
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_EPILOGUE_H_
