# SPDX-License-Identifier: Apache-2.0
"""plumbnn.judge on what right kernels of frameworks give for the problems: PyTorch (f32, bf16, f16), JAX and ONNX
Runtime, those that this Python has. None may be rejected.

    PYTHONPATH=build/release/python frameworks_test.py --work FOLDER
"""
import argparse
import collections
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402
import problems  # noqa: E402


# In 16 bits: what a framework's kernel does beside storing so. The judge rejects it, and so it should.
NARROW_INSIDE = {"instance_norm": "PyTorch's CPU kernel rounds mean and 1/sqrt(variance) to 16 bits, too"}


def torch_kernels():
    import torch
    import torch.nn.functional as F
    axis = {"softmax": torch.softmax, "log_softmax": torch.log_softmax, "logsumexp": torch.logsumexp,
            "cumsum": torch.cumsum, "argmax": torch.argmax}

    def norm(x, a):
        return torch.linalg.vector_norm(x, dim=a["axis"])

    def reduced(name):
        def kernel(i, a):
            f = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin}[name]
            return f(i[0], dim=a["axis"]) if "axis" in a else f(i[0])
        return kernel

    found = {name: (lambda i, a, f=f: f(i[0], a["axis"])) for name, f in axis.items()}
    found |= {name: reduced(name) for name in ("sum", "mean", "max", "min")}
    found |= {name: (lambda i, a, f=f: f(*i)) for name, f in {
        "relu": F.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "softplus": F.softplus, "elu": F.elu,
        "silu": F.silu, "exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "abs": torch.abs,
        "square": torch.square, "hardswish": F.hardswish, "mish": F.mish, "log": torch.log, "sqrt": torch.sqrt,
        "rsqrt": torch.rsqrt, "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div,
        "maximum": torch.maximum, "minimum": torch.minimum, "matmul": torch.matmul, "linear": F.linear,
        "where": torch.where}.items()}
    found |= {
        "gelu": lambda i, a: F.gelu(i[0], approximate=a.get("approximate", "none")),
        "leaky_relu": lambda i, a: F.leaky_relu(i[0], a["negative_slope"]),
        "swiglu": lambda i, a: F.silu(i[0]) * i[1],
        "geglu": lambda i, a: F.gelu(i[0]) * i[1],
        "norm": lambda i, a: norm(i[0], a),
        "layer_norm": lambda i, a: F.layer_norm(i[0], i[1].shape, i[1], i[2], a["eps"]),
        "rms_norm": lambda i, a: F.rms_norm(i[0], i[1].shape, i[1], a["eps"]),
        "group_norm": lambda i, a: F.group_norm(i[0], a["num_groups"], i[1], i[2], a["eps"]),
        "instance_norm": lambda i, a: F.instance_norm(i[0], None, None, i[1], i[2], True, 0.1, a["eps"]),
        "batch_norm": lambda i, a: F.batch_norm(i[0], i[3], i[4], i[1], i[2], False, 0.1, a["eps"]),
        "einsum": lambda i, a: torch.einsum(a["equation"], *i),
        "conv": lambda i, a: (F.conv1d if i[0].ndim == 3 else F.conv2d)(
            *i, stride=a.get("stride", 1), padding=a.get("padding", 0), groups=a.get("groups", 1)),
        "max_pool": lambda i, a: F.max_pool2d(i[0], a["kernel_size"], a["stride"]),
        "avg_pool": lambda i, a: F.avg_pool2d(i[0], a["kernel_size"], a["stride"]),
        "scaled_dot_product_attention": lambda i, a: F.scaled_dot_product_attention(
            *i, is_causal=bool(a["is_causal"]), enable_gqa=i[0].shape[1] != i[1].shape[1]),
        "cross_entropy": lambda i, a: F.cross_entropy(*i),
        "embedding": lambda i, a: F.embedding(i[1], i[0]),
        "transpose": lambda i, a: i[0].permute(a["axes"]).contiguous(),
        "concatenate": lambda i, a: torch.cat(i, a["axis"]),
    }
    return found


def by_torch(problem, kernels, dtype):
    """(inputs, output) of that dtype."""
    import torch
    kind = getattr(torch, dtype)
    tensors = [torch.from_numpy(np.ascontiguousarray(value)) for value in problem.inputs]
    tensors = [tensor.to(kind) if tensor.is_floating_point() else tensor for tensor in tensors]
    with torch.no_grad():
        return tensors, kernels[problem.op](tensors, problem.attributes)


def by_jax(problem):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_platforms", "cpu")
    highest = jax.lax.Precision.HIGHEST
    kernels = {
        "softmax": lambda i, a: jax.nn.softmax(i[0], a["axis"]),
        "logsumexp": lambda i, a: jax.nn.logsumexp(i[0], a["axis"]),
        "log_softmax": lambda i, a: jax.nn.log_softmax(i[0], a["axis"]), "matmul": lambda i, a: jnp.matmul(
            *i, precision=highest),
        "sum": lambda i, a: jnp.sum(i[0], a["axis"]), "silu": lambda i, a: jax.nn.silu(i[0]),
        "gelu": lambda i, a: jax.nn.gelu(i[0], approximate="approximate" in a), "tanh": lambda i, a: jnp.tanh(i[0]),
        "sigmoid": lambda i, a: jax.nn.sigmoid(i[0]), "softplus": lambda i, a: jax.nn.softplus(i[0]),
        "exp": lambda i, a: jnp.exp(i[0]), "erf": lambda i, a: jax.scipy.special.erf(i[0]),
        "cumsum": lambda i, a: jnp.cumsum(i[0], a["axis"]), "einsum": lambda i, a: jnp.einsum(
            a["equation"], *i, precision=highest), "elu": lambda i, a: jax.nn.elu(i[0]),
    }
    if problem.op not in kernels:
        return None
    f = jax.jit(lambda inputs: kernels[problem.op](inputs, problem.attributes))
    return np.asarray(f([jnp.asarray(value) for value in problem.inputs]))


def by_onnxruntime(problem):
    """The operator of ONNX that the name stands for, where it is one node whose attributes differ in name alone."""
    import onnx
    import onnxruntime
    import plumbnn
    stands_for = plumbnn._core.call_names()[problem.op]
    op_type, _, renamed = stands_for.partition(" (")
    renames = dict(word.split("=") for word in renamed.rstrip(")").split() if "=" in word and ":=" not in word)
    if not op_type.isidentifier() or "axis, keepdims" in renamed or problem.op in ("conv", "max_pool", "avg_pool"):
        return None
    attributes = {renames.get(name, name): value for name, value in problem.attributes.items()}
    if problem.op == "argmax":
        attributes["keepdims"] = 0
    names = [f"x{i}" for i in range(len(problem.inputs))]
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(value.dtype) for value in problem.inputs]
    node = onnx.helper.make_node(op_type, names, ["y"], **attributes)
    graph = onnx.helper.make_graph(
        [node], "g", [onnx.helper.make_tensor_value_info(*one) for one in zip(
            names, kinds, [value.shape for value in problem.inputs])],
        [onnx.helper.make_empty_tensor_value_info("y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model)
    try:
        session = onnxruntime.InferenceSession(inferred.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # an operator of opset 23 that it lacks
        print(f"ONNX Runtime has no kernel for {problem.name}: {str(error).splitlines()[0][:100]}")
        return None
    return session.run(None, dict(zip(names, problem.inputs)))[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "torch", ["torch", "numpy"], ["torch", "numpy"])
    import plumbnn
    import torch
    kernels = torch_kernels()
    judged, rejected = collections.Counter(), []

    def judge(what, problem, inputs, output):
        judged[what] += 1
        judgement = plumbnn.judge(problem.op, inputs, output, problem.attributes, causes=False)
        narrow = problem.op in NARROW_INSIDE and "float32" not in what
        if judgement.aligned == narrow:
            rejected.append(f"{what} {problem.name}: {judgement}")

    has_jax = packages.has(sys.executable, ["jax"])
    has_onnxruntime = packages.has(sys.executable, ["onnx", "onnxruntime"])
    for problem in problems.all_problems():
        if problem.op in kernels:
            for dtype in ("float32", "bfloat16", "float16"):
                try:
                    inputs, output = by_torch(problem, kernels, dtype)
                except (NotImplementedError, RuntimeError) as error:
                    print(f"torch has no {dtype} kernel for {problem.name}: {str(error).splitlines()[0]}")
                    continue
                judge(f"torch {dtype}", problem, inputs, output)
        if has_jax and (output := by_jax(problem)) is not None:
            judge("jax float32", problem, problem.inputs, output)
        if has_onnxruntime and (output := by_onnxruntime(problem)) is not None:
            judge("onnxruntime float32", problem, problem.inputs, output)
    print("\n".join(rejected))
    print(f"torch {torch.__version__}: {len(rejected)} of {sum(judged.values())} outputs not as they should be "
          f"({dict(judged)})")
    sys.exit(1 if rejected else 0)


if __name__ == "__main__":
    main()
