// Any bytes as the description of a dump of Core AI or of msprobe, beside one good .npy file: an error or tensors that
// lie in the folder, which are read or refused; never a crash.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "interop/foreign_formats.h"
#include "plumb/file.h"
#include "plumb/tensor_file.h"

namespace plumb {
namespace {

// In memory: two files per input are written.
const std::string& Folder() {
  static const WorkFolder folder = [] {
    auto made = WorkFolder::Make("plumb-fuzz", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "");
    if (!made.ok()) std::abort();
    for (const char* name : {"/x.aimodelintermediates/data", "/dump_tensor_data"}) {
      std::filesystem::create_directories(made->path() + name);
      if (!WriteTensors(made->path() + name + "/a.npy", {{"", Tensor::Create(DType::kF32, {2, 3}).value()}}).ok()) {
        std::abort();
      }
    }
    return std::move(*made);
  }();
  return folder.path();
}

void Read(ForeignRead (*read)(const ForeignPlace&), const std::string& path, const std::string& text) {
  if (!WriteFile(path, text).ok()) std::abort();
  ForeignPlace place;
  place.path = path;
  const ForeignRead found = read(place);
  if (!found.ok() && found.status().message().empty()) std::abort();
  if (!found.ok() || !*found) return;
  for (const StoredTensor& tensor : (*found)->tensors) {
    if (tensor.origin.rfind(Folder(), 0) != 0 || tensor.origin.find("/../") != std::string::npos) std::abort();
    const auto value = tensor.load();
    if (!value.ok() && value.status().message().empty()) std::abort();
  }
}

}  // namespace
}  // namespace plumb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  plumb::Read(plumb::ReadCoreAi, plumb::Folder() + "/x.aimodelintermediates/metadata.json", text);
  plumb::Read(plumb::ReadMsprobe, plumb::Folder() + "/dump.json", text);
  return 0;
}
