// SPDX-License-Identifier: Apache-2.0
// What other tools write, one file per format (doc/subjects.md, "What other tools write"). Each reader is asked for
// every file and folder that is no dump of ours, tells its format by the content and says nothing where it is another.
//
// Hostile input: opening takes no memory beyond the descriptions, reading a tensor at most eight times its file
// (numbers of one byte); no path leads out of the folder; what is wrong is one sentence with file, blob, expected and
// found.
#ifndef PLUMB_INTEROP_FOREIGN_FORMATS_H_
#define PLUMB_INTEROP_FOREIGN_FORMATS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "interop/stored_tensor.h"

namespace plumb {

struct ForeignPlace {
  std::string path;
  bool is_folder = false;
  std::vector<std::string> names;  // of the folder's files and folders, sorted

  std::string In(const std::string& name) const { return path + "/" + name; }
  bool Has(const std::string& name) const;
  // The names with that ending.
  std::vector<std::string> Ending(std::string_view ending) const;
};

struct ForeignTensors {
  std::string description;
  std::vector<StoredTensor> tensors;
};
using ForeignRead = Result<std::optional<ForeignTensors>>;

Result<ForeignPlace> ListForeignPlace(const std::string& path);

ForeignRead ReadCoreAi(const ForeignPlace& place);        // coreai_set.cc: .aimodelintermediates
ForeignRead ReadTensorProtos(const ForeignPlace& place);  // onnx_tensor_set.cc: ONNX Runtime's debug node files
ForeignRead ReadQnn(const ForeignPlace& place);           // qnn_set.cc: net-run's Result_0
ForeignRead ReadOpenVino(const ForeignPlace& place);      // openvino_set.cc: the CPU plugin's blob dump
ForeignRead ReadMsprobe(const ForeignPlace& place);       // msprobe_set.cc: dump.json
// What plumb-golden makes a dump of (an SQLite database, an ETDump): InvalidArgument with its command, else nullopt.
ForeignRead RefuseConverted(const ForeignPlace& place);

// The file `name` of a description, inside `folder`; CorruptModel when it leads out of it. `where` stands in front.
Result<std::string> PathInside(const std::string& folder, const std::string& name, const std::string& where);

// A list in a JSON text: [1, 3, 224, 224]. CorruptModel for anything else.
Result<std::vector<int64_t>> NumbersOfJson(const FileJson& json, const std::string& where);
Result<Shape> ShapeOfJson(const FileJson& json, const std::string& where);

// The one tensor of an .npy file whose shape a description says, too: Mismatch where they differ.
Result<Tensor> ReadDescribed(const std::string& path, const Shape& shape, const std::string& description);

// "3 of 4 files", for descriptions: nothing where the count is zero.
std::string AndPassedOver(size_t count, const char* what);

}  // namespace plumb

#endif  // PLUMB_INTEROP_FOREIGN_FORMATS_H_
