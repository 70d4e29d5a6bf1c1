#include "golden_run.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "plumb/tensor_file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = -1;
  std::string out;
};

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Outcome RunShell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  size_t count;
  while ((count = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0) outcome.out.append(buffer, count);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// $PLUMB_PYTHON; else the environment that platforms/linux/run.sh makes, build/venv beside the build that this program lies in;
// else what the shell finds.
std::string Python() {
  const char* python = std::getenv("PLUMB_PYTHON");
  if (python != nullptr && *python != '\0') return python;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path venv = self.parent_path().parent_path().parent_path() / "venv/bin/python";
    if (fs::exists(venv, error)) return venv.string();
  }
  return "python3";
}

}  // namespace

GoldenRun::~GoldenRun() {
  std::error_code error;
  if (!work_.empty()) fs::remove_all(work_, error);
}

Result<std::string> GoldenRun::OnnxRuntime(const std::string& model, const std::map<std::string, Tensor>& inputs,
                                           const std::vector<std::string>& constants) {
  if (model.size() < 5 || model.substr(model.size() - 5) != ".onnx") {
    return Status::InvalidArgument("--golden onnxruntime runs the original .onnx, and '" + model +
                                   "' is none: give it with -m, or make " +
                                   "the golden with plumb-golden and give its folder");
  }
  const std::string python = Python();
  const Outcome there = RunShell(ShellQuoted(python) + " -c 'import plumb_golden, onnx, onnxruntime'");
  if (there.exit_code != 0) {
    return Status::InvalidArgument(
        "--golden onnxruntime needs plumb_golden, onnx and onnxruntime in " + python + " (" + LastLine(there.out) +
        "): platforms/linux/run.sh installs them into build/venv; PLUMB_PYTHON names another Python that has them");
  }
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "plumb_golden_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return Status::IoError("cannot make a folder like '" + pattern + "'");
  work_ = pattern;
  std::string command =
      ShellQuoted(python) + " -m plumb_golden onnx " + ShellQuoted(model) + " -o " + ShellQuoted(work_ + "/golden");
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : inputs) tensors.push_back({name, value});
  if (!tensors.empty()) {
    PLUMB_RETURN_IF_ERROR(WriteTensors(work_ + "/inputs.npz", tensors));
    command += " --input " + ShellQuoted(work_ + "/inputs.npz");
  }
  for (const std::string& constant : constants) command += " --constant " + ShellQuoted(constant);
  const Outcome run = RunShell(command);
  if (run.exit_code == 0) return work_ + "/golden";
  return Status::InvalidArgument("plumb_golden on '" + model + "': " + LastLine(run.out));
}

}  // namespace plumb
