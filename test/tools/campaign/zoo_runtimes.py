# SPDX-License-Identifier: Apache-2.0
"""Runtimes that plumb-golden has no recipe for: runs an .onnx, every tensor that its nodes compute among its outputs,
and writes them with the inputs into an .npz that is named after the model's tensors.

    zoo_runtimes.py RUNTIME net.onnx inputs.npz dump.npz
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx


def exposed(model):
    """The model with every node's outputs among its own."""
    whole = onnx.shape_inference.infer_shapes(model)
    known = {value.name: value for value in whole.graph.value_info}
    have = {value.name for value in whole.graph.output}
    whole.graph.output.extend(known[name] for node in whole.graph.node for name in node.output
                              if name and name not in have)
    return whole


def names_of(model):
    return [value.name for value in model.graph.output]


def tract(model, arrays, half=False):
    import tract as runtime
    model = exposed(model)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "net.onnx"
        onnx.save(model, path)
        typed = runtime.onnx().load(path).into_model()
    if half:
        typed.transform(runtime.FloatPrecision(runtime.DatumType.F32, runtime.DatumType.F16))
    order = [typed.input_name(i) for i in range(typed.input_count())]
    given = {name: x.astype(np.float16) if half and x.dtype == np.float32 else x for name, x in arrays.items()}
    results = typed.into_runnable().run([given[name] for name in order])
    return {**given, **dict(zip(names_of(model), (result.to_numpy() for result in results)))}


def opencv(model, arrays):
    import cv2
    model = exposed(model)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, x in arrays.items():
        net.setInput(x, name)
    names = names_of(model)
    # What it fused away has no values.
    return {name: value for name, value in zip(names, net.forward(names)) if value is not None}


def onnx_reference(model, arrays):
    from onnx.reference import ReferenceEvaluator
    model = exposed(model)
    return dict(zip(names_of(model), ReferenceEvaluator(model).run(None, arrays)))


def jax(model, arrays):
    from jaxonnxruntime import backend
    model = exposed(model)
    return dict(zip(names_of(model), map(np.asarray, backend.run_model(model, arrays))))


def iree(model, arrays):
    import iree.runtime as runtime
    model = exposed(model)
    tools = pathlib.Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        net, mlir, code = (str(pathlib.Path(folder) / name) for name in ("net.onnx", "net.mlir", "net.vmfb"))
        onnx.save(model, net)
        for words in (["iree-import-onnx", net, "-o", mlir],
                      ["iree-compile", mlir, "-o", code, "--iree-hal-target-device=local",
                       "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]):
            done = subprocess.run([str(tools / words[0]), *words[1:]], capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{words[0]}: {done.stderr.strip().splitlines()[:1]}")
        module = runtime.load_vm_flatbuffer_file(code, driver="local-sync")
        results = getattr(module, model.graph.name)(*(arrays[value.name] for value in model.graph.input))
    results = results if isinstance(results, (tuple, list)) else [results]
    return dict(zip(names_of(model), (np.array(result.to_host()) for result in results)))


RUNS = {
    "tract": tract, "tract_f16": lambda model, arrays: tract(model, arrays, True), "opencv": opencv, "jax": jax,
    "onnx_reference": onnx_reference, "iree": iree,
}


def main():
    runtime, path, given, dump = sys.argv[1:]
    with np.load(given) as file:
        arrays = dict(file)
    made = RUNS[runtime](onnx.load(path), arrays)
    np.savez(dump, **{name: np.asarray(x) for name, x in {**arrays, **made}.items()})


if __name__ == "__main__":
    main()
