# SPDX-License-Identifier: Apache-2.0
"""ggml for hooks_test.py and ggml_graph_test.py: its CPU backend out of llama-cpp-python's source distribution (PyPI),
compiled once; the network of ggml_program.c as .onnx."""
import pathlib
import shutil
import subprocess
import sys
import tarfile

import packages

PACKAGE = "llama-cpp-python==0.3.36"
SHAPES = {"x": (12, 32), "q_w": (32, 32), "k_w": (32, 32), "v_w": (32, 32), "w": (10, 32), "b": (10,)}  # the program's
LIBRARIES = ("ggml", "ggml-cpu", "ggml-base")


def weights():
    import numpy as np
    rng = np.random.default_rng(3)
    return {name: (rng.standard_normal(shape) / (1 if name in "xb" else 32**0.5)).astype(np.float32)
            for name, shape in SHAPES.items()}


def save_onnx(values, path):
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    turned = {f"{name}_t": np.ascontiguousarray(values[name].T) for name in ("q_w", "k_w", "v_w", "w")}
    constants = {**turned, "b": values["b"], "quarter": np.float32(0.25)}
    nodes = [helper.make_node(kind, reads, [makes], name=makes, **attributes) for kind, reads, makes, attributes in (
        ("MatMul", ["x", "q_w_t"], "q", {}), ("MatMul", ["x", "k_w_t"], "k", {}), ("MatMul", ["x", "v_w_t"], "v", {}),
        ("Transpose", ["k"], "k_turned", {"perm": [1, 0]}), ("MatMul", ["q", "k_turned"], "scores", {}),
        ("Mul", ["scores", "quarter"], "scaled", {}), ("Softmax", ["scaled"], "attention", {"axis": -1}),
        ("MatMul", ["attention", "v"], "mixed", {}), ("Relu", ["mixed"], "active", {}),
        ("MatMul", ["active", "w_t"], "logits", {}), ("Add", ["logits", "b"], "out", {}))]
    graph = helper.make_graph(nodes, "attention", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [12, 32])],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, [12, 10])],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), str(path))


def source(folder):
    """ggml's folder in the unpacked distribution."""
    if not list(folder.glob("*/vendor/llama.cpp")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "llama-cpp-python", "-d",
                   str(folder), PACKAGE]
        if not list(folder.glob("*.tar.gz")) and subprocess.run(command, capture_output=True).returncode != 0:
            packages.skip(f"pip cannot download {PACKAGE} here")
        with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
            archive.extractall(folder)
    return next(folder.glob("*/vendor/llama.cpp"))


def program(folder, root, compiler, code, llama_too=False):
    """Compiles a C file of test/tools with ggml, 1.5 minutes, or with llama.cpp, 6; once. Returns the program."""
    folder, code = pathlib.Path(folder), root / "test" / "tools" / code
    folder.mkdir(parents=True, exist_ok=True)
    llama, build, made = source(folder), folder / "build", folder / code.stem
    if not shutil.which("cmake") or not shutil.which("c++"):
        packages.skip("ggml needs cmake and a C++ compiler")
    libraries = [f"ggml/src/lib{name}.a" for name in LIBRARIES]
    if llama_too:
        libraries.insert(0, "src/libllama.a")
    steps = [["cmake", "-S", llama, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DGGML_OPENMP=OFF",
              "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF", *(f"-DLLAMA_BUILD_{part}=OFF" for part in (
                  "TESTS", "EXAMPLES", "TOOLS", "SERVER", "COMMON"))],
             ["cmake", "--build", build, "--target", *LIBRARIES, *(["llama"] if llama_too else [])],
             [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", llama / "ggml" / "include", "-I",
              root / "include", "-I", root / "examples" / "hooks", code,
              "-I", llama / "include", *(build / library for library in libraries), "-lstdc++",
              "-lm", "-lpthread", "-ldl", "-o", made]]
    for step in steps:
        done = subprocess.run([str(word) for word in step], capture_output=True, text=True)
        assert done.returncode == 0, f"{step}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return made
