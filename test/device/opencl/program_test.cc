// SPDX-License-Identifier: Apache-2.0
// Every kernel file compiles on every adapter of this machine, in both storages; the disk cache survives whatever lies
// there.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/opencl/context.h"
#include "device/opencl/pocl_cache.h"
#include "device/shared/program_cache.h"
#include "plumb/tool/compiling.h"

namespace plumb::opencl {
namespace {

class TemporaryCache {
 public:
  TemporaryCache() : folder_(std::filesystem::temp_directory_path() / ("plumb_cache_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    setenv("PLUMB_CACHE_DIR", folder_.c_str(), 1);
  }
  ~TemporaryCache() {
    unsetenv("PLUMB_CACHE_DIR");
    std::filesystem::remove_all(folder_);
  }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

TEST(OpenclPrograms, EveryKernelFileCompilesOnEveryAdapter) {
  const auto adapters = Context::ListAdapters();
  if (!adapters.ok()) GTEST_SKIP() << adapters.status().message();
  for (int i = 0; i < static_cast<int>(adapters->size()); ++i) {
    Context* context = Context::Open(i).value();
    EXPECT_FALSE(KernelFiles().empty());
    for (const std::string& file : KernelFiles()) {
      for (const Storage storage : {Storage::kF32, Storage::kF16}) {
        const auto program = context->Program(file, storage);
        ASSERT_TRUE(program.ok()) << program.status().message();
        cl_uint kernels = 0;
        ASSERT_EQ(context->api().clCreateKernelsInProgram(*program, 0, nullptr, &kernels), CL_SUCCESS);
        EXPECT_GT(kernels, 0u) << file;
      }
    }
  }
}

TEST(OpenclPrograms, IncludesAreResolved) {
  const auto source = KernelSource("unary.cl");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->find("#include \""), std::string::npos);
  EXPECT_NE(source->find("MAX_RANK"), std::string::npos);
  EXPECT_EQ(KernelSource("nothing.cl").status().code(), StatusCode::kNotFound);
}

TEST(OpenclPrograms, AMistakeBringsTheBuildLog) {
  if (const auto found = Context::ListAdapters(); !found.ok()) GTEST_SKIP() << found.status().message();
  Context* context = Context::Open(0).value();
  const auto program =
      context->BuildFromSource("kernel void wrong() { no_such_thing(); }", "wrong.cl", context->Options(Storage::kF32));
  ASSERT_EQ(program.status().code(), StatusCode::kDeviceError);
  for (const char* part : {"wrong.cl", "CL_BUILD_PROGRAM_FAILURE (-11)", "no_such_thing"}) {
    EXPECT_NE(program.status().message().find(part), std::string::npos) << program.status().message();
  }
}

// A file of the cache that is whole, but no program of this driver.
TEST(OpenclPrograms, AForeignBinaryIsCompiledAgain) {
  if (const auto found = Context::ListAdapters(); !found.ok()) GTEST_SKIP() << found.status().message();
  const TemporaryCache cache;
  Context* context = Context::Open(0).value();
  const std::string options = context->Options(Storage::kF32),
                    key = context->CacheKey(KernelSource("reorder.cl").value(), options);
  StoreCached("opencl", key, "not a program");
  const auto program = context->Build("reorder.cl", options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_NE(LoadCached("opencl", key), "not a program");
  EXPECT_TRUE(context->Build("reorder.cl", options).ok());  // now from the cache
}

TEST(OpenclPrograms, AnIndexThatIsNotThereIsRefused) {
  const auto adapters = Context::ListAdapters();
  if (!adapters.ok()) GTEST_SKIP() << adapters.status().message();
  const auto context = Context::Open(static_cast<int>(adapters->size()));
  EXPECT_EQ(context.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(context.status().message().find("device_info lists them"), std::string::npos) << context.status().message();
}

TEST(ProgramCache, KeepsWhatWasStored) {
  const TemporaryCache cache;
  EXPECT_EQ(LoadCached("opencl", "key"), "");
  StoreCached("opencl", "key", std::string("a\0b", 3));
  EXPECT_EQ(LoadCached("opencl", "key"), std::string("a\0b", 3));
  EXPECT_EQ(LoadCached("opencl", "another key"), "");
}

TEST(ProgramCache, ACorruptOrForeignFileIsAMiss) {
  const TemporaryCache cache;
  StoreCached("opencl", "key", "program");
  std::filesystem::copy_file(CachePath("opencl", "key"),
                             CachePath("opencl", "other"));  // another key's program under this one's name
  EXPECT_EQ(LoadCached("opencl", "other"), "");
  std::fstream file(CachePath("opencl", "key"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('x');
  file.close();
  EXPECT_EQ(LoadCached("opencl", "key"), "");
  std::filesystem::resize_file(CachePath("opencl", "key"), 10);
  EXPECT_EQ(LoadCached("opencl", "key"), "");
}

TEST(ProgramCache, AFolderThatCannotBeIsNoError) {
  const TemporaryCache cache;
  std::ofstream(cache.folder()) << "a file where the folder should be";
  StoreCached("opencl", "key", "program");
  EXPECT_EQ(LoadCached("opencl", "key"), "");
}

// A driver runs what lies there.
TEST(ProgramCache, AFolderOfOthersIsNotUsedAndSaidOnce) {
  namespace fs = std::filesystem;
  const TemporaryCache cache;
  StoreCached("opencl", "key", "program");
  ASSERT_EQ(LoadCached("opencl", "key"), "program");
  EXPECT_EQ(fs::status(cache.folder()).permissions(), fs::perms::owner_all);
  fs::permissions(cache.folder(), fs::perms::group_write, fs::perm_options::add);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(LoadCached("opencl", "key"), "");
    EXPECT_EQ(CacheFolder(), "");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("is not used for compiled programs, because other users may write to it (mode 0720)"),
            std::string::npos)
      << said;
  fs::permissions(cache.folder(), fs::perms::group_write, fs::perm_options::remove);
  ASSERT_EQ(LoadCached("opencl", "key"), "program");
  fs::permissions(CachePath("opencl", "key"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(LoadCached("opencl", "key"), "") << "a file that others may have written";
  const std::string link = cache.folder().string() + "_link";
  fs::remove(link);
  fs::create_directory_symlink(cache.folder(), link);
  setenv("PLUMB_CACHE_DIR", link.c_str(), 1);
  EXPECT_EQ(CacheFolder(), link) << "this user's own link to his own folder";
  if (geteuid() == 0 && lchown(link.c_str(), 1, 1) == 0) {  // only root gives away
    EXPECT_EQ(CacheFolder(), "") << "another user's link";
    fs::remove(link);
    setenv("PLUMB_CACHE_DIR", cache.folder().c_str(), 1);
    ASSERT_EQ(chown(cache.folder().c_str(), 1, 1), 0);
    EXPECT_EQ(CacheFolder(), "") << "another user's folder";
  }
  fs::remove(link);
}

class WithEnvironment {
 public:
  WithEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~WithEnvironment() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(ProgramCache, WithoutAUsableHomeItIsAFolderOfThisUserAlone) {
  unsetenv("PLUMB_CACHE_DIR");
  const std::string temporary = testing::TempDir() + "plumb_no_home_" + std::to_string(getpid());
  std::filesystem::create_directories(temporary);
  const WithEnvironment xdg("XDG_CACHE_HOME", ""), home("HOME", "/dev/null"), tmp("TMPDIR", temporary);
  const std::string folder = CacheFolder();
  EXPECT_EQ(folder, temporary + "/plumb-" + std::to_string(geteuid()));
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  EXPECT_EQ(CacheFolder(), "") << "others may have put programs there";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory_symlink("/tmp", folder);
  EXPECT_EQ(CacheFolder(), "") << "somebody's link";
  std::filesystem::remove_all(temporary);
  const WithEnvironment usable("HOME", temporary);
  EXPECT_EQ(CacheFolder(), temporary + "/.cache/plumb");
  std::filesystem::remove_all(temporary);
}

TEST(PoclCache, AnUnusableHomeIsReplacedOrSaid) {
  const TemporaryCache cache;
  const WithEnvironment xdg("XDG_CACHE_HOME", ""), home("HOME", "/dev/null"), none("POCL_CACHE_DIR", "");
  EXPECT_EQ(PreparePoclCache(), "");
  EXPECT_EQ(std::string(std::getenv("POCL_CACHE_DIR")), cache.folder().string() + "/pocl");
  setenv("POCL_CACHE_DIR", "", 1);
  setenv("PLUMB_CACHE_DIR", "/dev/null", 1);
  EXPECT_EQ(PreparePoclCache(),
            "HOME is '/dev/null', where nothing can be written; PoCL needs a folder for what it compiles: set "
            "HOME or POCL_CACHE_DIR to one that can be written");
  setenv("POCL_CACHE_DIR", "/dev/null/pocl", 1);
  EXPECT_EQ(PreparePoclCache().rfind("POCL_CACHE_DIR is '/dev/null/pocl', where nothing can be written", 0), 0u);
}

TEST(PoclCache, AFolderOfOthersIsReplaced) {
  const TemporaryCache cache;
  const std::string open = cache.folder().string() + "_open";
  std::filesystem::create_directories(open);
  std::filesystem::permissions(open, std::filesystem::perms::all);
  const WithEnvironment own("POCL_CACHE_DIR", open);
  EXPECT_EQ(PreparePoclCache(), "");
  EXPECT_EQ(std::string(std::getenv("POCL_CACHE_DIR")), cache.folder().string() + "/pocl");
  setenv("POCL_CACHE_DIR", open.c_str(), 1);
  setenv("PLUMB_CACHE_DIR", "", 1);
  EXPECT_NE(PreparePoclCache().find("where others may write, too; PoCL needs a folder"), std::string::npos);
  std::filesystem::remove_all(open);
}

TEST(OpenclPrograms, TheListenerHearsOfEveryCompilation) {
  if (const auto found = Context::ListAdapters(); !found.ok()) GTEST_SKIP() << found.status().message();
  const TemporaryCache cache;
  Context* context = Context::Open(0).value();
  std::vector<Compiling> heard;
  SetCompileListener([&](const Compiling& event) { heard.push_back(event); });
  const std::string options = context->Options(Storage::kF32);
  ASSERT_TRUE(context->Build("reorder.cl", options).ok());
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].device, "OPENCL");
  EXPECT_EQ(heard[0].what, "reorder.cl");
  EXPECT_EQ(heard[0].cache_folder, cache.folder().string());
  EXPECT_FALSE(heard[0].done);
  EXPECT_TRUE(heard[1].done);
  ASSERT_TRUE(context->Build("reorder.cl", options).ok());
  EXPECT_EQ(heard.size(), 2u) << "out of the cache";
  SetCompileListener(nullptr);
}

}  // namespace
}  // namespace plumb::opencl
