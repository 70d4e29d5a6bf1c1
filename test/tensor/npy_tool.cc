// SPDX-License-Identifier: Apache-2.0
// For numpy_test.py: reads a tensor file and writes it again, `npy_tool IN OUT`, in OUT's format.
#include <cstdio>

#include "plumb/tensor_file.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto tensors = plumb::ReadTensors(argv[1]);
  const plumb::Status status = tensors.ok() ? plumb::WriteTensors(argv[2], *tensors) : tensors.status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
