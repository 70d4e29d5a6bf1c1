# SPDX-License-Identifier: Apache-2.0
"""What other rules say of the outputs that plumbnn.judge judges: the ULP table of WebNN's conformance tests
(web-platform-tests, webnn/resources/utils.js, read 2026-11-27) and TOSA's conformance verifier (tosa-tools of PyPI, its
own library).

    PYTHONPATH=build/release/python others_test.py --work FOLDER

Prints a row per rule: of right kernels and of wrong ones how many it accepts, beside ours on the same outputs. Fails
where ours rejects a right kernel or accepts a wrong one that another rule rejects.
"""
import argparse
import collections
import ctypes
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]
import packages  # noqa: E402
import problems  # noqa: E402

# f32: ULP, of the number of terms n where it is a function; a negative number is an absolute error of -value.
WEBNN = {
    "relu": 0, "abs": 0, "maximum": 0, "minimum": 0, "max": 0, "min": 0, "transpose": 0, "where": 0, "concatenate": 0,
    "max_pool": 0, "add": 1, "subtract": 1, "multiply": 1, "divide": 2, "sqrt": 1, "leaky_relu": 1, "exp": 32,
    "sigmoid": 34, "elu": 18, "softplus": 18, "gelu": 18, "hardswish": 4, "log": -1 / 1024, "erf": -1 / 1024,
    "sin": -1 / 1024, "cos": -1 / 1024, "tanh": -1 / 1024, "batch_norm": 6,
    "softmax": lambda n: 3 * n + 3, "sum": lambda n: n, "mean": lambda n: n + 2, "norm": lambda n: 2 * n + 1,
    "logsumexp": lambda n: 2 * n + 18, "avg_pool": lambda n: n + 2, "matmul": lambda n: 2 * n, "conv": lambda n: 2 * n,
}
DOT_PRODUCTS = {"matmul", "einsum", "sum"}  # what of TOSA is the mode DOT_PRODUCT
FP32, FP64 = 3, 99


def ordered(values):
    bits = values.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def webnn_accepts(problem, output, expected):
    allowed = WEBNN[problem.op]
    allowed = allowed(problem.adds) if callable(allowed) else allowed
    if allowed < 0:
        return bool((np.abs(output.astype(np.float64) - expected) <= -allowed).all())
    return bool((np.abs(ordered(output) - ordered(expected)) <= allowed).all())


class Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_int32)), ("num_dims", ctypes.c_int32),
                ("data_type", ctypes.c_int), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Tosa:
    def __init__(self):
        import tosa_reference_model
        folder = pathlib.Path(tosa_reference_model.__file__).parent
        library = ctypes.CDLL(str(folder / "libtosa_reference_verify_lib.so"))
        self._verify = library.tvf_verify_data
        self._verify.restype = ctypes.c_bool

    def _tensor(self, array, kind, keep):
        array = np.ascontiguousarray(array)
        shape = (ctypes.c_int32 * array.ndim)(*array.shape)
        keep += [array, shape]
        return Tensor(b"y", shape, array.ndim, kind, array.ctypes.data, array.nbytes)

    def accepts(self, problem, output):
        wide = [value.astype(np.float64) for value in problem.inputs]
        expected = np.asarray(exact(problem, wide))
        bounds = np.asarray(exact(problem, [np.abs(value) for value in wide]))
        keep = []
        config = {"version": "1.0", "tensors": {"y": {"mode": "DOT_PRODUCT", "data_type": "FP32",
                                                       "shape": list(output.shape),
                                                       "dot_product_info": {"s": -1, "ksb": problem.adds}}}}
        return self._verify(ctypes.byref(self._tensor(expected, FP64, keep)),
                            ctypes.byref(self._tensor(bounds, FP64, keep)),
                            ctypes.byref(self._tensor(output.astype(np.float32), FP32, keep)),
                            json.dumps(config).encode())


def exact(problem, inputs):
    if problem.op == "sum":
        return inputs[0].sum(problem.attributes["axis"])
    return inputs[0] @ inputs[1]


def outputs_of(problem, rng):
    """(whether it is right, kind, output) in f32."""
    for way in problems.Sums.WAYS:
        output = np.asarray(problem.kernel(problem.inputs, problem.attributes, problems.Sums(way, seed=1)))
        yield True, "right", output.astype(np.float32)
    right = output.astype(np.float32)
    other = [rng.permutation(v.reshape(-1)).reshape(v.shape) if v.dtype.kind == "f" else v for v in problem.inputs]
    other = np.asarray(problem.kernel(other, problem.attributes, problems.Sums("halves")), np.float32)
    for kind, output, inputs in problems.faults(problem, right, other, rng):
        if output.dtype == np.float32 and np.abs(output - right).max() > 2e-4 * np.abs(right).max():
            yield False, kind, output
    for factor in (1.0001, 1.001):
        yield False, f"x{factor}", right * np.float32(factor)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "tosa", ["tosa-tools", "numpy"], ["tosa_reference_model", "numpy"])
    import plumbnn
    tosa = Tosa()
    rng = np.random.default_rng(2)
    count = collections.Counter()
    wrong = []
    for problem in problems.all_problems():
        if problem.kernel(problem.inputs, problem.attributes, problems.Sums("halves")).dtype.kind != "f":
            continue
        rules = {}
        if problem.op in WEBNN and "approximate" not in problem.attributes:
            expected = plumbnn.tolerance(problem.op, problem.inputs, problem.attributes).expected
            rules["WebNN"] = lambda output: webnn_accepts(problem, output, expected.astype(np.float32))
        if problem.op in DOT_PRODUCTS and output_is_plain(problem):
            rules["TOSA"] = lambda output: tosa.accepts(problem, output)
        for is_right, kind, output in outputs_of(problem, rng) if rules else ():
            ours = plumbnn.judge(problem.op, problem.inputs, output, problem.attributes, causes=False).aligned
            for name, accepts in rules.items():
                theirs = accepts(output)
                count[name, is_right] += 1
                count[name, is_right, "theirs"] += theirs
                count[name, is_right, "ours"] += ours
                count[name, kind, "theirs"] += theirs
                count[name, kind] += 1
                if is_right != ours and theirs == is_right:
                    wrong.append(f"{problem.name} {kind}: {name} is right and we are not")
    for name in ("WebNN", "TOSA"):
        for is_right in (True, False):
            print(f"{name}: of {count[name, is_right]} {'right' if is_right else 'wrong'} kernels it accepts "
                  f"{count[name, is_right, 'theirs']}, ours {count[name, is_right, 'ours']}")
        kinds = sorted(key[1] for key in count if key[0] == name and len(key) == 2 and isinstance(key[1], str))
        accepted = [f"{kind} {count[name, kind, 'theirs']}/{count[name, kind]}" for kind in kinds]
        print("  accepted of each kind: " + ", ".join(accepted))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


def output_is_plain(problem):
    return problem.op != "sum" or problem.attributes.get("axis") is not None


if __name__ == "__main__":
    main()
