// SPDX-License-Identifier: Apache-2.0
// bench_tensor_files [FOLDER]: how fast tensors become files, against fprintf("%.9f\n") and against a plain write.
//
// The values are normal ones with 35 % zeros, as after a ReLU. All rows of a round run one after the other on the same
// values, and each row keeps its best of several rounds, so that a busy machine disturbs the ratios little; the last
// column counts only the processor time of all threads. FOLDER (default /dev/shm) takes the files and should be in
// memory, else it is the disk that is measured.
#include <fmt/core.h>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/threads.h"
#include "tensor/npy.h"
#include "tensor/values_text.h"
#include "tensor/zstd.h"

namespace plumb {
namespace {

constexpr int64_t kValues = 1 << 20;
constexpr int kRounds = 9;

Tensor MakeValues() {
  Tensor tensor = Tensor::Create(DType::kF32, {1, 64, 128, 128}).value();
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < kValues; ++i) tensor.data<float>()[i] = random() % 100 < 35 ? 0.f : normal(random);
  return tensor;
}

Status WriteWithFprintf(const std::string& path, const Tensor& tensor) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return Status::IoError(fmt::format("cannot create '{}'", path));
  for (int64_t i = 0; i < kValues; ++i) std::fprintf(file, "%.9f\n", static_cast<double>(tensor.data<float>()[i]));
  return std::fclose(file) == 0 ? Status::Ok() : Status::IoError(fmt::format("cannot write '{}'", path));
}

Status WriteCompressed(const std::string& path, const Tensor& tensor) {
  ZstdCompressor compressor(1);
  std::string bytes;
  PLUMB_RETURN_IF_ERROR(compressor.Append(tensor.raw(), tensor.bytes(), &bytes));
  PLUMB_RETURN_IF_ERROR(compressor.Finish(&bytes));
  return WriteFile(path, bytes);
}

struct Row {
  const char* name;
  int threads;
  std::function<Status(const std::string&)> write;
  double best_seconds = 1e9;
  double best_cpu = 1e9;  // seconds of all threads together
  size_t bytes = 0;
};

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Status Measure(std::vector<Row>* rows, const std::string& path) {
  for (int round = 0; round < kRounds; ++round) {
    for (Row& row : *rows) {
      SetNumThreads(row.threads);
      ::unlink(path.c_str());
      const double cpu = CpuSeconds();
      const auto begin = std::chrono::steady_clock::now();
      PLUMB_RETURN_IF_ERROR(row.write(path));
      row.best_cpu = std::min(row.best_cpu, CpuSeconds() - cpu);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      row.best_seconds = std::min(row.best_seconds, seconds.count());
      PLUMB_ASSIGN_OR_RETURN(const FileBytes file, ReadFile(path));
      row.bytes = file.size();
    }
  }
  return Status::Ok();
}

Status Run(const std::string& folder) {
  const Tensor tensor = MakeValues();
  const std::string path = fmt::format("{}/plumb_bench_{}", folder, ::getpid());
  const auto text = [&](TextStyle style) {
    return [&tensor, style](const std::string& to) { return WriteValuesText(to, tensor, style); };
  };
  std::vector<Row> rows = {
      {"fprintf(\"%.9f\\n\")", 1, [&](const std::string& to) { return WriteWithFprintf(to, tensor); }},
      {"text, %.9f", 1, text(TextStyle::kFixed9)},
      {"text, shortest", 1, text(TextStyle::kShortest)},
      {"text, shortest", 2, text(TextStyle::kShortest)},
      {"plain write", 1,
       [&](const std::string& to) {
         return WriteFile(to, {static_cast<const char*>(tensor.raw()), tensor.bytes()});
       }},
      {"npy", 1, [&](const std::string& to) { return WriteNpy(to, tensor); }},
      {"raw.zst, level 1", 1, [&](const std::string& to) { return WriteCompressed(to, tensor); }},
  };
  PLUMB_RETURN_IF_ERROR(Measure(&rows, path));
  ::unlink(path.c_str());
  std::printf("%-20s %7s %12s %12s %10s %14s %14s\n", "format", "threads", "M values/s", "bytes/value", "x fprintf",
              "x plain write", "M values/cpu-s");
  for (const Row& row : rows) {
    std::printf("%-20s %7d %12.1f %12.2f %10.1f %14.2f %14.1f\n", row.name, row.threads,
                kValues / row.best_seconds / 1e6, static_cast<double>(row.bytes) / kValues,
                rows[0].best_seconds / row.best_seconds, rows[4].best_seconds / row.best_seconds,
                kValues / row.best_cpu / 1e6);
  }
  return Status::Ok();
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  const plumb::Status status = plumb::Run(argc > 1 ? argv[1] : "/dev/shm");
  if (!status.ok()) std::fprintf(stderr, "bench_tensor_files: %s\n", status.message().c_str());
  return status.ok() ? 0 : 2;
}
