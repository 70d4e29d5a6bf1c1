// SPDX-License-Identifier: Apache-2.0
// bench_dump [MODEL [FOLDER]]: how fast ready host arrays become a dump, against one plain write per file of the same
// bytes.
//
// The arrays have the shapes of MODEL's layer outputs (default: resnet50). Each round writes them first plainly, one
// open, write and close per file on one thread, then as npy, raw and text dumps with statistics, checksums and the
// manifest, all into fresh folders under FOLDER (default /dev/shm, so that no disk is measured). Every row keeps its
// best round; the last column is the processor time of all threads, which a busy machine disturbs less.
#include <fmt/core.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <functional>
#include <random>

#include "dump/file_name.h"
#include "dump/manifest.h"
#include "dump/writer.h"
#include "plumb/model.h"
#include "tensor/npy.h"

namespace plumb {
namespace {

constexpr int kRounds = 7;

struct Array {
  DumpedBlob blob;
  Tensor tensor;
};

Result<std::vector<Array>> MakeArrays(const std::string& model) {
  PLUMB_ASSIGN_OR_RETURN(const Graph graph, LoadModel(model));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(graph));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(1 << 16);  // 35 % zeros, as after a ReLU
  for (float& value : values) value = random() % 100 < 35 ? 0.f : normal(random);
  std::vector<Array> arrays;
  for (const Layer& layer : graph.layers) {
    for (int slot = 0; slot < static_cast<int>(layer.outputs.size()); ++slot) {
      Array array;
      const std::string& name = layer.outputs[static_cast<size_t>(slot)];
      array.blob.place = {layer.index, layer.name, layer.type, true, slot, name};
      array.blob.shape = blobs.at(name).shape;
      PLUMB_ASSIGN_OR_RETURN(array.tensor, Tensor::Create(DType::kF32, array.blob.shape));
      const int64_t shift = static_cast<int64_t>(random());
      for (int64_t i = 0; i < array.tensor.NumElements(); ++i) {
        array.tensor.data<float>()[i] = values[static_cast<size_t>((i + shift) & 0xFFFF)];
      }
      arrays.push_back(std::move(array));
    }
  }
  return arrays;
}

std::string NameOf(const Array& array, DumpOptions::Format format) {
  const BlobPlace& p = array.blob.place;
  return BlobFileName(p.layer_index, p.layer, true, p.slot, p.blob, array.blob.shape) + BlobFileEnding(format, false);
}

// The same bytes as the npy dump: header and values are one buffer already.
Status WritePlainly(const std::vector<std::string>& contents, const std::vector<Array>& arrays,
                    const std::string& folder) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::string path = fmt::format("{}/{}", folder, NameOf(arrays[i], DumpOptions::Format::kNpy));
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ::write(fd, contents[i].data(), contents[i].size()) != static_cast<ssize_t>(contents[i].size())) {
      return Status::IoError(fmt::format("cannot write '{}'", path));
    }
    ::close(fd);
  }
  return Status::Ok();
}

Status Dump(const std::vector<Array>& arrays, DumpOptions::Format format, int threads, const std::string& folder) {
  BlobWriter writer(format, false, size_t{64} << 20, threads);
  std::deque<BlobFileResult> results(arrays.size());
  Manifest manifest;
  for (size_t i = 0; i < arrays.size(); ++i) {
    writer.Add(arrays[i].tensor, fmt::format("{}/{}", folder, NameOf(arrays[i], format)), i, &results[i]);
  }
  std::vector<size_t> done;
  PLUMB_RETURN_IF_ERROR(writer.Finish(&done));
  for (size_t i : done) {
    DumpedBlob blob = arrays[i].blob;
    blob.file = NameOf(arrays[i], format);
    blob.bytes = results[i].bytes;
    blob.checksum = results[i].checksum;
    blob.values_checksum = results[i].values_checksum;
    blob.statistics = results[i].statistics;
    manifest.files.push_back(std::move(blob));
  }
  return WriteManifest(folder + "/manifest.json", manifest);
}

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Row {
  const char* name;
  int threads;
  std::function<Status(const std::string& folder)> run;
  double best = 1e9;
  double best_cpu = 1e9;  // seconds of all threads together
};

Status Run(const std::string& model, const std::string& parent) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Array> arrays, MakeArrays(model));
  std::vector<std::string> contents;
  double bytes = 0, values = 0;
  for (const Array& array : arrays) {
    contents.push_back(NpyHeader(DType::kF32, array.tensor.shape()));
    contents.back().append(static_cast<const char*>(array.tensor.raw()), array.tensor.bytes());
    bytes += static_cast<double>(contents.back().size());
    values += static_cast<double>(array.tensor.NumElements());
  }
  using Format = DumpOptions::Format;
  const auto dump = [&](Format format, int threads) {
    return [&arrays, format, threads](const std::string& folder) { return Dump(arrays, format, threads, folder); };
  };
  std::vector<Row> rows = {
      {"plain write", 1, [&](const std::string& folder) { return WritePlainly(contents, arrays, folder); }},
      {"npy dump", 1, dump(Format::kNpy, 1)},
      {"npy dump", 2, dump(Format::kNpy, 2)},
      {"raw dump", 2, dump(Format::kRaw, 2)},
      {"text dump", 1, dump(Format::kText, 1)},
      {"text dump", 2, dump(Format::kText, 2)}};
  const std::string folder = fmt::format("{}/plumb_bench_dump_{}", parent, ::getpid());
  for (int round = 0; round < kRounds; ++round) {
    for (Row& row : rows) {
      std::filesystem::remove_all(folder);
      std::filesystem::create_directories(folder);
      const double cpu = CpuSeconds();
      const auto begin = std::chrono::steady_clock::now();
      PLUMB_RETURN_IF_ERROR(row.run(folder));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      row.best = std::min(row.best, seconds.count());
      row.best_cpu = std::min(row.best_cpu, CpuSeconds() - cpu);
    }
  }
  std::filesystem::remove_all(folder);
  std::printf("%zu files, %.1f MB of npy, in '%s'\n", arrays.size(), bytes / 1e6, parent.c_str());
  std::printf("%-12s %7s %10s %12s %14s %10s\n", "", "threads", "ms", "M values/s", "x plain write", "cpu ms");
  for (const Row& row : rows) {
    std::printf("%-12s %7d %10.1f %12.1f %14.2f %10.1f\n", row.name, row.threads, 1e3 * row.best,
                values / row.best / 1e6, rows[0].best / row.best, 1e3 * row.best_cpu);
  }
  return Status::Ok();
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : PLUMB_NETWORKS "/resnet50.tnnproto";
  const plumb::Status status = plumb::Run(model, argc > 2 ? argv[2] : "/dev/shm");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 4;
}
