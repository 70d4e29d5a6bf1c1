// SPDX-License-Identifier: Apache-2.0
// show.py of a case: what another runtime makes of model.onnx, judged by reference.npz and tau.npz.
#include <fmt/core.h>

#include <algorithm>

#include "plumb/tool/printing.h"
#include "plumb/tool/step_case.h"
#include "session/case_files.h"

namespace plumb {
namespace {

// Of each runtime what its script is told apart by. `body` makes {name of an output: array} from `given`.
struct ShownRuntime {
  const char* name;    // as --show and plumb-golden call it
  const char* title;   // for people
  const char* wheels;  // for pip
  const char* imports;
  const char* body;
};

constexpr const char* kBegin =
    R"(# Judges {title} alone by this case: pip install {wheels}; python3 show.py
import os, subprocess, sys
import {imports}
os.chdir(sys.path[0])
given, reference, tau = (np.load(name) for name in ("inputs.npz", "reference.npz", "tau.npz"))
)";

constexpr const char* kEnd =
    R"(worst = []
for name in reference:
    made, right = np.reshape(found[name], reference[name].shape).astype("f8"), reference[name].astype("f8")
    off = np.where((made == right) | (np.isnan(made) & np.isnan(right)), 0, np.abs(made - right))
    worst.append(np.nan_to_num(np.max(off / np.maximum(tau[name], 1e-300), initial=0), nan=np.inf))
    print(f"{name}: off by {off.max(initial=0):.3g}, E {worst[-1]:.3g}: {'wrong' if worst[-1] > 4 else 'right'}")
sys.exit(int(max(worst) > 4))
)";

constexpr ShownRuntime kRuntimes[] = {
    {"onnxruntime", "ONNX Runtime", "numpy onnxruntime", "numpy as np, onnxruntime",
     R"(session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
names = [one.name for one in session.get_outputs()]
found = dict(zip(names, session.run(names, {one.name: given[one.name] for one in session.get_inputs()})))
)"},
    {"openvino", "OpenVINO", "numpy openvino", "numpy as np, openvino",
     R"(network = openvino.Core().compile_model("model.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
made = network({port: given[port.any_name] for port in network.inputs})
found = {name: made[port] for port in network.outputs for name in port.names}
)"},
    {"mnn", "MNN", "MNN numpy", "MNN, _tools, numpy as np",
     R"(words = ["-f", "ONNX", "--modelFile", "model.onnx", "--MNNModel", "model.mnn", "--keepInputFormat", "1"]
_tools.mnnconvert(["mnnconvert", *words])
network = MNN.nn.load_module_from_file("model.mnn", list(given), list(reference))
ports = [MNN.expr.const(x if x.dtype.kind == "f" else x.astype("i4"), x.shape, MNN.expr.NCHW) for x in given.values()]
made = [MNN.expr.convert(one, MNN.expr.NCHW).read() for one in network.forward(ports)]
found = dict(zip(reference, made))
)"},
    {"ncnn", "ncnn", "ncnn numpy onnx pnnx", "ncnn, numpy as np, onnx, pnnx",
     R"(shapes = [f"{[*x.shape]}{x.dtype.kind}{8 * x.dtype.itemsize}".replace(" ", "") for x in given.values()]
subprocess.run([pnnx.EXEC_PATH, "model.onnx", "fp16=0", "inputshape=" + ",".join(shapes)], capture_output=True)
network = ncnn.Net()
network.opt.use_fp16_packed = network.opt.use_fp16_storage = network.opt.use_fp16_arithmetic = False
network.load_param("model.ncnn.param"), network.load_model("model.ncnn.bin")
run = network.create_extractor()
_ = [run.input(f"in{i}", ncnn.Mat(y := x[0].astype(x.dtype.kind + "4")).clone()) for i, x in enumerate(given.values())]
found = {one.name: np.array(run.extract(f"out{i}")[1]) for i, one in enumerate(onnx.load("model.onnx").graph.output)}
)"},
    {"torch", "PyTorch", "numpy onnx onnx2torch torch", "numpy as np, onnx, onnx2torch, torch",
     R"(network = onnx2torch.convert("model.onnx").eval()
names = [one.name for one in onnx.load("model.onnx").graph.output]
made = network(*(torch.from_numpy(x) for x in given.values()))
found = dict(zip(names, (one.detach().numpy() for one in (made if len(names) > 1 else [made]))))
)"},
    {"tract", "tract", "numpy onnx tract", "numpy as np, onnx, tract",
     R"(network = tract.onnx().load("model.onnx").into_model()
names = [one.name for one in onnx.load("model.onnx").graph.output]
order = [network.input_name(i) for i in range(network.input_count())]
made = network.into_runnable().run([given[name] for name in order])
found = dict(zip(names, (one.to_numpy() for one in made)))
)"},
    {"opencv", "OpenCV", "numpy onnx opencv-python-headless", "cv2, numpy as np, onnx",
     R"(network = cv2.dnn.readNetFromONNX("model.onnx")
names = [one.name for one in onnx.load("model.onnx").graph.output]
for name in given:
    network.setInput(given[name], name)
found = dict(zip(names, network.forward(names)))
)"},
};

const ShownRuntime& RuntimeOf(const std::string& name) {
  const auto* found = std::find_if(std::begin(kRuntimes), std::end(kRuntimes),
                                   [&](const ShownRuntime& one) { return name == one.name; });
  return found == std::end(kRuntimes) ? kRuntimes[0] : *found;
}

}  // namespace

Status CheckShown(const std::string& runtime) {
  std::vector<std::string> names;
  for (const ShownRuntime& one : kRuntimes) names.emplace_back(one.name);
  if (runtime.empty() || std::find(names.begin(), names.end(), runtime) != names.end()) return Status::Ok();
  if (runtime == "litert")
    return Status::NotSupported(
        "ReduceOptions::show: LiteRT reads no .onnx, and a case of a .tflite is written as tnnproto");
  return Status::InvalidArgument(UnknownWord("ReduceOptions::show", runtime, names));
}

std::string ShownByCommand(const std::string& command) {
  for (const char* program : {"plumb-golden", "plumb_golden"}) {
    const size_t at = command.find(program);
    if (at == std::string::npos) continue;
    const size_t begin = command.find_first_not_of(' ', at + std::string(program).size());
    if (begin == std::string::npos) continue;
    const std::string name = command.substr(begin, command.find(' ', begin) - begin);
    if (name != "onnx" && CheckShown(name).ok()) return name;
  }
  return "";
}

const char* ShownTitle(const std::string& runtime) { return RuntimeOf(runtime).title; }

std::string ShowPython(const std::string& runtime) {
  const ShownRuntime& shown = RuntimeOf(runtime);
  std::string text = kBegin;
  for (const auto& [mark, value] :
       {std::pair("{title}", shown.title), {"{wheels}", shown.wheels}, {"{imports}", shown.imports}})
    text.replace(text.find(mark), std::string(mark).size(), value);
  return text + shown.body + kEnd;
}

}  // namespace plumb
