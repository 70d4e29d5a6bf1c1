# SPDX-License-Identifier: Apache-2.0
"""The networks of hooks_test.py, run once more in their runtimes without the hook: what their outputs are when nobody
watches. Each function takes the case's network, the hook's command and the names of the blobs that the hook wrote, and
returns ({blob: array}, how it was run)."""
import os
import pathlib
import subprocess


def onnx(net, command, written):
    import onnxruntime
    session = onnxruntime.InferenceSession(str(net.path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"x": net.x}))), "the model as it is, every optimisation"


def openvino(net, command, written):
    import openvino
    core = openvino.Core()
    model = core.read_model(str(net.path))
    model.reshape(list(net.x.shape))
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled([net.x])
    return ({name: found[port] for port in compiled.outputs for name in port.get_names() if name in written},
            "fused as it ships, the same precision")


def mnn(net, command, written):
    import MNN
    from plumb_golden import mnn_subject
    session = mnn_subject.Session(MNN, command[2], ())
    session.run({"x": net.x})
    return {name: session.read(name) for name in session.network.getSessionOutputAll(session.session)}, "no callback"


def ncnn(net, command, written):
    import ncnn as runtime
    import numpy as np
    made = runtime.Net()
    made.opt.num_threads = 1
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(made.opt, option, False)
    assert made.load_param(str(command[2])) == 0 and made.load_model(str(command[2]).replace(".param", ".bin")) == 0
    run = made.create_extractor()
    run.input(made.input_names()[0], runtime.Mat(net.x[0]).clone())
    return ({name: np.array(run.extract(name)[1])[None] for name in made.output_names()},
            "lightmode, outputs only")


def litert(net, command, written):
    import numpy as np
    from ai_edge_litert import interpreter
    lite = interpreter.Interpreter(str(command[2]), num_threads=1)
    lite.allocate_tensors()
    given = np.load(command[3])
    for detail in lite.get_input_details():
        lite.set_tensor(detail["index"], given[detail["name"]])
    lite.invoke()
    found = {detail["name"]: lite.get_tensor(detail["index"]) for detail in lite.get_output_details()}
    return ({name: np.ascontiguousarray(np.moveaxis(value, -1, 1)) if value.ndim == 4 else value
             for name, value in found.items()}, "its default delegates")


def ggml(net, command, written):
    import numpy as np
    out = pathlib.Path(command[1]).with_name("out.raw")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DUMP_")}
    subprocess.run([str(word) for word in [*command, out]], check=True, env=environment)
    return {"out": np.fromfile(out, np.float32).reshape(12, 10)}, "no callback"
