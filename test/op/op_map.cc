// SPDX-License-Identifier: Apache-2.0
#include "op/op_map.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace plumb {
namespace {

struct OpRow {
  const char *name, *file;
};
struct KernelOfOp {
  const char *op, *kernel, *file;
};

const OpRow kOpRows[] = {
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) {#name, #file},
#include "op/core/op_list.def"
#undef PLUMB_OP
};
const KernelOfOp kCpu[] = {
#define PLUMB_CPU_KERNEL(op, kernel, file) {#op, #kernel, #file},
#include "device/cpu/kernel_list.def"
#undef PLUMB_CPU_KERNEL
};
const KernelOfOp kArm[] = {
#define PLUMB_ARM_KERNEL(op, kernel, file) {#op, #kernel, "arm/" #file},
#include "device/arm/kernel_list.def"
#undef PLUMB_ARM_KERNEL
};
const KernelOfOp kOpencl[] = {
#define PLUMB_OPENCL_KERNEL(op, kernel, file) {#op, #kernel, #file},
#include "device/opencl/kernel_list.def"
#undef PLUMB_OPENCL_KERNEL
};
const KernelOfOp kVulkan[] = {
#define PLUMB_VULKAN_KERNEL(op, kernel, file) {#op, #kernel, #file},
#include "device/vulkan/kernel_list.def"
#undef PLUMB_VULKAN_KERNEL
};

// The room of programs that OPENCL and VULKAN share, asked behind their own.
const KernelOfOp kGpu[] = {
#define PLUMB_GPU_KERNEL(op, kernel, file) {#op, #kernel, "gpu/" #file},
#include "device/gpu/kernel_list.def"
#undef PLUMB_GPU_KERNEL
};

// "convolution winograd": the files of a device that have a kernel for one of the operators, in the order they are
// asked.
template <size_t... kCounts>
std::string FilesFor(const std::set<std::string>& ops, const KernelOfOp (&... lists)[kCounts]) {
  std::vector<KernelOfOp> kernels;
  (kernels.insert(kernels.end(), std::begin(lists), std::end(lists)), ...);
  std::vector<std::string> files;
  for (const KernelOfOp& row : kernels) {
    if (ops.count(row.op) != 0 && std::find(files.begin(), files.end(), row.file) == files.end())
      files.push_back(row.file);
  }
  std::string text;
  for (const std::string& file : files) text += (text.empty() ? "" : " ") + file;
  return text.empty() ? "-" : text;
}

}  // namespace

std::string OpMap() {
  std::vector<std::string> files;
  std::map<std::string, std::vector<std::string>> ops_of;
  for (const OpRow& row : kOpRows) {
    auto& ops = ops_of[row.file];
    if (ops.empty()) files.push_back(row.file);
    ops.push_back(row.name);
  }
  std::sort(files.begin(), files.end());
  std::string text =
      "# Where an operator stands\n\nPrinted by `op_test --map` from the lists (`source/op/core/op_list.def` and each "
      "device's "
      "`kernel_list.def`). A row's first\ncolumn names `source/op/<file>.cc`, its reference "
      "`source/reference/<file>.cc` and "
      "its cases `test/op/<file>_test.cc`; the others the\nfiles in `source/device/cpu`, `opencl` and `vulkan` "
      "(`gpu/x`, `arm/x`: in `source/device/gpu`, `arm`; the latter on ARM alone) whose "
      "kernels are asked, best first;\n`-`: none of its own (what only moves elements runs in `strided.cc`; "
      "`doc/op_support.md` says what does not run).\n\n| file | operators | CPU | OPENCL | VULKAN "
      "|\n|---|---|---|---|---|\n";
  for (const std::string& file : files) {
    const std::set<std::string> ops(ops_of[file].begin(), ops_of[file].end());
    text += "| " + file + " |";
    for (const std::string& op : ops_of[file]) text += " " + op;
    text += " | " + FilesFor(ops, kArm, kCpu) + " | " + FilesFor(ops, kOpencl, kGpu) + " | " +
            FilesFor(ops, kVulkan, kGpu) + " |\n";
  }
  return text;
}

std::vector<std::string> FilesOfOpMap() {
  std::vector<std::string> files;
  for (const OpRow& row : kOpRows) {
    for (const char* folder : {"source/op/", "source/reference/"})
      files.push_back(folder + std::string(row.file) + ".cc");
  }
  for (const KernelOfOp& row : kCpu) files.push_back("source/device/cpu/" + std::string(row.file) + ".cc");
  for (const KernelOfOp& row : kArm) files.push_back("source/device/" + std::string(row.file) + ".cc");
  for (const KernelOfOp& row : kOpencl) files.push_back("source/device/opencl/" + std::string(row.file) + ".cc");
  for (const KernelOfOp& row : kGpu) files.push_back("source/device/" + std::string(row.file) + ".cc");
  for (const KernelOfOp& row : kVulkan) files.push_back("source/device/vulkan/" + std::string(row.file) + ".cc");
  return files;
}

}  // namespace plumb
