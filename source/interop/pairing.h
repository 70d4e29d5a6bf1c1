// SPDX-License-Identifier: Apache-2.0
// Which blob of one dump is which of another, whoever wrote them: by layer, direction, slot and blob; without the index
// when indices differ (TNN's depend on the device); with '/' and ':' as TNN writes them; at last outputs by blob alone.
#ifndef PLUMB_INTEROP_PAIRING_H_
#define PLUMB_INTEROP_PAIRING_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/reader.h"

namespace plumb {

struct Pairing {
  std::vector<std::pair<size_t, size_t>> pairs;  // positions in a and b, in the order of a
  std::vector<size_t> only_a;
  std::vector<size_t> only_b;
};

// What the user says about names, for tensors of files as well as for dumps.
struct NameOptions {
  std::map<std::string, std::string> names;  // --names: name in a -> name in b
  bool by_order = false;  // --pair-by-order: what is left is paired one after the other, and `by_order` says which
};

struct NamePairing : Pairing {
  std::vector<std::pair<size_t, size_t>>
      by_order;  // those of `pairs` that only their place in the order brought together
};

// Tensors by name: as --names says; else the same name; else the same as file names hold it, on both sides: '/' and ':'
// as '_'; what our own file names replace and cut; without the '_' that it begins with; last, all but letters and
// digits as '_'. Only when one on each side has it. InvalidArgument for a name of --names that is on neither side.
Result<NamePairing> PairNames(const std::vector<std::string>& a, const std::vector<std::string>& b,
                              const NameOptions& options);

// What ReadNames (plumb/tensor_file.h) reads; `path` stands in errors.
Result<std::map<std::string, std::string>> ParseNames(std::string_view text, const std::string& path);

// All else as '_', none in front: as other tools' converters and file names have a name.
std::string LettersAndDigits(const std::string& name);

Pairing PairBlobs(const std::vector<DumpEntry>& a, const std::vector<DumpEntry>& b);

}  // namespace plumb

#endif  // PLUMB_INTEROP_PAIRING_H_
