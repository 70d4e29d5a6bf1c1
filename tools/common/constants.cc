// SPDX-License-Identifier: Apache-2.0
#include "common/constants.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "plumb/tensor_file.h"

namespace plumb {
namespace {

Result<Tensor> ListOf(const std::vector<int64_t>& whole) {
  PLUMB_ASSIGN_OR_RETURN(Tensor list, Tensor::Create(DType::kI64, Shape{static_cast<int64_t>(whole.size())}));
  std::copy(whole.begin(), whole.end(), list.data<int64_t>());
  return list;
}

Result<Tensor> ListOf(const std::vector<double>& numbers) {
  PLUMB_ASSIGN_OR_RETURN(Tensor list, Tensor::Create(DType::kF64, Shape{static_cast<int64_t>(numbers.size())}));
  std::copy(numbers.begin(), numbers.end(), list.data<double>());
  return list;
}

// Whether the text is numbers separated by commas; `whole` has them as far as all are whole.
bool IsList(const std::string& text, std::vector<int64_t>* whole, std::vector<double>* numbers) {
  for (const std::string& part : SplitList(text)) {
    char* end = nullptr;
    numbers->push_back(std::strtod(part.c_str(), &end));
    if (part.empty() || *end != '\0') return false;
    errno = 0;
    const int64_t value = std::strtoll(part.c_str(), &end, 10);
    if (*end == '\0' && errno == 0) whole->push_back(value);
  }
  return !numbers->empty();
}

Result<Tensor> ReadValue(const std::string& name, const std::string& text) {
  std::vector<int64_t> whole;
  std::vector<double> numbers;
  if (IsList(text, &whole, &numbers)) return whole.size() == numbers.size() ? ListOf(whole) : ListOf(numbers);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<NamedTensor> tensors, ReadTensors(text));
  if (tensors.size() == 1) return tensors[0].tensor;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor.tensor;
  }
  return Status::InvalidArgument(
      fmt::format("file '{}' holds {} tensors, and none is named '{}'", text, tensors.size(), name));
}

}  // namespace

void ConstantOptions::AddTo(CommandLine* c) {
  c->Add("--constant", &texts,
         "NAME=16000, NAME=1,2,3 or NAME=FILE.npy: make this network input of an .onnx a constant, which folds what "
         "depends on it "
         "(branches, trip counts, shapes, indices)");
}

Result<std::map<std::string, Tensor>> ConstantOptions::Read() const {
  std::map<std::string, Tensor> values;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return Status::InvalidArgument(fmt::format("--constant: expected NAME=VALUES or NAME=FILE, found '{}'", text));
    }
    const std::string name = text.substr(0, equals);
    const Result<Tensor> value = ReadValue(name, text.substr(equals + 1));
    if (!value.ok()) return value.status().AddContext("--constant " + text);
    if (!values.emplace(name, *value).second)
      return Status::InvalidArgument(fmt::format("--constant: network input '{}' is given twice", name));
  }
  return values;
}

std::vector<std::string> ConstantOptions::Lines() const {
  std::vector<std::string> lines;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    lines.push_back(fmt::format("{}: the constant {}", text.substr(0, equals), text.substr(equals + 1)));
  }
  return lines;
}

}  // namespace plumb
