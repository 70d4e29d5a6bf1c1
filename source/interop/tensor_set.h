// SPDX-License-Identifier: Apache-2.0
// TensorSet: named tensors that any runtime wrote, in whatever it wrote them: goldens and subjects come in through
// here.
//
//   folder with manifest.json       a dump of ours, of tools/python, or by hand (doc/dump_format.md)
//   folder of TNN's file names      00001-conv-out-0-x-dims-1-3-224-224.txt, or .npy or .raw
//   folder of .npy .txt .npz .json  a tensor's name is the file's without its ending
//             .raw .bin .dat        named conv1-dims-1-64-112-112.raw, or described by <file>.json beside it, or of
//                                   the size of the blob of their name
//   .safetensors                    Hugging Face's
//   .npz .npy .txt                  as include/plumb/tensor_file.h reads them
//   .json                           Polygraphy's --save-outputs and --save-inputs (base64 .npy inside)
//   .dat .bmrt .bin .raw            values only: shapes from <file>.json beside it (SAVE_IO_TENSORS) or from `specs`
//   (Sophon)
// Pickles (.pkl .pickle .pt .pth, object arrays) are refused: reading one may run code of its writer.
//
// Memory: the list only; a tensor is read when it is asked for. Threading: concurrent loads are safe.
#ifndef PLUMB_INTEROP_TENSOR_SET_H_
#define PLUMB_INTEROP_TENSOR_SET_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "interop/stored_tensor.h"
#include "plumb/check.h"
#include "plumb/observer.h"
#include "plumb/tensor_file.h"

namespace plumb {

struct TensorSetOptions {
  std::vector<TensorSpec> specs;  // what a file of values only holds, in its order
};

class TensorSet {
 public:
  // NotFound, IoError, CorruptModel, InvalidArgument (a pickle, a raw file without shapes, no tensor at all).
  static Result<TensorSet> Open(const std::string& path, const TensorSetOptions& options = {});

  // Tensors in memory. InvalidArgument: none; CorruptModel: two of one name.
  static Result<TensorSet> Of(const std::vector<NamedTensor>& tensors);

  const std::string& path() const { return path_; }
  // "dump folder of onnxruntime 1.31.1, 76 tensors": what it is, for reports.
  const std::string& description() const { return description_; }
  // The model that a dump says it is of; else empty.
  const std::string& model() const { return model_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  // What a dump has as constants: parts of the model, and network inputs that were made constants.
  const std::vector<StoredTensor>& constants() const { return constants_; }
  // What a dump says of a run that nobody watched; without outputs when it says nothing.
  const Probe& probe() const { return probe_; }
  // Whether a dump says that the runtime ran with precision NORMAL or LOW: it may keep weights and blobs in 16 bits.
  bool may_be_half() const { return may_be_half_; }
  // Whether a dump says that DUMP_BLOB_ORDER put the channels of its blobs first.
  bool channels_first() const { return channels_first_; }

 private:
  // False: no format of another tool.
  Result<bool> OpenForeign();
  Status OpenFolder();
  Status OpenDump();
  Status OpenPlainFolder(bool beside_dump);
  Status OpenFile(const std::string& path, const TensorSetOptions& options);
  Status OpenRaw(const std::string& path, const TensorSetOptions& options);
  Status OpenPlainRaw(const std::string& path, const std::string& name);
  Status OpenSafetensors(const std::string& path);
  Status OpenPolygraphy(const std::string& path);
  Status OpenNpz(const std::string& path);
  Status OpenWhole(const std::string& path, const std::string& name);
  void OpenNamedShape(const std::string& path, const std::string& name, const Shape& shape);
  Status CheckNames() const;

  std::string path_, description_, model_;
  std::vector<std::string> left_out_;  // raw files of a folder whose shape nobody says
  std::vector<StoredTensor> tensors_, constants_;
  Probe probe_;
  bool may_be_half_ = false, channels_first_ = false;
};

// The tensors of a JSON text that Polygraphy wrote; several runs or iterations of one tensor: the first. `path` stands
// in errors.
Result<std::vector<NamedTensor>> ParsePolygraphy(std::string_view text, const std::string& path);

// The description beside input_ref_data.dat (doc/dump_format.md). CorruptModel names the file and the field.
Result<std::vector<TensorSpec>> ParseIoDescription(std::string_view text, const std::string& path);

}  // namespace plumb

#endif  // PLUMB_INTEROP_TENSOR_SET_H_
