// SPDX-License-Identifier: Apache-2.0
#include "check/judge/own_run.h"

#include <algorithm>
#include <cstring>

#include "check/core/inspect.h"

namespace plumb {

Status OwnRun::SetInputs(const std::map<std::string, Tensor>& inputs) {
  for (const auto& [name, value] : inputs) {
    PLUMB_ASSIGN_OR_RETURN(values_[name], Widened(value));
  }
  return Status::Ok();
}

const Tensor* OwnRun::Find(const std::string& blob) const {
  const auto it = values_.find(blob);
  return it == values_.end() ? nullptr : &it->second;
}

std::vector<Tensor> OwnRun::InputsOf(const LayerGroup& group, const BlobTable& blobs,
                                     const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> own;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const Tensor* value = Find(group.inputs[i].blob);
    if (value != nullptr) {
      own.push_back(*value);
    } else if (!blobs.at(group.inputs[i].blob).value.empty()) {
      own.push_back(inputs[i]);
    } else {
      break;
    }
  }
  return own;
}

Status OwnRun::Run(const LayerGroup& group, const std::vector<Tensor>& inputs, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(ReplayResult own, ReplayValues(group, inputs, blobs));
  Take(group, own.values);
  return Status::Ok();
}

void OwnRun::Take(const LayerGroup& group, const std::vector<Tensor>& values) {
  for (size_t i = 0; i < group.outputs.size(); ++i) values_[group.outputs[i].blob] = values[i];
  size_t live = 0;
  for (const auto& entry : values_) live += entry.second.bytes();
  peak_bytes_ = std::max(peak_bytes_, live);
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].raw(), b[i].raw(), b[i].bytes()) != 0) return false;
  }
  return true;
}

}  // namespace plumb
