// SPDX-License-Identifier: Apache-2.0
#include "format/next_step.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "plumb/model.h"

namespace plumb {

const std::vector<ForeignEnding>& ForeignEndings() {
  // clang-format off
  static const auto* endings = new std::vector<ForeignEnding>{
      {{".pt", ".pth", ".pt2", ".ckpt"}, "PyTorch's",
       "torch.onnx.export writes the .onnx to check; what PyTorch itself computes is judged with "
       "plumb-golden torch net.py --onnx model.onnx -o dump, then SessionOptions::subject dump"},
      {{".safetensors"}, "weights alone",
       "export the model that they belong to as .onnx (torch.onnx.export, optimum-cli export onnx); a file of a run's "
       "tensors goes to SessionOptions::subject"},
      {{".gguf", ".ggml"}, "ggml's",
       "no model is needed: dump the run through examples/hooks/ggml_hook.h, then SessionOptions::subject plumb_dump"},
      {{".h5", ".hdf5", ".keras", ".pb"}, "TensorFlow's",
       "python -m tf2onnx.convert, or Keras's model.export(path, format=\"onnx\"), writes the .onnx to check"},
      {{".mnn"}, "MNN's",
       "give the .onnx that it was made of; plumb-golden mnn model.onnx -o dump writes what MNN computes, then "
       "SessionOptions::subject dump"},
      {{".param", ".bin", ".ncnn.param"}, "ncnn's",
       "give the .onnx that it was made of; plumb-golden ncnn model.onnx -o dump writes what ncnn computes, then "
       "SessionOptions::subject dump"},
      {{".xml"}, "OpenVINO's",
       "plumb-golden openvino model.xml -o dump writes what OpenVINO computes, then SessionOptions::subject dump "
       "with -m of the .onnx that it was made of"},
      {{".engine", ".plan", ".trt"}, "TensorRT's",
       "polygraphy run model.onnx --trt --trt-outputs mark all --save-outputs outputs.json writes what it computes, "
       "then SessionOptions::subject outputs.json with -m model.onnx"},
      {{".mlmodel", ".mlpackage", ".mlmodelc"}, "Core ML's",
       "give the .onnx of the same network, and with SessionOptions::subject what Core ML computed"},
      {{".pte"}, "ExecuTorch's",
       "plumb-golden read net.etdp -o dump reads what its developer tools wrote, then SessionOptions::subject dump "
       "with -m of the .onnx of the same program"},
      {{".dlc", ".serialized"}, "Qualcomm's",
       "give the .onnx that it was made of, and with SessionOptions::subject the output folder of "
       "qnn-net-run or snpe-net-run --debug"},
      {{".om", ".air", ".mindir"}, "Ascend's",
       "give the .onnx that it was made of, and with SessionOptions::subject the dump_path that msprobe wrote"},
      {{".rknn"}, "Rockchip's",
       "give the .onnx that it was made of, and with SessionOptions::subject a folder of .npy files "
       "named after its tensors"},
      {{".bmodel"}, "Sophon's",
       "give the .onnx that it was made of, and with SessionOptions::subject its .dat.bmrt with "
       "PairingOptions::tensors NAME=1,3,224,224"},
      {{".pdmodel", ".pdiparams"}, "PaddlePaddle's", "paddle2onnx writes the .onnx to check"},
      {{".caffemodel", ".prototxt"}, "Caffe's", "convert it to .onnx, or to .tnnproto with TNN's converter"},
      {{".npy", ".npz", ".txt", ".dat", ".raw", ".png", ".jpg", ".jpeg", ".bmp", ".json"}, "no model",
       "tensors and images are given with -i, those that a runtime computed with SessionOptions::subject"},
      {{".zip", ".gz", ".zst", ".tar"}, "packed", "unpack it and name the model in it"},
  };
  // clang-format on
  return *endings;
}

std::string NextStepFor(const std::string& path) {
  for (const ForeignEnding& row : ForeignEndings()) {
    const bool is = std::any_of(row.endings.begin(), row.endings.end(),
                                [&](const std::string& ending) { return EndsWith(path, ending); });
    if (is) return fmt::format("{}; Plumb reads {}: {} (doc/subjects.md)", row.whose, ModelSuffixes(), row.next);
  }
  return "";
}

}  // namespace plumb
