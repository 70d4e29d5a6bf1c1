// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/context.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/embed.h"
#include "base/log.h"
#include "device/opencl/pocl_cache.h"
#include "device/shared/compiling.h"
#include "device/shared/kernel_choice.h"
#include "device/shared/program_cache.h"

namespace plumb::opencl {

extern const EmbeddedFile kEmbedded[];
extern const size_t kNumEmbedded;

namespace {

// f32 division and square root are correctly rounded where the driver can, subnormals are kept; FMA is allowed.
constexpr char kOptions[] =
    "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -w";  // PoCL counts warnings on the screen
constexpr size_t kLogBytes = 2000;
constexpr char kCacheKind[] = "opencl";

std::string PlatformText(const Api& api, cl_platform_id platform, cl_platform_info what) {
  size_t size = 0;
  if (api.clGetPlatformInfo(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "?";
  std::string text(size, 0);
  api.clGetPlatformInfo(platform, what, size, text.data(), nullptr);
  return text.c_str();
}

std::string DeviceText(const Api& api, cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (api.clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "?";
  std::string text(size, 0);
  api.clGetDeviceInfo(device, what, size, text.data(), nullptr);
  text = text.c_str();
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

template <class T>
T DeviceValue(const Api& api, cl_device_id device, cl_device_info what) {
  T value{};
  api.clGetDeviceInfo(device, what, sizeof(value), &value, nullptr);
  return value;
}

Adapter Describe(const Api& api, cl_platform_id platform, cl_device_id device) {
  Adapter a;
  a.platform = platform;
  a.device = device;
  a.platform_name = PlatformText(api, platform, CL_PLATFORM_NAME);
  a.name = DeviceText(api, device, CL_DEVICE_NAME);
  a.version = DeviceText(api, device, CL_DEVICE_VERSION);
  a.driver = DeviceText(api, device, CL_DRIVER_VERSION);
  a.cpu = DeviceValue<cl_device_type>(api, device, CL_DEVICE_TYPE) == CL_DEVICE_TYPE_CPU;
  a.has_f64 = DeviceText(api, device, CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
  a.max_buffer = DeviceValue<cl_ulong>(api, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  a.memory = DeviceValue<cl_ulong>(api, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  a.units = DeviceValue<cl_uint>(api, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  return a;
}

const EmbeddedFile* FindFile(const std::string& name) {
  for (size_t i = 0; i < kNumEmbedded; ++i) {
    if (name == kEmbedded[i].name) return &kEmbedded[i];
  }
  return nullptr;
}

std::string FirstLines(const std::string& log) {
  return log.size() <= kLogBytes ? log : fmt::format("{}\n... ({} bytes)", log.substr(0, kLogBytes), log.size());
}

}  // namespace

std::string Adapter::Description() const {
  return fmt::format("{} ({}, {}, driver {})", name, platform_name, version, driver);
}

Result<std::string> KernelSource(const std::string& file) {
  const EmbeddedFile* embedded = FindFile(file);
  if (embedded == nullptr) return Status::NotFound(fmt::format("there is no kernel file '{}'", file));
  const std::string text(embedded->text());
  constexpr char kInclude[] = "#include \"";
  std::string source;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.rfind(kInclude, 0) != 0) {
      source += line + "\n";
      continue;
    }
    const size_t begin = sizeof(kInclude) - 1;
    PLUMB_ASSIGN_OR_RETURN(const std::string included, KernelSource(line.substr(begin, line.find('"', begin) - begin)));
    source += included;
  }
  return source;
}

std::vector<std::string> KernelFiles() {
  std::vector<std::string> files;
  for (size_t i = 0; i < kNumEmbedded; ++i) {
    const std::string name = kEmbedded[i].name;
    if (name.size() > 3 && name.substr(name.size() - 3) == ".cl") files.push_back(name);
  }
  return files;
}

Result<std::vector<Adapter>> Context::ListAdapters() {
  const std::string without_cache = PreparePoclCache();
  PLUMB_ASSIGN_OR_RETURN(const Api* api, LoadApi());
  constexpr char kInstall[] = "install pocl-opencl-icd (CPU) or the GPU maker's driver";
  cl_uint count = 0;
  const cl_int code = api->clGetPlatformIDs(0, nullptr, &count);
  if (code != CL_SUCCESS || count == 0) {
    return Status::NotFound(
        fmt::format("no OpenCL driver is installed (clGetPlatformIDs: {}): {}", ErrorName(code), kInstall));
  }
  std::vector<cl_platform_id> platforms(count);
  PLUMB_RETURN_IF_ERROR(Check(api->clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs"));
  std::vector<Adapter> adapters;
  std::string empty;  // platforms without a device
  for (const cl_platform_id platform : platforms) {
    cl_uint devices = 0;
    const cl_int found = api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (found != CL_SUCCESS) {
      const std::string name = PlatformText(*api, platform, CL_PLATFORM_NAME);
      empty += fmt::format("{}{}': {}", empty.empty() ? "'" : ", '", name, ErrorName(found));
      if (name == "Portable Computing Language" && !without_cache.empty()) empty += ", because " + without_cache;
      Log(LogLevel::kDebug, fmt::format("OPENCL driver '{}': refused: {} (clGetDeviceIDs)", name, ErrorName(found)));
      continue;
    }
    std::vector<cl_device_id> ids(devices);
    PLUMB_RETURN_IF_ERROR(
        Check(api->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, devices, ids.data(), nullptr), "clGetDeviceIDs"));
    for (const cl_device_id id : ids) adapters.push_back(Describe(*api, platform, id));
  }
  if (adapters.empty()) {
    return Status::NotFound(fmt::format("the OpenCL drivers that are installed find no device ({}){}", empty,
                                        without_cache.empty() ? std::string(": ") + kInstall : ""));
  }
  std::stable_sort(adapters.begin(), adapters.end(),
                   [](const Adapter& a, const Adapter& b) { return !a.cpu && b.cpu; });
  for (size_t i = 0; i < adapters.size() && Logs(LogLevel::kDebug); ++i) {
    Log(LogLevel::kDebug, fmt::format("OPENCL adapter {}: {}", i, adapters[i].Description()));
  }
  return adapters;
}

Result<Context*> Context::Open(int index) {
  static std::mutex mutex;
  static auto* contexts = new std::map<int, Context*>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto it = contexts->find(index); it != contexts->end()) return it->second;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Adapter> adapters, ListAdapters());
  if (index < 0 || index >= static_cast<int>(adapters.size())) {
    return Status::InvalidArgument(
        fmt::format("there is no OpenCL device {}: this machine has {}, counted from 0 (device_info lists them)", index,
                    adapters.size()));
  }
  PLUMB_ASSIGN_OR_RETURN(const Api* api, LoadApi());
  const Adapter& adapter = adapters[static_cast<size_t>(index)];
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(adapter.platform), 0};
  cl_int code = CL_SUCCESS;
  const cl_context handle = api->clCreateContext(properties, 1, &adapter.device, nullptr, nullptr, &code);
  PLUMB_RETURN_IF_ERROR(Check(code, "clCreateContext").AddContext(adapter.Description()));
  auto* context = new Context(*api, adapter, handle);
  PLUMB_RETURN_IF_ERROR(context->ReadEnvironment());
  (*contexts)[index] = context;
  return context;
}

Context::Context(const Api& api, Adapter adapter, cl_context context)
    : api_(api), adapter_(std::move(adapter)), context_(context), cpu_shapes_(adapter_.cpu) {}

Status Context::ReadEnvironment() {
  PLUMB_ASSIGN_OR_RETURN(const std::optional<bool> shapes, CpuShapesFromEnvironment("PLUMB_OPENCL_SHAPES"));
  PLUMB_ASSIGN_OR_RETURN(const std::optional<int> tile, WinogradTileFromEnvironment("PLUMB_OPENCL_WINOGRAD", {4}));
  cpu_shapes_ = shapes.value_or(cpu_shapes_);
  if (tile) winograd_ = *tile == 0 ? WinogradUse::kNever : WinogradUse::kAlways;
  return Status::Ok();
}

std::string Context::Options(Storage storage) const {
  return std::string(kOptions) + (storage == Storage::kF16 ? " -DPLUMB_F16" : "") +
         (adapter_.has_f64 ? " -DPLUMB_F64" : "");
}

std::string Context::CacheKey(const std::string& source, const std::string& options) const {
  return fmt::format("{}\n{}\n{}", adapter_.Description(), options, source);
}

Result<cl_program> Context::Program(const std::string& file, Storage storage) {
  const std::string options = Options(storage);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, added] = programs_.emplace(fmt::format("{} {}", options, file), nullptr);
  if (!added && it->second != nullptr) return it->second;
  PLUMB_ASSIGN_OR_RETURN(it->second, Build(file, options));
  return it->second;
}

Result<cl_program> Context::Build(const std::string& file, const std::string& options) {
  PLUMB_ASSIGN_OR_RETURN(const std::string source, KernelSource(file));
  const std::string key = CacheKey(source, options);
  const std::string cached = LoadCached(kCacheKind, key);
  if (!cached.empty()) {
    auto program = BuildFromBinary(cached, options);
    if (program.ok()) return program;
    Log(LogLevel::kDebug,
        fmt::format("OPENCL driver: refused its own binary of {}: {}", file, program.status().message()));
  }
  Log(LogLevel::kDebug, "OPENCL compiles " + file);
  const CompilingScope compiling("OPENCL", file, CacheFolder());
  PLUMB_ASSIGN_OR_RETURN(const cl_program program, BuildFromSource(source, file, options));
  StoreCached(kCacheKind, key, Binary(program));
  return program;
}

Result<cl_program> Context::BuildFromBinary(const std::string& binary, const std::string& options) {
  const size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  const cl_program program =
      api_.clCreateProgramWithBinary(context_, 1, &adapter_.device, &size, &bytes, &status, &code);
  PLUMB_RETURN_IF_ERROR(Check(code, "clCreateProgramWithBinary"));
  code = status != CL_SUCCESS ? status
                              : api_.clBuildProgram(program, 1, &adapter_.device, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    api_.clReleaseProgram(program);
    return Check(code, "clBuildProgram");
  }
  return program;
}

Result<cl_program> Context::BuildFromSource(const std::string& source, const std::string& file,
                                            const std::string& options) {
  const char* text = source.c_str();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  const cl_program program = api_.clCreateProgramWithSource(context_, 1, &text, &size, &code);
  PLUMB_RETURN_IF_ERROR(Check(code, "clCreateProgramWithSource").AddContext(fmt::format("kernel file '{}'", file)));
  code = api_.clBuildProgram(program, 1, &adapter_.device, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  size_t log_size = 0;
  api_.clGetProgramBuildInfo(program, adapter_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &log_size);
  std::string log(log_size, 0);
  api_.clGetProgramBuildInfo(program, adapter_.device, CL_PROGRAM_BUILD_LOG, log_size, log.data(), nullptr);
  api_.clReleaseProgram(program);
  return Status::DeviceError(
      fmt::format("kernel file '{}' does not compile on {}: clBuildProgram: {}; the build log begins:\n{}", file,
                  adapter_.Description(), ErrorName(code), FirstLines(log.c_str())));
}

std::string Context::Binary(cl_program program) const {
  size_t size = 0;
  if (api_.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) != CL_SUCCESS) return "";
  std::string binary(size, 0);
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (api_.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr) != CL_SUCCESS) return "";
  return binary;
}

}  // namespace plumb::opencl
