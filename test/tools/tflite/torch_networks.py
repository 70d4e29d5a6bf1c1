# SPDX-License-Identifier: Apache-2.0
"""Trained PyTorch networks made float .tflite files by litert-torch: those that packages ship, and one of handwritten
digits that is trained here. A Python with litert-torch, onnx2torch, facenet-pytorch and scikit-learn runs it. A file
that is there is left.

    torch_networks.py --work FOLDER --packages ONNX     # writes FOLDER/*.tflite; ONNX: where the .onnx files lie
"""
import argparse
import importlib
import pathlib
import sys

# (name, package, licence, its class, input's shape)
OWN = [("pnet", "facenet-pytorch==2.6.0", "MIT", "PNet", (1, 3, 48, 60)),
       ("rnet", "facenet-pytorch==2.6.0", "MIT", "RNet", (1, 3, 24, 24)),
       ("onet", "facenet-pytorch==2.6.0", "MIT", "ONet", (1, 3, 48, 48))]
# (name, package, licence, name of its ONNX file, input's shape)
BY_ONNX = [("wake_word", "openwakeword==0.4.0", "Apache-2.0", "alexa_v0.1.onnx", (1, 16, 96)),
           ("wake_weather", "openwakeword==0.4.0", "Apache-2.0", "weather_v0.1.onnx", (1, 22, 96)),
           ("wake_timer", "openwakeword==0.4.0", "Apache-2.0", "timer_v0.1.onnx", (1, 34, 96)),
           ("speech_quality", "speechmos==0.0.1.1", "MIT", "dnsmos_models/model_v8.onnx", (1, 900, 120)),
           ("speech_signal", "speechmos==0.0.1.1", "MIT", "dnsmos_models/sig.onnx", (1, 901, 161)),
           ("speech_background", "speechmos==0.0.1.1", "MIT", "dnsmos_models/bak_ovr.onnx", (1, 901, 161))]
DIGITS = ("digits", "scikit-learn", "BSD-3-Clause")


def own_network(where):
    module = importlib.import_module("facenet_pytorch.models.mtcnn")
    return getattr(module, where)(pretrained=True)


def onnx_network(path, shape):
    """The file with a static input and all weights as initializers, as a module."""
    import onnx
    from onnx2torch import convert
    model = onnx.load(path)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for dim, size in zip(dims, shape):
        dim.Clear()
        dim.dim_value = size
    for node in [n for n in model.graph.node if n.op_type == "Constant" and n.attribute[0].name == "value"]:
        node.attribute[0].t.name = node.output[0]
        model.graph.initializer.append(node.attribute[0].t)
        model.graph.node.remove(node)
    return convert(model)


def digits_network():
    """A small CNN trained on scikit-learn's images of 8 x 8 for some seconds."""
    import torch
    from sklearn.datasets import load_digits
    torch.manual_seed(1)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    y = torch.tensor(labels)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, stride=2, padding=1), torch.nn.Hardswish(), torch.nn.Flatten(),
        torch.nn.Linear(128, 10), torch.nn.Softmax(1))
    steps = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(60):
        loss = torch.nn.functional.nll_loss(torch.log(network(x) + 1e-9), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
    return network, x[:1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--packages", type=pathlib.Path, required=True, help="a folder of unpacked wheels")
    options = parser.parse_args()
    import litert_torch
    import torch
    options.work.mkdir(parents=True, exist_ok=True)

    def export(name, make, shape):
        target = options.work / f"{name}.tflite"
        if target.exists():
            return
        try:
            network, sample = make(), torch.rand(shape) if shape else None
            if shape is None:
                network, sample = network
            litert_torch.convert(network.eval(), (sample,)).export(str(target))
        except Exception as error:  # noqa: BLE001, of a converter, which says it in many ways
            target.unlink(missing_ok=True)
            print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}", file=sys.stderr)
    export(DIGITS[0], digits_network, None)
    for name, _, _, where, shape in OWN:
        export(name, lambda where=where: own_network(where), shape)
    for name, package, _, where, shape in BY_ONNX:
        found = sorted(options.packages.glob(f"**/{pathlib.PurePath(where).name}"))
        if found:
            export(name, lambda found=found, shape=shape: onnx_network(found[0], shape), shape)
        else:
            print(f"{name}: {package} is not under {options.packages}", file=sys.stderr)


if __name__ == "__main__":
    main()
