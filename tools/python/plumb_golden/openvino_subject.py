# SPDX-License-Identifier: Apache-2.0
"""Every tensor of an ONNX model (or OpenVINO's own .xml), as OpenVINO computes it on the CPU.

Every operator's output is made an output of the network, under its ONNX name; OpenVINO then does not fuse across it, so
what is dumped are its kernels without those fusions. Arithmetic is held to f32, or what --precision says: the default
is bf16 where the CPU has it. What a FakeQuantize of a quantised model makes of a tensor is dumped beside it.
"""
import pathlib

import numpy as np

from . import inputs as network_inputs
from . import probe
from .folder import Folder, UsageError, seed_everything
from .repeats import PLAIN


def load_framework():
    try:
        import openvino
    except ImportError as error:
        raise UsageError(f"OpenVINO is not installed ({error}); pip install openvino") from error
    return openvino


def declared(port):
    """The port's shape; -1 for what is dynamic."""
    return [d.get_length() if d.is_static else -1 for d in port.get_partial_shape()]


def gives_integers(operator):
    """Whether what a FakeQuantize makes is converted to integers, not read as reals."""
    return any(reader.get_node().get_type_name() == "Convert" and reader.get_node().get_element_type().is_integral()
               for reader in operator.output(0).get_target_inputs())


def name_quantised(operator):
    """The tensor that a FakeQuantize rounds for all of its readers, or "". Its output, which mostly has no name, gets
    the operator's. An ONNX QuantizeLinear comes as one, too, whose output is the integers themselves."""
    if operator.get_type_name() != "FakeQuantize" or gives_integers(operator):
        return ""
    source = operator.input_value(0)
    if source.get_node().get_type_name() == "Constant" or not source.get_names():
        return ""
    readers = {reader.get_node().get_type_name() for reader in source.get_target_inputs()}
    if readers - {"FakeQuantize", "Result"}:
        return ""
    if not operator.output(0).get_names():
        operator.output(0).set_names({operator.get_friendly_name()})
    return sorted(source.get_names())[0]


def expose_all(model):
    """Makes every operator's output an output; returns {tensor name: (operator, what it stands for)}."""
    have = {name for port in model.outputs for name in port.get_names()}
    places, wanted = {}, []
    for operator in model.get_ordered_ops():
        if operator.get_type_name() in ("Constant", "Parameter", "Result"):
            continue
        quantised = name_quantised(operator)
        for port in operator.outputs():
            names = port.get_names()
            places.update({name: (operator, quantised) for name in names})
            if names and not names & have:
                wanted.append(port)
    for port in wanted:
        model.add_outputs(port)
    return places


def run_unwatched(openvino, network, settings, feeds):
    """Before expose_all, which changes the network."""
    compiled = openvino.Core().compile_model(network, "CPU", settings)
    results = compiled(feeds)
    return {sorted(port.get_names() - set(feeds))[0]: np.array(results[port]) for port in compiled.outputs
            if port.get_names() - set(feeds)}


def run(model, folder, input_files=(), shapes=None, specs=(), seed=1, value_range=None, force=False,
        precision="f32", prove_probe=False, how=PLAIN):
    """Writes the dump folder; returns the Folder."""
    openvino = load_framework()
    determinism = seed_everything(seed)
    if not pathlib.Path(model).exists():
        raise UsageError(f"there is no file '{model}'")
    try:
        network = openvino.Core().read_model(str(model))
    except Exception as error:  # OpenVINO's own classes derive from RuntimeError or Exception by version
        raise UsageError(f"OpenVINO cannot read '{model}': {str(error).strip()}") from error
    names = [port.get_any_name() for port in network.inputs]
    wanted = {name: (port.get_element_type().to_dtype(), declared(port)) for name, port in zip(names, network.inputs)}
    feeds = how.batched(network_inputs.feeds(model, wanted, input_files, shapes or {}, specs, seed, value_range))
    try:
        network.reshape({name: list(array.shape) for name, array in feeds.items()})
    except Exception as error:
        raise UsageError(f"OpenVINO cannot take these input shapes: {' '.join(str(error).split())[-200:]}") from error
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": how.threads or 1}
    outputs = run_unwatched(openvino, network, settings, feeds) if prove_probe else {}
    places = expose_all(network)
    compiled = openvino.Core().compile_model(network, "CPU", settings)
    used = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
    if used != precision:
        raise UsageError(f"OpenVINO computes in {used} on this CPU when it is asked for {precision}")
    out = Folder(folder, framework="openvino", model=model, device=f"openvino {openvino.__version__}, CPU, {precision}",
                 source={"openvino": openvino.__version__, "settings": settings, "determinism": determinism},
                 force=force, precision=precision)
    for name, array in feeds.items():
        out.add(name, array, is_input=True)
    for _ in range(how.warm):
        compiled(feeds)
    results = compiled(feeds)
    for port in compiled.outputs:
        for name in sorted(port.get_names() - set(feeds)):
            operator, stands_for = places.get(name, (None, ""))
            out.add(name, results[port], layer=name, kind=operator.get_type_name() if operator else "",
                    stands_for=stands_for)
    if prove_probe:
        probe.prove(out, "fused as it ships, the same precision", outputs)
    out.finish()
    return out
