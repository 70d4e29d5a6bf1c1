// A program of somebody else's, built against an installed Plumb: makes a tensor and an error, prints both.
#include <plumb/status.h>
#include <plumb/tensor.h>

#include <cstdio>

int main() {
  plumb::Result<plumb::Tensor> tensor = plumb::Tensor::Zeros(plumb::DType::kF32, {1, 3, 8, 8});
  if (!tensor.ok() || tensor->NumElements() != 192) return 1;
  plumb::Result<plumb::Tensor> wrong = plumb::Tensor::Zeros(plumb::DType::kF32, {1, -3});
  if (wrong.ok()) return 1;
  std::printf("consumer: %s; %s\n", tensor->shape().ToString().c_str(), wrong.status().ToString().c_str());
  return 0;
}
