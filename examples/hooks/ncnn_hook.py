# SPDX-License-Identifier: Apache-2.0
"""ncnn: every blob is extracted from one run, and written by plumb_dump.h from where it lies (a channel's rows may be
padded, which the strides say).

    DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 python ncnn_hook.py net.ncnn.param inputs.npz &&
    model_check -m net.onnx --subject plumb_dump --names names.csv

Blobs that pnnx wrote have numbers for names; names.csv says which is which (relu1,5: the model's name, ncnn's).
"""
import sys

import ncnn
import numpy as np
from dump import Dump


def layers(param):
    """(type, name, the names of its outputs), line by line: type name inputs outputs ..."""
    for line in open(param, encoding="utf-8").read().splitlines()[2:]:
        kind, name, reads, makes, *rest = line.split()
        yield kind, name, rest[int(reads):int(reads) + int(makes)]


def main(param, inputs):
    net = ncnn.Net()
    net.opt.lightmode = False  # else a blob is gone once it was read
    net.opt.num_threads = 1
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    if net.load_param(param) != 0 or net.load_model(param.replace(".param", ".bin")) != 0:
        sys.exit(f"ncnn cannot load {param}")
    given, run = dict(np.load(inputs)), net.create_extractor()
    dump = Dump(f"ncnn {ncnn.__version__}", param)
    dump.forward()
    found = list(layers(param))
    for (_, _, (blob,)), name in zip([layer for layer in found if layer[0] == "Input"], given):
        run.input(blob, ncnn.Mat(given[name][0]).clone())  # of an array that lives until then
        dump.write(name, given[name], is_input=1)
    for index, (kind, name, blobs) in enumerate(found):
        for slot, blob in enumerate(blobs):
            if kind not in ("Input", "Split", "MemoryData"):
                code, mat = run.extract(blob)
                if code != 0:
                    sys.exit(f"ncnn cannot compute {blob} of {name}")
                dump.write(blob, np.asarray(mat)[None], name, kind, index, slot)  # batch 1, no copy
    return dump.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
