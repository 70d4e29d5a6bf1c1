// SPDX-License-Identifier: Apache-2.0
#include "interop/state_dict.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "interop/pickle.h"
#include "tensor/unpacked_limit.h"
#include "tensor/zip.h"

namespace plumb {
namespace {

constexpr uint64_t kMaxStateDict = uint64_t{1} << 40;
constexpr int kMaxNesting = 64;
constexpr size_t kMaxVisited = size_t{1} << 21;
constexpr size_t kMaxNames = size_t{64} << 20;   // bytes of all together: a memo gives one key very often
constexpr size_t kMaxPickle = size_t{32} << 20;  // each byte may be a value
constexpr size_t kLongestStorage = 64;           // of names of members; torch counts them

// By torch's names of storages.
std::optional<DType> StorageDType(const std::string& name) {
  constexpr std::pair<const char*, DType> kStorages[] = {
      {"torch FloatStorage", DType::kF32},     {"torch DoubleStorage", DType::kF64}, {"torch HalfStorage", DType::kF16},
      {"torch BFloat16Storage", DType::kBF16}, {"torch LongStorage", DType::kI64},   {"torch IntStorage", DType::kI32},
      {"torch ShortStorage", DType::kI16},     {"torch CharStorage", DType::kI8},    {"torch ByteStorage", DType::kU8},
      {"torch BoolStorage", DType::kBool}};
  for (const auto& [storage, dtype] : kStorages) {
    if (name == storage) return dtype;
  }
  return std::nullopt;
}

bool Numbers(const Pickle& pickle, const PickleValue& value, std::vector<int64_t>* numbers) {
  for (const size_t item : value.items) {
    if (pickle.at(item).kind != PickleValue::kInt) return false;
    numbers->push_back(pickle.at(item).number);
  }
  return value.kind == PickleValue::kTuple;
}

// A call of _rebuild_tensor_v2(storage, offset, shape, strides, ...); false: of something else.
Result<bool> ReadTensor(const Pickle& pickle, const PickleValue& call, const std::string& where,
                        StateDictEntry* entry) {
  if (call.kind != PickleValue::kCall) return false;
  const PickleValue& arguments = pickle.at(call.items[1]);
  const std::string& function = pickle.at(call.items[0]).text;
  const Status broken = Status::CorruptModel(where + ": expected storage, offset, shape and strides of a tensor");
  if (function == "torch._utils _rebuild_parameter") {
    if (arguments.items.empty()) return broken;
    const PickleValue& inner = pickle.at(arguments.items[0]);
    const bool tensor = inner.kind == PickleValue::kCall && pickle.at(inner.items[0]).text != function;
    return tensor ? ReadTensor(pickle, inner, where, entry) : broken;
  }
  if (function != "torch._utils _rebuild_tensor_v2") return false;
  if (arguments.kind != PickleValue::kTuple || arguments.items.size() < 4) return broken;
  const PickleValue& storage = pickle.at(arguments.items[0]);
  const PickleValue& offset = pickle.at(arguments.items[1]);
  const bool known = storage.kind == PickleValue::kStorage && offset.kind == PickleValue::kInt && offset.number >= 0 &&
                     pickle.at(storage.items[2]).text.size() <= kLongestStorage;
  std::vector<int64_t> dims;
  if (!known || !Numbers(pickle, pickle.at(arguments.items[2]), &dims) ||
      !Numbers(pickle, pickle.at(arguments.items[3]), &entry->strides) || dims.size() != entry->strides.size())
    return broken;
  const std::string& type = pickle.at(storage.items[1]).text;
  const std::optional<DType> dtype = StorageDType(type);
  if (!dtype) return Status::NotSupported(fmt::format("{}: '{}' is not read; save it as float32", where, type));
  entry->dtype = *dtype;
  entry->storage = pickle.at(storage.items[2]).text;
  entry->offset = offset.number;
  entry->shape = Shape(std::move(dims));
  PLUMB_RETURN_IF_ERROR(entry->shape.Validate().AddContext(where));
  return true;
}

// Collects the tensors of nested dicts; a module keeps its own in dicts of these names, which are no part of a name.
class StateDictWalk {
 public:
  StateDictWalk(const Pickle& pickle, const std::string& path) : pickle_(pickle), path_(path) {}

  Status Visit(size_t index, const std::string& name, int depth) {
    const PickleValue& value = pickle_.at(index);
    visited_ += 1 + (value.kind == PickleValue::kDict ? value.items.size() / 2 : 0);
    named_ += name.size();
    if (visited_ > kMaxVisited || depth > kMaxNesting || named_ > kMaxNames)
      return Status::CorruptModel(
          fmt::format("'{}': it nests deeper than {} dicts, or holds more than {} values or {} bytes of names", path_,
                      kMaxNesting, kMaxVisited, kMaxNames));
    StateDictEntry entry;
    entry.name = name;
    PLUMB_ASSIGN_OR_RETURN(const bool tensor,
                           ReadTensor(pickle_, value, fmt::format("'{}', tensor '{}'", path_, name), &entry));
    if (tensor) entries.push_back(std::move(entry));
    if (value.kind != PickleValue::kDict) return Status::Ok();
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const PickleValue& key = pickle_.at(value.items[i]);
      if (key.kind != PickleValue::kText) continue;
      const bool own = key.text == "_parameters" || key.text == "_modules" || key.text == "_buffers";
      PLUMB_RETURN_IF_ERROR(
          Visit(value.items[i + 1], own || name.empty() ? (own ? name : key.text) : name + "." + key.text, depth + 1));
    }
    return Status::Ok();
  }

  std::vector<StateDictEntry> entries;

 private:
  const Pickle& pickle_;
  const std::string& path_;
  size_t visited_ = 0, named_ = 0;
};

// A checkpoint's dict that holds the state dict under one of the usual keys; otherwise `root`.
size_t StateDictIn(const Pickle& pickle, size_t root) {
  const PickleValue& value = pickle.at(root);
  for (const char* key : {"state_dict", "model_state_dict", "model"}) {
    for (size_t i = 0; value.kind == PickleValue::kDict && i + 1 < value.items.size(); i += 2) {
      const bool is_dict = pickle.at(value.items[i + 1]).kind == PickleValue::kDict;
      if (is_dict && pickle.at(value.items[i]).text == key) return value.items[i + 1];
    }
  }
  return root;
}

// How many elements of the storage the tensor reaches over; 0: none. Nothing: more than any storage has.
std::optional<uint64_t> Reach(const StateDictEntry& entry) {
  if (entry.shape.NumElements() == 0) return 0;
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t last = entry.offset;
  for (int d = 0; d < entry.shape.rank(); ++d) {
    const int64_t stride = entry.strides[static_cast<size_t>(d)];
    if (last > kMost || stride < 0 || stride > kMost) return std::nullopt;
    if (entry.shape[d] > 1 && stride > kMost / entry.shape[d]) return std::nullopt;
    last += stride * (entry.shape[d] - 1);
  }
  if (last > kMost) return std::nullopt;
  return static_cast<uint64_t>(last) + 1;
}

// Tensors may share a storage, but not so that a small file fills the memory.
Status CheckTogether(const std::vector<StateDictEntry>& entries, const std::string& path, uint64_t limit) {
  uint64_t left = limit;
  for (const StateDictEntry& entry : entries) {
    const auto count = static_cast<uint64_t>(entry.shape.NumElements());
    if (count > left / DTypeSize(entry.dtype))
      return Status::CorruptModel(fmt::format(
          "'{}', tensor '{}': the tensors together have more than the limit of {} bytes: they share storages, or lie",
          path, entry.name, limit));
    left -= count * DTypeSize(entry.dtype);
  }
  return Status::Ok();
}

// The elements in the order of the shape, whose last axis moves first.
Result<Tensor> Gathered(const StateDictEntry& entry, const uint8_t* storage) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(entry.dtype, entry.shape));
  const size_t size = DTypeSize(entry.dtype);
  std::vector<int64_t> at(entry.strides.size(), 0);
  auto* to = static_cast<uint8_t*>(tensor.raw());
  int64_t from = 0;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    std::copy_n(storage + static_cast<size_t>(from) * size, size, to + static_cast<size_t>(i) * size);
    for (size_t d = at.size(); d-- > 0;) {
      from += entry.strides[d];
      if (++at[d] < entry.shape[static_cast<int>(d)]) break;
      from -= entry.strides[d] * at[d];
      at[d] = 0;
    }
  }
  return tensor;
}

Status CheckStored(const ZipMember& member, const std::string& path) {
  if (!member.deflated) return Status::Ok();
  return Status::NotSupported(fmt::format("'{}': '{}' is compressed, which torch.save does not do", path, member.name));
}

Result<Tensor> LoadStateDictEntry(const FileSource& file, const std::string& path, const StateDictEntry& entry,
                                  const ZipMember& member) {
  PLUMB_RETURN_IF_ERROR(CheckStored(member, path));
  const size_t size = DTypeSize(entry.dtype);
  const std::optional<uint64_t> reach = Reach(entry);
  const uint64_t held = member.size / size;
  if (!reach || *reach > held || static_cast<uint64_t>(entry.shape.NumElements()) > held)
    return Status::CorruptModel(fmt::format("'{}', tensor '{}': {} of {} does not lie within the {} bytes of '{}'",
                                            path, entry.name, entry.shape.ToString(), DTypeName(entry.dtype),
                                            member.size, member.name));
  const auto begin = static_cast<size_t>(*reach == 0 ? 0 : entry.offset);
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes,
                         file.Piece(member.begin + begin * size, (static_cast<size_t>(*reach) - begin) * size));
  return Gathered(entry, bytes.data());
}

Result<FileBytes> MemberBytes(const FileSource& file, const ZipMember& member, const std::string& path) {
  PLUMB_RETURN_IF_ERROR(CheckStored(member, path));
  return file.Piece(member.begin, member.stored_size);
}

}  // namespace

Result<std::vector<StateDictEntry>> ParseStateDict(std::string_view text, const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(text, path));
  StateDictWalk walk(pickle, path);
  PLUMB_RETURN_IF_ERROR(walk.Visit(StateDictIn(pickle, pickle.root()), "", 0));
  return std::move(walk.entries);
}

Result<std::vector<StoredTensor>> ListStateDict(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileSource file, OpenSource(path));
  PLUMB_ASSIGN_OR_RETURN(const FileBytes head, file.Piece(0, std::min<size_t>(file.size(), 2)));
  if (head.text() != "PK")
    return Status::NotSupported(
        fmt::format("'{}' is no zip archive, which torch.save writes since 1.6; load it in PyTorch and save its "
                    "state_dict() again",
                    path));
  const uint64_t limit = UnpackedLimit(file.size(), kMaxStateDict);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ListZip(file, path, limit));
  std::map<std::string, ZipMember> storages;
  std::optional<ZipMember> pickle;
  for (const ZipMember& member : members) {
    const size_t data = member.name.rfind("/data/");
    if (data != std::string::npos) storages[member.name.substr(data + 6)] = member;
    if (EndsWith(member.name, "/data.pkl")) pickle = member;
    if (!EndsWith(member.name, "/byteorder")) continue;
    PLUMB_ASSIGN_OR_RETURN(const FileBytes order, MemberBytes(file, member, path));
    if (order.text() != "little") return Status::NotSupported(fmt::format("'{}' is big-endian", path));
  }
  if (!pickle)
    return Status::CorruptModel(fmt::format("'{}' holds no data.pkl; expected what torch.save writes", path));
  if (pickle->size > kMaxPickle)
    return Status::NotSupported(
        fmt::format("'{}': its data.pkl has {} bytes, at most {} are read; save the model's "
                    "state_dict() alone",
                    path, pickle->size, kMaxPickle));
  PLUMB_ASSIGN_OR_RETURN(const FileBytes text, MemberBytes(file, *pickle, path));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<StateDictEntry> entries, ParseStateDict(text.text(), path));
  PLUMB_RETURN_IF_ERROR(CheckTogether(entries, path, limit));
  if (entries.empty())
    return Status::InvalidArgument(fmt::format("'{}' holds no tensors; save the model's state_dict()", path));
  std::vector<StoredTensor> tensors;
  for (const StateDictEntry& entry : entries) {
    const auto storage = storages.find(entry.storage);
    if (storage == storages.end())
      return Status::CorruptModel(
          fmt::format("'{}', tensor '{}': there is no storage 'data/{}'", path, entry.name, entry.storage));
    tensors.push_back({entry.name, path, true, true, false, [file, path, entry, member = storage->second] {
                         return LoadStateDictEntry(file, path, entry, member);
                       }});
  }
  return tensors;
}

}  // namespace plumb
