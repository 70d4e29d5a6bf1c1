// SPDX-License-Identifier: Apache-2.0
#include "tensor/npz.h"

#include <fmt/core.h>

#include <set>

#include "base/file.h"
#include "base/text.h"
#include "tensor/npy.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

std::string NpzName(const std::string& member) {
  return member.size() > kSuffix.size() && EndsWith(member, kSuffix) ? member.substr(0, member.size() - kSuffix.size())
                                                                     : member;
}

Result<std::vector<NamedTensor>> ParseNpz(std::string_view bytes, const std::string& path, uint64_t max_bytes,
                                          std::optional<DType> expected) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ListZip(bytes, path, max_bytes));
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  std::string buffer;
  for (const ZipMember& member : members) {
    NamedTensor named;
    named.name = NpzName(member.name);
    if (!names.insert(named.name).second) {
      return Status::CorruptModel(fmt::format("npz file '{}' holds two arrays '{}'", path, named.name));
    }
    PLUMB_ASSIGN_OR_RETURN(const std::string_view npy, UnpackZipMember(member, path, &buffer));
    PLUMB_ASSIGN_OR_RETURN(named.tensor, ParseNpy(npy, fmt::format("{}#{}", path, member.name), expected));
    tensors.push_back(std::move(named));
  }
  return tensors;
}

Status WriteNpz(const std::string& path, const std::vector<NamedTensor>& tensors) {
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    if (named.name.empty() || named.name.size() > 0xFF00 || !names.insert(named.name).second) {
      return Status::InvalidArgument(fmt::format(
          "cannot write '{}': each array of an .npz needs a name of its own of at most 65280 bytes, found '{}'", path,
          named.name.substr(0, 80)));
    }
  }
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  ZipWriter writer(&file);
  for (const NamedTensor& named : tensors) {
    const Tensor& tensor = named.tensor;
    PLUMB_RETURN_IF_ERROR(writer.Add(named.name + std::string(kSuffix), NpyHeader(tensor.dtype(), tensor.shape()),
                                     tensor.raw(), tensor.bytes()));
  }
  PLUMB_RETURN_IF_ERROR(writer.Finish());
  return file.Commit();
}

}  // namespace plumb
