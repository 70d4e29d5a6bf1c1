// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace plumb::gpu {

Launch& Launch::Int(int64_t value) {
  words.push_back(value);
  return *this;
}

Launch& Launch::Ints(const std::vector<int64_t>& values, size_t count) {
  for (size_t i = 0; i < count; ++i) Int(i < values.size() ? values[i] : 0);
  return *this;
}

Launch& Launch::Float(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return Int(bits);
}

Launch& Plan::Add(std::string program, int64_t items, std::vector<Port> ports) {
  launches.push_back({std::move(program), std::move(ports), {items}});
  return launches.back();
}

void Plan::AddParts(Launch launch, int64_t steps, int64_t rounds) {
  constexpr int64_t kTurnAndExit = 2;  // that each loop costs beside its steps
  const int64_t most = std::max<int64_t>(1, facts.max_rounds / std::max<int64_t>(1, rounds) - kTurnAndExit);
  int64_t first = 0;
  do {
    const int64_t last = steps - first > most ? first + most : steps;
    launches.push_back(launch);
    launches.back().Int(first).Int(last);
    first = last;
  } while (first < steps);
}

Status Plan::RequireRounds(int64_t rounds) const {
  if (rounds <= facts.max_rounds) return Status::Ok();
  return Status::NotSupported(fmt::format("would loop {} rounds in one work item, and the driver ends loops after {}",
                                          rounds, facts.max_rounds));
}

Port Plan::Ints(const std::vector<int64_t>& values) {
  constants.emplace_back();
  for (const int64_t value : values) constants.back().push_back(static_cast<int32_t>(value));
  return {Port::kConstant, static_cast<int>(constants.size()) - 1, "i32"};
}

Port Plan::Floats(const std::vector<float>& values) {
  constants.emplace_back(values.size());
  std::memcpy(constants.back().data(), values.data(), values.size() * sizeof(float));
  return {Port::kConstant, static_cast<int>(constants.size()) - 1, "f32"};
}

Port Plan::Scratch(int64_t elements, std::string type) {
  scratches.push_back(elements);
  return {Port::kScratch, static_cast<int>(scratches.size()) - 1, std::move(type)};
}

Port Plan::Flag(const std::string& words) {
  complaints.push_back(fmt::format("layer '{}' ({}): {}", layer().name, layer().type, words));
  return {Port::kFlag, static_cast<int>(complaints.size()) - 1, "i32"};
}

Result<std::string> Plan::Number(DType dtype) const {
  if (dtype == DType::kF32) return std::string("real");
  if (dtype == DType::kI32 || dtype == DType::kI64) return std::string(DTypeName(dtype));
  return Status::NotSupported(std::string("takes f32, i32 and i64, found ") + DTypeName(dtype));
}

Result<std::string> Plan::NumberOrF64(DType dtype) const {
  if (dtype == DType::kF64) return std::string("f64");
  return Number(dtype);
}

Status Plan::RequireF32(int i) const {
  if (in(i).dtype == DType::kF32) return Status::Ok();
  return Status::NotSupported(std::string("takes f32, found ") + DTypeName(in(i).dtype));
}

std::string Plan::Bits(DType dtype) const {
  return fmt::format("b{}", dtype == DType::kF32 && facts.half ? 2 : DTypeSize(dtype));
}

Result<int64_t> Plan::Wide(int input) const {
  const DType dtype = in(input).dtype;
  if (dtype == DType::kI32 || dtype == DType::kI64) return dtype == DType::kI64 ? int64_t{1} : int64_t{0};
  return Status::NotSupported(std::string("takes indices of i32 and i64, found ") + DTypeName(dtype));
}

Result<Plan::Whole> Plan::WholeNumbers(int input) {
  const BlobInfo& blob = in(input);
  if (blob.value.empty() || blob.dtype == DType::kI32 || blob.dtype == DType::kI64) {
    PLUMB_ASSIGN_OR_RETURN(const int64_t wide, Wide(input));
    return Whole{In(input, "i32"), wide};
  }
  PLUMB_ASSIGN_OR_RETURN(const Tensor values, blob.value.ConvertedTo(DType::kI64));
  const auto* first = values.data<int64_t>();
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    if (first[i] == static_cast<int32_t>(first[i])) continue;
    return Status::NotSupported(fmt::format("counts in 32 bits, and a constant of input {} is {}", input, first[i]));
  }
  return Whole{Ints({first, first + values.NumElements()}), 0};
}

Status MakePlan(PlanFunction function, Plan* plan) {
  PLUMB_RETURN_IF_ERROR(RequireSingle(plan->spec));
  PLUMB_RETURN_IF_ERROR(function(plan));
  constexpr int64_t kMost = INT32_MAX;
  std::vector<int64_t> numbers;
  // Programs read i64 as pairs.
  for (const BlobInfo& blob : plan->spec.inputs) numbers.push_back(blob.shape.NumElements() * 2);
  for (const BlobInfo& blob : plan->spec.outputs) numbers.push_back(blob.shape.NumElements() * 2);
  numbers.insert(numbers.end(), plan->scratches.begin(), plan->scratches.end());
  for (const Launch& launch : plan->launches) {
    if (launch.words.size() > kMaxWords) {
      return Status::NotSupported(fmt::format("program {} takes {} numbers, and this layer needs {}", launch.program,
                                              kMaxWords, launch.words.size()));
    }
    numbers.insert(numbers.end(), launch.words.begin(), launch.words.end());
  }
  for (const int64_t number : numbers) {
    if (number <= kMost && number >= INT32_MIN) continue;
    return Status::NotSupported(fmt::format("counts in 32 bits, and a size of this layer is {}", number));
  }
  return Status::Ok();
}

DType DTypeOfPort(const std::string& type, DType blob) {
  const std::pair<const char*, DType> types[] = {{"real", DType::kF32}, {"f32", DType::kF32}, {"f64", DType::kF64},
                                                 {"i32", DType::kI32},  {"i64", DType::kI64}, {"u8", DType::kU8},
                                                 {"i8", DType::kI8},    {"b1", DType::kU8},   {"b2", DType::kU16},
                                                 {"b4", DType::kU32},   {"b8", DType::kI64}};
  for (const auto& [name, dtype] : types) {
    if (type == name) return dtype;
  }
  return blob;
}

}  // namespace plumb::gpu
