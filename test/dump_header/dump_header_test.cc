// SPDX-License-Identifier: Apache-2.0
// plumb_dump.h, as a runtime in C uses it: what it writes is what the library writes and reads, whatever the strides.
#define PLUMB_DUMP_IMPLEMENTATION
#include "plumb_dump.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <numeric>
#include <thread>

#include "base/file.h"
#include "dump/checksum.h"
#include "dump/file_name.h"
#include "dump/manifest.h"
#include "interop/tensor_set.h"
#include "plumb/session.h"
#include "plumb/tool/file.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// Each test is a run of its own: the first network of a process.
class DumpHeader : public ScratchFolder {
 protected:
  DumpHeader() {
    plumb__networks = 0;
    setenv("DUMP_OUTPUT_BLOB", "1", 1);
    setenv("DUMP_BLOB_DIR", Dump().c_str(), 1);
  }
  ~DumpHeader() override {
    for (const char* name : {"DUMP_OUTPUT_BLOB", "DUMP_INPUT_BLOB", "DUMP_BLOB_DIR", "DUMP_BLOB_FORMAT",
                             "DUMP_BLOB_LAYERS", "DUMP_BLOB_TYPES", "DUMP_BLOB_FORWARDS", "DUMP_BLOB_STATS"}) {
      unsetenv(name);
    }
  }
  std::string Dump() const { return At("dump"); }
  Tensor Read(const std::string& name) const {
    const auto set = TensorSet::Open(Dump());
    EXPECT_TRUE(set.ok()) << set.status().ToString();
    if (!set.ok()) return {};
    for (const StoredTensor& tensor : set->tensors()) {
      if (tensor.name == name) return tensor.load().value();
    }
    ADD_FAILURE() << "no tensor '" << name << "'";
    return {};
  }
  static std::vector<float> Numbers(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), -3.0f);
    return values;
  }
};

Result<Manifest> ReadDump(const std::string& folder) { return ReadManifest(folder + "/manifest.json"); }

const int64_t kDims[] = {2, 6, 5, 7};
constexpr int64_t kCount = 2 * 6 * 5 * 7;

TEST_F(DumpHeader, OffIsNothing) {
  unsetenv("DUMP_OUTPUT_BLOB");
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  EXPECT_EQ(dump, nullptr);
  plumb_dump_forward(dump);
  EXPECT_EQ(plumb_dump(dump, "x", nullptr, PLUMB_F32, 4, kDims, nullptr), 0);
  EXPECT_EQ(plumb_dump_wants(dump, nullptr, "x"), 0);
  EXPECT_EQ(plumb_dump_close(dump), 0);
  EXPECT_FALSE(fs::exists(Dump()));
}

// Every dtype, ranks 0 to 5, sizes around a piece of 256 KiB: the very bytes of the library's .npy, under its names.
TEST_F(DumpHeader, BytesAndNamesAreTheLibrarys) {
  const std::pair<plumb_dtype, DType> dtypes[] = {
      {PLUMB_F32, DType::kF32}, {PLUMB_F16, DType::kF16}, {PLUMB_BF16, DType::kBF16}, {PLUMB_F64, DType::kF64},
      {PLUMB_I8, DType::kI8},   {PLUMB_U8, DType::kU8},   {PLUMB_I16, DType::kI16},   {PLUMB_U16, DType::kU16},
      {PLUMB_I32, DType::kI32}, {PLUMB_U32, DType::kU32}, {PLUMB_I64, DType::kI64},   {PLUMB_BOOL, DType::kBool}};
  const std::vector<int64_t> shapes[] = {
      {}, {5}, {0, 4}, {1, 4096}, {1, 4097}, {3, 4095}, {2, 3, 1, 5, 700}, {16384}, {65536}, {3, 65537}};
  plumb_dumper* dump = plumb_dump_open("test", "net.onnx");
  ASSERT_NE(dump, nullptr);
  int index = 0;
  for (const auto& [ours, dtype] : dtypes) {
    for (const auto& dims : shapes) {
      Tensor tensor = Tensor::Create(dtype, Shape(dims)).value();
      const size_t bytes = static_cast<size_t>(tensor.NumElements()) * DTypeSize(dtype);
      for (size_t i = 0; i < bytes; ++i)
        static_cast<char*>(tensor.raw())[i] = static_cast<char>(dtype == DType::kBool ? i % 2 : i * 7);
      const std::string name = "t/" + std::to_string(index) + ":" + std::string(static_cast<size_t>(index), 'n');
      ASSERT_EQ(plumb_dump(dump, name.c_str(), tensor.raw(), ours, static_cast<int>(dims.size()), dims.data(), nullptr),
                0);
      const std::string file = BlobFileName(index, name, true, 0, name, Shape(dims)) + ".npy";
      ASSERT_TRUE(WriteTensors(At("one.npy"), {{name, tensor}}).ok());
      ASSERT_TRUE(fs::exists(Dump() + "/" + file)) << file;
      EXPECT_TRUE(ReadFile(Dump() + "/" + file)->text() == ReadFile(At("one.npy"))->text()) << file;
      ++index;
    }
  }
  EXPECT_FALSE(fs::exists(Dump() + "/manifest.json"));  // it comes last
  EXPECT_EQ(plumb_dump_close(dump), 0);
  const auto reader = ReadDump(Dump());
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  EXPECT_EQ(reader->files.size(), static_cast<size_t>(index));
  EXPECT_EQ(reader->model, "net.onnx");
}

TEST_F(DumpHeader, StridesAndBlocksOfChannelsAreReadInLogicalOrder) {
  const std::vector<float> values = Numbers(2 * 8 * 5 * 7);
  const int64_t nhwc[] = {6 * 35 * 4, 4, 7 * 6 * 4, 6 * 4};
  const int64_t padded[] = {6 * 5 * 9 * 4, 5 * 9 * 4, 9 * 4, 4};  // rows of nine
  const int64_t backwards[] = {0, 35 * 4, -7 * 4, 4};             // both images are one
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  const std::vector<float> wide = Numbers(2 * 6 * 5 * 9);
  ASSERT_EQ(plumb_dump(dump, "nhwc", values.data(), PLUMB_F32, 4, kDims, nhwc), 0);
  ASSERT_EQ(plumb_dump(dump, "padded", wide.data(), PLUMB_F32, 4, kDims, padded), 0);
  ASSERT_EQ(plumb_dump(dump, "backwards", values.data() + 28, PLUMB_F32, 4, kDims, backwards), 0);
  plumb_dump_place packed = PLUMB_DUMP_PLACE_INIT;
  packed.pack = 4;
  packed.layout = "NC4HW4";
  ASSERT_EQ(plumb_dump_write(dump, &packed, "packed", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  ASSERT_EQ(plumb_dump_write(dump, &packed, "rows", values.data(), PLUMB_F32, 2, kDims, nullptr), 0);
  ASSERT_EQ(plumb_dump_close(dump), 0);
  const Tensor a = Read("nhwc"), b = Read("padded"), c = Read("backwards"), d = Read("packed"), e = Read("rows");
  int64_t i = 0;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t k = 0; k < 6; ++k) {
      EXPECT_EQ(k < 6 && n < 2 ? e.ValueAt(n * 6 + k) : 0, values[static_cast<size_t>(n * 8 + k)]);
      for (int64_t y = 0; y < 5; ++y) {
        for (int64_t x = 0; x < 7; ++x, ++i) {
          const auto at = [](const std::vector<float>& of, int64_t place) { return of[static_cast<size_t>(place)]; };
          ASSERT_EQ(a.ValueAt(i), at(values, n * 210 + (y * 7 + x) * 6 + k));
          ASSERT_EQ(b.ValueAt(i), at(wide, n * 270 + k * 45 + y * 9 + x));
          ASSERT_EQ(c.ValueAt(i), at(values, 28 + k * 35 - y * 7 + x));
          ASSERT_EQ(d.ValueAt(i), at(values, n * 280 + k / 4 * 140 + (y * 7 + x) * 4 + k % 4));
        }
      }
    }
  }
}

TEST_F(DumpHeader, NamesOfAnyBytesComeBack) {
  const std::vector<float> values = Numbers(kCount);
  const std::string names[] = {"quote\"back\\slash",        "line\nbreak\x1b[31m",       "caf\xC3\xA9", "no \xFF utf8",
                               std::string(300, 'x') + "1", std::string(300, 'x') + "2", "*?[a]",       "\xED\xA0\x80"};
  plumb_dumper* dump = plumb_dump_open("run\"time \xFF", nullptr);
  for (const std::string& name : names) {
    ASSERT_EQ(plumb_dump(dump, name.c_str(), values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  }
  ASSERT_EQ(plumb_dump_close(dump), 0);
  int index = 0;
  for (const std::string& name : names) {
    EXPECT_EQ(Read(name).NumElements(), kCount);
    EXPECT_TRUE(fs::exists(Dump() + "/" + BlobFileName(index++, name, true, 0, name, {2, 6, 5, 7}) + ".npy")) << name;
  }
}

TEST_F(DumpHeader, ForwardsNetworksAndFilters) {
  setenv("DUMP_BLOB_FORWARDS", "1,3-", 1);
  setenv("DUMP_BLOB_LAYERS", "conv*, [r-t]elu?, 5", 1);
  setenv("DUMP_BLOB_FORMAT", "raw", 1);
  const std::vector<float> values = Numbers(kCount);
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  plumb_dumper* second = plumb_dump_open("test", nullptr);
  for (int forward = 0; forward < 4; ++forward) {
    plumb_dump_forward(dump);
    for (const char* name : {"conv1", "conv", "relu", "relu1", "telu2", "five", "zelu1"}) {
      EXPECT_EQ(plumb_dump_wants(dump, nullptr, name),
                (forward == 1 || forward == 3) && std::string(name) != "relu" && std::string(name) != "zelu1")
          << name << forward;
      ASSERT_EQ(plumb_dump(dump, name, values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
    }
  }
  ASSERT_EQ(plumb_dump_close(dump), 0);
  ASSERT_EQ(plumb_dump_close(second), 0);
  for (const std::string& folder : {Dump(), Dump() + "/forward-00003"}) {
    const auto read = ReadDump(folder);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->files.size(), 5u);
    EXPECT_EQ(read->files[0].checksum, ChecksumOf(values.data(), values.size() * sizeof(float)));
    EXPECT_EQ(read->files[0].values_checksum, read->files[0].checksum);  // of a raw file
    EXPECT_EQ(read->forward, folder == Dump() ? 1 : 3);
  }
  EXPECT_TRUE(fs::exists(Dump() + "/00000-conv1-out-0-conv1-dims-2-6-5-7.raw"));
  EXPECT_FALSE(fs::exists(Dump() + "/forward-00001"));
  EXPECT_FALSE(fs::exists(Dump() + "/network-2/manifest.json"));  // its Forward 0 was not asked for
}

// A run without the Forward that was asked for leaves no half a manifest, and the folder to the next run.
TEST_F(DumpHeader, NoForwardOfThoseAskedForIsSaid) {
  setenv("DUMP_BLOB_FORWARDS", "5", 1);
  const std::vector<float> values = Numbers(kCount);
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  setenv("DUMP_BLOB_FORWARDS", "a value that is longer than the first one", 1);  // read once
  plumb_dump_forward(dump);
  EXPECT_EQ(plumb_dump(dump, "x", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(plumb_dump_close(dump), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "plumb_dump: nothing is dumped: of 1 Forwards none is in DUMP_BLOB_FORWARDS=5\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(Dump()), fs::directory_iterator()), 0);
}

TEST_F(DumpHeader, WantsIsWhatWriteDoes) {
  setenv("DUMP_BLOB_FORWARDS", "0", 1);
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  EXPECT_EQ(plumb_dump_wants(dump, nullptr, "x"), 1);  // before any plumb_dump_forward: that is Forward 0
  plumb_dump_place input = PLUMB_DUMP_PLACE_INIT;
  input.is_input = 1;
  EXPECT_EQ(plumb_dump_wants(dump, &input, "x"), 0);
  EXPECT_EQ(plumb_dump_close(dump), 0);
}

TEST_F(DumpHeader, WrongCallsAndFullDisksAreSaidAndTheProgramGoesOn) {
  const std::vector<float> values = Numbers(kCount);
  const int64_t negative[] = {2, -1};
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(plumb_dump(dump, "x", values.data(), PLUMB_F32, 17, kDims, nullptr), -1);
  EXPECT_EQ(plumb_dump(dump, "x", values.data(), PLUMB_F32, 2, negative, nullptr), -1);
  EXPECT_EQ(plumb_dump(dump, "x", nullptr, PLUMB_F32, 4, kDims, nullptr), -1);
  EXPECT_EQ(plumb_dump(dump, "", values.data(), PLUMB_F32, 4, kDims, nullptr), -1);
  EXPECT_EQ(plumb_dump(dump, "x", values.data(), static_cast<plumb_dtype>(99), 4, kDims, nullptr), -1);
  EXPECT_EQ(plumb_dump(dump, "good", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "plumb_dump: tensor 'x': expected 0 to 16 dims, found 17; the dump is not complete, the program goes on\n");
  EXPECT_EQ(plumb_dump_close(dump), -1);
  const auto read = ReadDump(Dump());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_FALSE(read->complete);
  ASSERT_EQ(read->files.size(), 1u);

  // A folder where a file should be: that tensor cannot be written, nor anything after it.
  plumb__networks = 0;
  dump = plumb_dump_open("test", nullptr);
  plumb_dump_forward(dump);
  fs::create_directories(At("dump-2/00000-a-out-0-a-dims-2-6-5-7.npy.part"));
  EXPECT_EQ(plumb_dump(dump, "a", values.data(), PLUMB_F32, 4, kDims, nullptr), -1);
  EXPECT_EQ(plumb_dump_close(dump), -1);
}

TEST_F(DumpHeader, VariablesThatItCannotFollowAreErrors) {
  for (const auto& [name, value] : std::map<std::string, std::string>{{"DUMP_BLOB_FORMAT", "text"},
                                                                      {"DUMP_BLOB_COMPRESS", "zstd"},
                                                                      {"DUMP_BLOB_ORDER", "NCHW"},
                                                                      {"DUMP_BLOB_LAYERS", "/conv.*/"},
                                                                      {"DUMP_BLOB_FORWARDS", "first"},
                                                                      {"DUMP_BLOB_UNFUSE", "1"},
                                                                      {"SAVE_IO_TENSORS", "1"},
                                                                      {"DUMP_BLOB_STATS", "1"}}) {
    setenv(name.c_str(), value.c_str(), 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(plumb_dump_open("test", nullptr), nullptr) << name;
    EXPECT_NE(testing::internal::GetCapturedStderr().find(name), std::string::npos) << name;
    unsetenv(name.c_str());
  }
  EXPECT_FALSE(fs::exists(Dump()));
}

// A child that goes on, one that only exits, and one that begins a dump of its own: the parent's manifest is its own.
TEST_F(DumpHeader, AForkedChildWritesNothingIntoItsParentsDump) {
  const std::vector<float> values = Numbers(kCount);
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  ASSERT_EQ(plumb_dump(dump, "before", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  for (int child = 0; child < 3; ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      bool ok = child == 1 || plumb_dump(dump, "child", values.data(), PLUMB_F32, 4, kDims, nullptr) == -1;
      if (child == 2) dump = plumb_dump_open("child", nullptr);
      if (child == 2) ok = ok && plumb_dump(dump, "own", values.data(), PLUMB_F32, 4, kDims, nullptr) == 0;
      ok = (child == 1 || (plumb_dump_close(dump) == 0) == (child == 2)) && ok;
      (void)fflush(nullptr);  // as exit does
      _exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0) << child;
  }
  ASSERT_EQ(plumb_dump(dump, "after", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  ASSERT_EQ(plumb_dump_close(dump), 0);
  const auto read = ReadDump(Dump()), own = ReadDump(Dump() + "-2");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->files.size(), 2u);
  ASSERT_TRUE(own.ok()) << own.status().ToString();
  EXPECT_EQ(own->files.size(), 1u);
}

TEST_F(DumpHeader, NoLinkIsFollowedAndNoNameSteersTheTerminal) {
  const std::vector<float> values = Numbers(kCount);
  fs::create_directories(Dump());
  ASSERT_TRUE(WriteFile(At("victim"), "untouched").ok());
  fs::create_symlink(At("victim"), Dump() + "/00000-x-out-0-x-dims-2-6-5-7.npy.part");
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  ASSERT_EQ(plumb_dump(dump, "x", values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(plumb_dump(dump, "y\n\x1b[2J", values.data(), PLUMB_F32, 17, kDims, nullptr), -1);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("plumb_dump: tensor 'y\\x0a\\x1b[2J': expected 0 to 16 dims"),
            0u);
  EXPECT_EQ(plumb_dump_close(dump), -1);
  EXPECT_EQ(Read("x").NumElements(), kCount);
  EXPECT_EQ(ReadFile(At("victim"))->text(), "untouched");
}

TEST_F(DumpHeader, NoLimitOfFilesEndsAProgram) {
  const std::vector<float> values = Numbers(kCount);
  for (const rlim_t most : {0, 700, 5000, 65535, 65536, 67000, 80000}) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const rlimit limit = {most, most};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
      plumb_dumper* dump = plumb_dump_open("test", nullptr);
      for (int i = 0; i < 90; ++i) plumb_dump(dump, "x", values.data(), PLUMB_F32, 4, kDims, nullptr);
      const int result = plumb_dump_close(dump);
      _exit((dump == nullptr) == (most < 65536) && (dump == nullptr || result == (most < 80000 ? -1 : result)) ? 7 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " at " << most;
    EXPECT_EQ(WEXITSTATUS(status), 7) << most;
  }
  EXPECT_TRUE(ReadDump(Dump()).ok());
}

TEST_F(DumpHeader, ATensorBeyondTheLimitOfFilesEndsNoProgram) {
  const std::vector<float> values = Numbers(1 << 20);
  const int64_t dims[] = {1 << 20};
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const rlimit limit = {1 << 20, 1 << 20};
    plumb_dumper* dump = plumb_dump_open("test", nullptr);
    bool ok = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    ok = plumb_dump(dump, "small", values.data(), PLUMB_F32, 4, kDims, nullptr) == 0 && ok;
    ok = plumb_dump(dump, "large", values.data(), PLUMB_F32, 1, dims, nullptr) == -1 && ok;
    _exit(plumb_dump_close(dump) == -1 && ok ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  const auto read = ReadDump(Dump());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_FALSE(read->complete);
  EXPECT_EQ(read->files.size(), 1u);
}

TEST_F(DumpHeader, ThreadsShareADumper) {
  const std::vector<float> values = Numbers(kCount);
  plumb_dumper* dump = plumb_dump_open("test", nullptr);
  plumb_dump_forward(dump);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        const std::string name = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_EQ(plumb_dump(dump, name.c_str(), values.data(), PLUMB_F32, 4, kDims, nullptr), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(plumb_dump_close(dump), 0);
  const auto read = ReadDump(Dump());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->files.size(), 100u);
  EXPECT_EQ(Read("3-24").ValueAt(5), 2);
}

// A runtime that hands each tensor to the header: here our own NAIVE, turned to NHWC on the way.
class Hook : public Observer {
 public:
  Hook(plumb_dumper* dump, const std::string& faulty) : dump_(dump), faulty_(faulty) {}
  Status After(const LayerEvent& event) override {
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(Tensor value, event.Output(i));
      const std::string& name = event.step().outputs[i].blob;
      if (name == faulty_) value = Changed(value, [](float x, int64_t) { return x * 1.01f + 0.01f; });
      EXPECT_EQ(Write(name, value), 0);
    }
    return Status::Ok();
  }
  int Write(const std::string& name, const Tensor& value) {
    plumb_dump_place place = PLUMB_DUMP_PLACE_INIT;
    place.type = "any";
    return plumb_dump_write(dump_, &place, name.c_str(), value.raw(), PLUMB_F32, value.shape().rank(),
                            value.shape().dims().data(), nullptr);
  }

 private:
  plumb_dumper* dump_;
  std::string faulty_;
};

TEST_F(DumpHeader, ASubjectThatItWroteIsJudged) {
  const std::string model = PLUMB_TEST_DATA "/faults/faults.tnnproto";
  for (const bool fault : {false, true}) {
    plumb__networks = 0;
    const std::string folder = fault ? Dump() + "-2" : Dump();
    NetworkOptions options;
    options.unfuse = true;
    setenv("DUMP_OUTPUT_BLOB", "1", 1);
    plumb_dumper* dump = plumb_dump_open("my NPU 1.2", "faults.tnnproto");
    unsetenv("DUMP_OUTPUT_BLOB");  // the network below has hooks of its own
    auto network = CreateNetwork(LoadModel(model).value(), "NAIVE", options).value();
    const std::string guilty = network->graph().layers.back().outputs[0];  // which nobody reads
    Hook hook(dump, fault ? guilty : "");
    network->AddObserver(&hook);
    const NetworkInputs inputs = PrepareInputs(InputOptions(), network->graph()).value();
    for (const auto& [name, value] : inputs.values) ASSERT_EQ(hook.Write(name, value), 0);
    ASSERT_TRUE(RunNetwork(network.get(), inputs.values).ok());
    ASSERT_EQ(plumb_dump_close(dump), 0);
    SessionOptions session_options;
    session_options.subject.path = folder;
    const auto session = Session::Open(model, session_options);
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    const auto report = (*session)->JudgeSubject();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    int wrong = 0;
    for (const LayerReport& layer : report->layers) {
      if (layer.verdict != Verdict::kWrong) continue;
      ++wrong;
      EXPECT_EQ(layer.outputs[0].blob, guilty);
    }
    EXPECT_EQ(wrong, fault ? 1 : 0);
  }
}

}  // namespace
}  // namespace plumb
