// Which blob of one dump is which of another, whoever wrote them: by layer, direction, slot and blob; without the index
// when indices differ (TNN's depend on the device); with '/' and ':' as TNN writes them; at last outputs by blob alone.
#ifndef PLUMB_DUMP_PAIRING_H_
#define PLUMB_DUMP_PAIRING_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "dump/reader.h"

namespace plumb {

struct Pairing {
  std::vector<std::pair<size_t, size_t>> pairs;  // positions in a and b, in the order of a
  std::vector<size_t> only_a;
  std::vector<size_t> only_b;
};

Pairing PairBlobs(const std::vector<DumpEntry>& a, const std::vector<DumpEntry>& b);

}  // namespace plumb

#endif  // PLUMB_DUMP_PAIRING_H_
