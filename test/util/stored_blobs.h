// SPDX-License-Identifier: Apache-2.0
// A subject whose tensors a test holds in memory.
#ifndef PLUMB_TEST_UTIL_STORED_BLOBS_H_
#define PLUMB_TEST_UTIL_STORED_BLOBS_H_

#include <map>
#include <string>
#include <utility>

#include "plumb/check.h"

namespace plumb {

class Stored : public BlobSource {
 public:
  explicit Stored(std::map<std::string, Tensor> all = {}) : blobs(std::move(all)) {}
  bool Has(const std::string& blob) const override { return blobs.count(blob) != 0; }
  Result<Tensor> Load(const std::string& blob) const override { return blobs.at(blob); }
  std::map<std::string, Tensor> blobs;
};

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_STORED_BLOBS_H_
