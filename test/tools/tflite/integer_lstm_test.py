# SPDX-License-Identifier: Apache-2.0
"""LSTMs of int8: healthy in LiteRT on three families of kernels and on our devices, one of them trained; and faults of
kernels, computed in NumPy (integer_lstm.py), whose h is handed on to LiteRT. Each is wrong at the LSTM alone.

    integer_lstm_test.py --bin build/release/bin --work FOLDER [--only PART] [--kernels reference,optimised,xnnpack]
"""
import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden"), str(HERE.parents[2] / "tools" / "python")]
import packages  # noqa: E402

LEAST_KINDS, LEAST_NAMED, LEAST_RIGHT = 30, 0.7, 0.9
DEVICES = "X86,OPENCL,VULKAN"


def networks():
    """{name: (network, x)}, and what the trained one has to answer."""
    import integer_lstm
    import numpy as np
    import trained_lstm
    random = np.random.default_rng(5)

    def reals(size, cells, hidden=None, peepholes=False):
        more = {"peepholes": random.normal(0, 0.3, [3, cells])} if peepholes else {}
        if hidden is not None:
            more = {"projection": random.normal(0, 0.5, [hidden, cells]),
                    "projection_bias": random.normal(0, 0.2, [hidden])}
        return integer_lstm.Reals(random.normal(0, 0.7, [4, cells, size]),
                                  random.normal(0, 0.7, [4, cells, hidden or cells]),
                                  random.normal(0.1, 0.5, [4, cells]), **more)

    def given(size):
        return random.normal(0.3, 1.0, [9, 2, size])
    trained, answer = trained_lstm.train()
    x, symbols = trained_lstm.sequences(random, 24)
    dense = [random.normal(0, 0.5, [5, n]) for n in (8, 8, 6, 8)]
    made = {
        "trained": integer_lstm.Network(trained, x, answer),
        "limited": integer_lstm.Network(reals(6, 8), given(6), dense[0], cell_clip=0.7),
        "peepholes": integer_lstm.Network(reals(6, 8, peepholes=True), given(6), dense[1]),
        "projection": integer_lstm.Network(reals(6, 10, 6), given(6), dense[2], projection_clip=0.8),
        "no input gate": integer_lstm.Network(reals(6, 8), given(6), dense[3], input_gate=False),
    }
    return made, symbols


def faults():
    """(what, a faulty kernel of a healthy one or None, what names its cause)."""
    import fixed_point as fixed
    import integer_lstm as k
    import numpy as np

    def of(**fields):
        return lambda lstm: dataclasses.replace(lstm, **fields)

    def ordered(order, bias=True, factors=True):
        def change(lstm):
            at = list(order)
            more = {"b": lstm.b[at]} if bias else {}
            if factors:
                more |= {"of_x": [lstm.of_x[g] for g in at], "of_h": [lstm.of_h[g] for g in at]}
            return dataclasses.replace(lstm, w=lstm.w[at], r=lstm.r[at], **more) if lstm.input_gate else None
        return change

    def factors(of_x=None, of_h=None):
        same = lambda pairs: pairs  # noqa: E731
        return lambda lstm: dataclasses.replace(lstm, of_x=(of_x or same)(lstm.of_x), of_h=(of_h or same)(lstm.of_h))

    def shifted(by, gate=None):
        return lambda pairs: [(m, s + by * (gate in (None, g))) for g, (m, s) in enumerate(pairs)]

    def of_bits(bits):
        def change(pair):
            step = 1 << 31 - bits
            return min((pair[0] + step // 2) // step * step, 2**31 - 1), pair[1]
        return lambda lstm: dataclasses.replace(
            lstm, of_x=[change(p) for p in lstm.of_x], of_h=[change(p) for p in lstm.of_h], of_y=change(lstm.of_y),
            of_cell=[change(p) for p in lstm.of_cell],
            of_projection=change(lstm.of_projection) if lstm.of_projection else ())

    def bias(change):
        return lambda lstm: dataclasses.replace(lstm, b=change(lstm.b.copy(), lstm))

    def without(gate):
        def change(b, _):
            b[gate] = 0
            return b
        return bias(change)

    def one_more(b, lstm):
        b[1] += int(np.rint(4096 / (lstm.of_x[1][0] * 2.0**(lstm.of_x[1][1] - 31))))
        return b

    def left(lstm):
        return lambda x: (lstm.run(x), dataclasses.replace(lstm, first_h=lstm.ends[0], first_c=lstm.ends[1]))[1]

    def floor(x, by):
        return x >> by

    def functions(how):
        return of(sigmoid=lambda x: how(k.logistic, x, 3), tanh=lambda x, bits: how(np.tanh, x, bits))
    rounding = "rounded|cut off"
    listed = [
        ("rounded once", of(gate_rounding=once, rounding=once), rounding),
        ("gates rounded once", of(gate_rounding=once), rounding),
        ("h rounded once", of(rounding=once), rounding),
        ("rounded twice, halves up", of(gate_rounding=fixed.twice_up, rounding=fixed.twice_up), rounding),
        ("rounded down", of(gate_rounding=fixed.cut_off, rounding=fixed.cut_off), rounding),
        ("gates rounded down", of(gate_rounding=fixed.cut_off), rounding),
        ("h rounded down", of(rounding=fixed.cut_off), rounding),
        ("h towards zero", of(rounding=fixed.towards_zero), rounding),
        ("gates rounded up", of(gate_rounding=fixed.upwards), rounding),
        ("the cell's products cut off", of(cut=floor), "cell's products cut off"),
        ("sigmoid and tanh to the nearest", functions(k.nearest), "rounded to the nearest"),
        ("sigmoid and tanh of 512 lines", functions(k.lines), "straight lines"),
        ("gates wrap", of(limits=k.wrapped), "wrap"),
        ("cells wrap", of(limits_cell=k.wrapped), "wrap"),
        ("gates i f o g", ordered((0, 1, 3, 2)), "order i f o g"),
        ("gates i o f g", ordered((0, 3, 1, 2)), "order i o f g"),
        ("gates g i f o", ordered((2, 0, 1, 3)), "order g i f o"),
        ("gates i g f o, not the factors", ordered((0, 2, 1, 3), factors=False), "order i g f o"),
        ("gates i f o g, not the bias", ordered((0, 1, 3, 2), bias=False), "order i f o g"),
        ("x's zero point lost", of(x_zero=0), "zero point of x"),
        ("x's zero point and one", lambda lstm: dataclasses.replace(lstm, x_zero=lstm.x_zero + 1), "one more of x"),
        ("x's zero point with another sign", lambda lstm: dataclasses.replace(lstm, x_zero=-lstm.x_zero), "sign of x"),
        ("h's zero point lost", of(h_zero=0), "zero point of h"),
        ("h's zero point and one", lambda lstm: dataclasses.replace(lstm, h_zero=lstm.y_zero + 1), "of h and one more"),
        ("h's zero point less one", lambda lstm: dataclasses.replace(lstm, h_zero=lstm.y_zero - 1),
         "of h and one less"),
        ("the result's zero point and one", lambda lstm: dataclasses.replace(lstm, inner_zero=lstm.inner_zero + 1),
         "one more of (the result|h in front)"),
        ("the result's zero point less one", lambda lstm: dataclasses.replace(lstm, inner_zero=lstm.inner_zero - 1),
         "one less of (the result|h in front)"),
        ("h begins as 0", of(first_h=0), "begins as the integer 0"),
        ("h is not carried", of(keeps_h=False), "h begun anew"),
        ("c is not carried", of(keeps_c=False), "c begun anew"),
        ("a second call", left, "an earlier call"),
        ("c begins as 1000", of(first_c=1000), "begin"),
        ("without the bias", bias(lambda b, _: b * 0), "without the bias"),
        ("the bias twice", bias(lambda b, _: b * 2), "bias twice"),
        ("without the forget gate's bias", without(1), "bias of the forget gate"),
        ("without the output gate's bias", without(3), "bias of the output gate"),
        ("1 more in the forget gate", bias(one_more), "1 added to the forget"),
        ("without the cell's limit", lambda lstm: of(cell_clip=0)(lstm) if lstm.cell_clip else None, "cell's limit"),
        ("without the projection's limit", lambda lstm: of(projection_clip=0)(lstm) if lstm.projection_clip else None,
         "projection's limit"),
        ("without the projection's bias",
         lambda lstm: None if lstm.projection is None else of(projection_bias=lstm.projection_bias * 0)(lstm),
         "projection's bias"),
        ("the projection's zero point lost",
         lambda lstm: None if lstm.projection is None else of(y_zero=0, first_h=0)(lstm),
         "no zero point of the result"),
        ("without the peepholes", lambda lstm: None if lstm.peepholes is None else of(peepholes=None)(lstm),
         "without the peepholes"),
        ("the output gate sees the old cell", lambda lstm: None if lstm.peepholes is None else of(new_cell=False)(lstm),
         "cell before the step"),
        ("1 - f in place of i", lambda lstm: of(input_gate=False)(lstm) if lstm.input_gate else None, "1 - f"),
        ("without tanh of the cell", of(tanh_of_cell=False), "without tanh"),
        ("factors of W and R exchanged", lambda lstm: of(of_x=lstm.of_h, of_h=lstm.of_x)(lstm), "exchanged"),
        ("the factors of W twice", factors(of_x=shifted(1)), "twice the factors of W"),
        ("the factors of R half", factors(of_h=shifted(-1)), "half the factors of R"),
        ("the forget gate's factor of W half", factors(of_x=shifted(-1, 1)), "half the factor of W in the forget"),
        ("the forget gate's factors for all", factors(lambda pairs: [pairs[1]] * 4, lambda pairs: [pairs[1]] * 4),
         "factors of the forget gate for all"),
        ("h's factor half", lambda lstm: of(of_y=(lstm.of_y[0], lstm.of_y[1] - 1))(lstm), "half the factor of h"),
        ("factors of 15 bits", of_bits(15), "15 bits"),
        ("factors of 8 bits", of_bits(8), "8 bits"),
        ("a cell of 3 bits in front", of(cell_bits=3), "3 bits of c"),
        ("a cell of 5 bits in front", of(cell_bits=5), "5 bits of c"),
        ("from the end to the beginning", of(turned=True), "from the end"),
        ("recurrent weights transposed",
         lambda lstm: of(r=lstm.r.transpose(0, 2, 1))(lstm) if lstm.projection is None else None, "transposed"),
    ]
    return listed


def once(x, multiplier, shift):
    import numpy as np
    return np.asarray(x, np.int64) * multiplier + (1 << 30 - shift) >> 31 - shift


class Runs:
    def __init__(self, options, network):
        self.options, self.network = options, network
        self.path, self.cut = options.work / "lstm.tflite", options.work / "lstm_cut.tflite"
        self.path.write_bytes(network.bytes())
        self.cut.write_bytes(network.bytes(cut=True))

    def dump(self, path, kernels, **feeds):
        import numpy as np
        from plumb_golden import litert_golden
        given, folder = self.options.work / "lstm_feeds.npz", self.options.work / "lstm_dump"
        np.savez(given, **feeds)
        litert_golden.run(path, folder, input_files=[str(given)], force=True, kernels=kernels)
        manifest = json.loads((folder / "manifest.json").read_text())
        return {entry["blob"]: np.load(folder / entry["file"]) for entry in manifest["files"]}

    def check(self, *more):
        """The layers of each run of the report."""
        report = self.options.work / "lstm.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([f"{self.options.bin}/model_check", "-m", str(self.path), "--json", str(report), *more],
                              capture_output=True, text=True)
        assert report.exists(), done.stdout + done.stderr
        return [run["layers"] for run in json.loads(report.read_text())["runs"]]

    def judged(self):
        return self.check("--subject", str(self.options.work / "lstm_dump"))[0]


class Count:
    def __init__(self):
        self.failed, self.kinds, self.planted, self.named, self.invisible = [], set(), 0, 0, 0

    def expect(self, condition, what, more=""):
        if not condition:
            self.failed.append(what)
        print(f"{'ok  ' if condition else 'FAIL'} {what} {'' if condition else more}", flush=True)


def bad(layers):
    return [(layer["name"], layer["reason"]) for layer in layers if layer["verdict"] in ("wrong", "grey")]


def check_healthy(name, runs, symbols, options, count):
    import numpy as np
    import trained_lstm
    given = runs.network.given
    own = runs.network.lstm().run(given)
    for kernels in options.kernels.split(","):
        tensors = runs.dump(runs.path, kernels, x=given)
        off = int(np.count_nonzero(own != tensors["h"]))
        count.expect(off == 0, f"{name}: NumPy's LSTM is LiteRT's ({kernels})", f"{off} of {own.size} differ")
        wrong = bad(runs.judged())
        count.expect(not wrong, f"{name}: LiteRT's is aligned ({kernels})", f"{wrong}")
        if name == "trained":
            right = trained_lstm.share_right(tensors["y"], symbols)
            count.expect(right >= LEAST_RIGHT, f"{name}: {right:.3f} of LiteRT's answers are right ({kernels})")
    np.savez(options.work / "lstm_x.npz", x=given)
    devices = runs.check("-d", DEVICES, "-i", str(options.work / "lstm_x.npz"))
    count.expect(len(devices) == 3 and not any(map(bad, devices)), f"{name}: aligned on {DEVICES}", f"{devices}")
    return own


BOTH = "BIDIRECTIONAL_SEQUENCE_LSTM"


def check_refused(options, count):
    """Both directions of integers: LiteRT has no kernel, and our reader says so."""
    import lite
    net, file = lite.Network(), options.work / "both.tflite"
    x = net.input([3, 1, 4], "int8", scale=0.02, zero=3)
    options_of = {"timeMajor": True, "mergeOutputs": True, "fusedActivationFunction": lite.ACTIVATIONS["TANH"]}
    made = net.op(BOTH, [x] + [-1] * 47, [3, 1, 10], "int8", scale=1 / 128, options=options_of)
    file.write_bytes(net.bytes([made]))
    done = subprocess.run([f"{options.bin}/model_check", "-m", str(file)], capture_output=True, text=True)
    count.expect(done.returncode == 2 and "LiteRT refuses" in done.stderr, f"{BOTH} of int8 is refused", done.stderr)


def plant(name, runs, own, options, count):
    import numpy as np
    given = runs.network.given
    for what, change, cause in faults():
        text = f"{name}: {what}"
        if options.only and not re.search(options.only, text):
            continue
        kernel = change(runs.network.lstm())
        kernel = kernel(given) if callable(kernel) else kernel
        made = None if kernel is None else kernel.run(given)
        off = 0 if made is None else int(np.count_nonzero(made != own))
        if off == 0:
            count.invisible += kernel is not None
            continue
        runs.dump(runs.cut, options.kernels.split(",")[0], x=given, h=made.astype(np.int8))
        wrong = [layer for layer in runs.judged() if layer["verdict"] == "wrong"]
        right = len(wrong) == 1 and [o["blob"] for o in wrong[0]["outputs"]] == ["h"]
        named = right and bool(re.search(cause, wrong[0]["cause"]))
        count.kinds.add(what)
        count.planted, count.named = count.planted + 1, count.named + named
        why = (wrong[0]["cause"] or wrong[0]["reason"])[:150] if wrong else ""
        count.expect(right, f"{'named' if named else '     '} {text} ({off} integers): {why}",
                     f"{[layer['name'] for layer in wrong]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--kernels", default="reference,optimised,xnnpack")
    options = parser.parse_args()
    options.work = options.work / "integer_lstm"
    options.work.mkdir(parents=True, exist_ok=True)
    packages.ensure(options.work / "litert", ["ai-edge-litert==2.3.0", "numpy"], ["ai_edge_litert", "numpy"])
    count = Count()
    made, symbols = networks()
    check_refused(options, count)
    for name, network in made.items():
        runs = Runs(options, network)
        plant(name, runs, check_healthy(name, runs, symbols, options, count), options, count)
    print(f"{count.planted} faults of {len(count.kinds)} kinds in {len(made)} LSTMs, {count.named} named, "
          f"{count.invisible} change no integer")
    if not options.only:
        count.expect(len(count.kinds) >= LEAST_KINDS, f"{LEAST_KINDS} kinds")
        count.expect(count.named >= LEAST_NAMED * count.planted, f"{LEAST_NAMED:.0%} named")
    print("failed: " + "; ".join(count.failed) if count.failed else "each fault is wrong at its LSTM alone")
    sys.exit(bool(count.failed))


if __name__ == "__main__":
    main()
