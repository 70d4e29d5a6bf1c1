// SPDX-License-Identifier: Apache-2.0
#include "op/support_table.h"

#include <map>
#include <set>
#include <vector>

#include "op/core/op.h"
#include "plumb/plumb.h"
#include "plumb/tool/support.h"
#include "util/op_graph.h"

namespace plumb {
namespace {

struct Cell {
  int accepted = 0, refused = 0;
  std::map<std::string, int> reasons;  // the last kernel's word

  void Add(const LayerSupport& support) {
    if (!support.kernel.empty()) {
      ++accepted;
      return;
    }
    ++refused;
    ++reasons[support.refusals.empty() ? "no kernel" : support.refusals.back()];
  }
  std::string Text() const {
    if (refused == 0) return accepted == 0 ? "-" : "all " + std::to_string(accepted);
    std::string text = std::to_string(accepted) + " of " + std::to_string(accepted + refused);
    if (accepted == 0 && reasons.size() == 1) return text + ": " + reasons.begin()->first;
    for (const auto& [reason, count] : reasons) text += "<br>" + std::to_string(count) + ": " + reason;
    return text;
  }
};

std::set<std::string> DTypesOf(const OpInstance& instance) {
  std::set<std::string> names;
  for (const Tensor& input : instance.inputs) names.insert(DTypeName(input.dtype()));
  return names;
}

// The operators of an imported format, by the file that makes our layers of them.
struct ImportedOp {
  const char* file;
  const char* name;
};
const ImportedOp kTnn[] = {
#define PLUMB_TNN_TRANSLATION(type, file) {"map/" #file, #type},
#include "format/tnn/translation_list.def"
#undef PLUMB_TNN_TRANSLATION
};
const ImportedOp kTflite[] = {
#define PLUMB_TFLITE(number, mapper, file, inputs, outputs) {"map/" #file, #number},
#define PLUMB_TFLITE_CUSTOM(name, file) {"map/" #file, #name},
#include "format/tflite/tflite_list.def"
#undef PLUMB_TFLITE_CUSTOM
#undef PLUMB_TFLITE
};
const ImportedOp kOnnx[] = {
    {"import_nodes", "If"},
    {"import_nodes", "Loop"},
    {"import_nodes", "Scan"},
#define PLUMB_ONNX(op, file, inputs, outputs) {#file, #op},
#define PLUMB_ONNX_ONE(op, ours, inputs, outputs) {"-", #op},
#define PLUMB_ONNX_MICROSOFT(op, file, inputs, outputs) {#file, "com.microsoft." #op},
#include "format/onnx/onnx_list.def"
#undef PLUMB_ONNX
#undef PLUMB_ONNX_ONE
#undef PLUMB_ONNX_MICROSOFT
};

template <size_t count>
std::string ImportedTable(const char* format, const char* folder, const ImportedOp (&ops)[count]) {
  std::map<std::string, std::string> names;
  for (const ImportedOp& op : ops) names[op.file] += std::string(" ") + op.name;
  std::string text = std::string("\n## Names of ") + format + "\n\nEach becomes layers of the operators above, by `" +
                     folder + "/<file>.cc` (`-`: is one of them).\n\n| file | operators |\n|---|---|\n";
  for (const auto& [file, list] : names) text += "| " + file + " |" + list + " |\n";
  return text;
}

}  // namespace

std::string ImportedNames() {
  return ImportedTable("TNN", "source/format/tnn", kTnn) + ImportedTable("ONNX", "source/format/onnx", kOnnx) +
         ImportedTable("TFLite", "source/format/tflite", kTflite);
}

std::string SupportTable() {
  std::vector<std::pair<std::string, std::shared_ptr<Device>>> devices;
  for (const DeviceInfo& info : ListDevices()) {
    if (!info.present) continue;
    auto device = OpenDevice(info.name);
    if (device.ok()) devices.emplace_back(info.name, *device);
  }
  std::map<std::string, std::vector<Cell>> cells;
  std::map<std::string, std::set<std::string>> dtypes;
  for (const OpCase& c : AllOpCases()) {
    const auto instance = Instantiate(c);
    if (!instance.ok()) continue;  // a case that must be refused
    auto& row = cells[c.op];
    row.resize(devices.size());
    for (const std::string& name : DTypesOf(*instance)) dtypes[c.op].insert(name);
    for (size_t d = 0; d < devices.size(); ++d) {
      row[d].Add(FindSupport(instance->graph, instance->blobs, *devices[d].second).front());
    }
  }
  std::string text =
      "# Operators and devices\n\n"
      "Printed by `op_test --support`: for each operator and device of this machine how many of the operator test's "
      "cases a\n"
      "kernel accepts, and why it refuses the others. The dtypes are those of the cases' inputs.\n\n| operator | "
      "dtypes |";
  std::string line = "\n|---|---|";
  for (const auto& device : devices) {
    text += " " + device.first + " |";
    line += "---|";
  }
  text += line + "\n";
  for (const OpDef& op : AllOps()) {
    text += std::string("| ") + op.name + " |";
    for (const std::string& name : dtypes[op.name]) text += " " + name;
    text += " |";
    for (const Cell& cell : cells[op.name]) text += " " + cell.Text() + " |";
    text += "\n";
  }
  return text + ImportedNames();
}

}  // namespace plumb
