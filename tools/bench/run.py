#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Plumb and prints one table with ratios; --json keeps every number.

  tools/bench/run.py                        build/release, the five float networks, 1 and 2 threads
  tools/bench/run.py --peers DIR            also times ONNX Runtime, OpenVINO, MNN and ncnn (DIR: their bench.py); its
  Python is
                                            $PEERS_PYTHON, else python3; without DIR that part is skipped with a line
  tools/bench/run.py --only forward,check   some parts: forward, check, tensors, compare, dump, dump_header, hooks,
                                            busy, layers, peers, everyday (other networks, against the peers), convert

Numbers of one part are interleaved, so quote their ratios, not single times: machines are shared and their clocks
drift.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NETWORKS = ["squeezenet_v1.0", "mobilenet_v1", "resnet50", "inception_v3", "densenet"]
EVERYDAY = ["mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2", "squeezenet_v1_1", "resnet18",
            "inception_v4"]


def run(command, env=None, check=True):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **(env or {})})
    if check and done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def table(title, header, rows):
    print(f"\n## {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(c) for c in row) + " |", flush=True)


def times_of(text):
    return {k: float(v) for k, v in re.findall(r"(min|median|avg) = *([0-9.]+)", text)}


class Bench:
    def __init__(self, args):
        self.args = args
        self.bin = pathlib.Path(args.bin)
        self.models = pathlib.Path(args.models)
        self.result = {"date": time.strftime("%Y-%m-%d %H:%M"), "cpu": cpu_name(), "cpus": os.cpu_count()}

    def forward(self):
        """Forward per device, network and thread count; NAIVE once. PoCL and lavapipe take their threads from the
        environment."""
        found = {}
        for _ in range(self.args.rounds):
            for net in NETWORKS:
                for threads in (1, 2):
                    for device in self.args.devices.split(","):
                        text = run([self.bin / "model_run", "-m", self.models / f"{net}.tnnproto", "-d", device,
                                    "--threads", threads,
                                    "-wc", 2, "-ic", 5],
                                    {"POCL_MAX_PTHREAD_COUNT": str(threads), "LP_NUM_THREADS": str(threads)}).stdout
                        found.setdefault((net, device, threads), []).append(times_of(text))
        rows = []
        for (net, device, threads), times in found.items():
            best = min(t["min"] for t in times)
            median = statistics.median(t["median"] for t in times)
            rows.append([net, device, threads, f"{best:.2f}", f"{median:.2f}"])
            self.result.setdefault("forward", []).append({"net": net, "device": device, "threads": threads, "min": best,
                                                          "median": median})
        for net in NETWORKS[:2]:
            t = times_of(run([self.bin / "model_run", "-m", self.models / f"{net}.tnnproto", "-d", "NAIVE", "-ic",
                              3]).stdout)
            rows.append([net, "NAIVE", os.cpu_count(), f"{t['min']:.2f}", f"{t['median']:.2f}"])
        table("Forward, ms (inputs given, outputs taken)", ["network", "device", "threads", "min", "median"], rows)

    def check(self):
        """model_check with a tnnmodel: wall time and peak memory of the whole process."""
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for net in NETWORKS:
                model = pathlib.Path(folder) / net
                run([self.bin / "model_convert", self.models / f"{net}.tnnproto", "-o", model, "--random-weights"])
                walls, cpu, peak = [], [], 0
                for _ in range(self.args.rounds):
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    start = time.perf_counter()
                    done = run(["/usr/bin/time", "-f", "peak %M", self.bin / "model_check", "-m", f"{model}.tnnproto",
                                "-d", "X86",
                                "--threads", 2, "--quiet"])
                    walls.append(time.perf_counter() - start)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                    peak = max(peak, int(re.search(r"peak (\d+)", done.stderr).group(1)) // 1024)
                rows.append([net, f"{min(walls):.2f}", f"{statistics.median(walls):.2f}", f"{min(cpu):.2f}", peak])
                self.result.setdefault("check", []).append({"net": net, "wall_min": min(walls), "cpu_min": min(cpu),
                                                            "peak_mib": peak})
        table("model_check -d X86, tnnmodel given, 2 threads",
              ["network", "wall s min", "wall s median", "processor s min", "peak MiB"], rows)

    def program(self, name):
        """One of the benchmark programs beside the tools; it prints its own table."""
        path = self.bin.parent / "test-bin" / name
        if not path.exists():
            print(f"\n{name}: not built, skipped")
            return
        print(f"\n## {name}\n")
        text = run([path]).stdout
        print(text, end="")
        self.result[name] = text.splitlines()

    def hooks(self):
        """Instructions of one Forward more, hooks compiled in and silent against compiled out."""
        rows = []
        for model in (ROOT / "examples/digits/digits.tnnproto", ROOT / "examples/squeezenet/squeezenet.tnnproto"):
            count = {}
            for name, folder in (("in", self.bin), ("out", pathlib.Path(self.args.hooks_off))):
                if not (folder / "model_run").exists():
                    print(f"\nhooks: {folder}/model_run is not built, skipped (cmake --preset hooks-off builds it)")
                    return
                count[name] = self.instructions(folder, model)
            ratio = count["in"] / count["out"] - 1
            rows.append([model.stem, count["out"], count["in"], f"{100 * ratio:+.4f} %"])
            self.result.setdefault("hooks", []).append({"net": model.stem, **count, "ratio": ratio})
        table("Instructions of five Forwards, hooks silent", ["network", "compiled out", "compiled in", "difference"],
              rows)

    def instructions(self, folder, model):
        """Those of Network::Forward alone, counted by callgrind on one thread; small networks, where hooks weigh
        most."""
        with tempfile.NamedTemporaryFile() as out:
            done = run(["valgrind", "--tool=callgrind", "--toggle-collect=plumb::Network::Forward()",
                        f"--callgrind-out-file={out.name}",
                        folder / "model_run", "-m", model, "-d", "X86", "--threads", 1, "--max-isa", "AVX2", "-ic", 5])
            return int(re.search(r"Collected : (\d+)", done.stderr).group(1))

    def dump_header(self):
        """plumb_dump.h: what its calls cost when it is off, then its throughput. The program is compiled here."""
        with tempfile.TemporaryDirectory() as folder:
            program, count = pathlib.Path(folder) / "bench_dump_header", {}
            run(["cc", "-std=c99", "-O2", "-I", ROOT / "include", ROOT / "tools/bench/dump_header.c", "-o", program])
            for how in ("without", "with"):
                done = run(["valgrind", "--tool=callgrind", f"--toggle-collect=Forward{how.capitalize()}",
                            "--callgrind-out-file=/dev/null", program, "forward", how])
                count[how] = int(re.search(r"Collected : (\d+)", done.stderr).group(1))
            more = count["with"] - count["without"]
            table("plumb_dump.h off: instructions of ten Forwards of 100 layers",
                  ["without calls", "with calls", "difference", "per call"],
                  [[count["without"], count["with"], f"{100 * more / count['without']:+.4f} %", f"{more / 1000:.1f}"]])
            text = run([program]).stdout
            print(text, end="")
            self.result["dump_header"] = {**count, "throughput": text.splitlines()}

    def busy(self):
        """Two threads beside one competing busy loop against one thread without it (medians of 50 Forwards of
        resnet50)."""
        command = [self.bin / "model_run", "-m", self.models / "resnet50.tnnproto", "-d", "X86", "-wc", 3, "-ic", 50,
                   "--threads"]
        loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            two = times_of(run(command + [2]).stdout)["median"]
            one = times_of(run(command + [1]).stdout)["median"]
        finally:
            loop.kill()
        table("Busy machine: resnet50 beside one busy loop, median of 50", ["threads", "ms", "ratio"],
              [[1, f"{one:.1f}", "1"], [2, f"{two:.1f}", f"{two / one:.2f}"]])
        self.result["busy"] = {"one": one, "two": two}

    def layers(self):
        """Where resnet50 loses time on X86, one thread: each step against what its multiply-adds (those of its
        algorithm) and its bytes (weights, inputs, outputs, each once from memory) take at least on this core."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "limits"
            run(["c++", "-O2", ROOT / "tools/bench/limits.cc", "-o", program])
            isa = re.search(r"ISA (\S+),", run([self.bin / "model_run", "-m", self.models / "resnet50.tnnproto", "-d",
                                                "X86", "-wc", 0]).stdout).group(1)
            limit = {k: float(v) for k, v in re.findall(r"(\w+)=([\d.]+)", run([program, isa]).stdout)}
        best = {}
        for _ in range(self.args.rounds):
            text = run([self.bin / "model_run", "-m", self.models / "resnet50.tnnproto", "-d", "X86", "--threads", 1,
                        "-wc", 3, "-ic", 20, "--profile"]).stdout
            for index, name, ms, gflops, gbytes, kernel in re.findall(
                    r"^(\d{5})  (\S+) +\S+ +([\d.]+) +[\d.]+% +([\d.]+) +([\d.]+)  (.*)$", text, re.M):
                row = (float(ms), name, float(gflops) * float(ms), float(gbytes) * float(ms), kernel.strip())
                best[index] = min(best.get(index, row), row)
        rows, total = [], [0, 0, 0]
        for index, (ms, name, mflop, mbytes, kernel) in best.items():
            form = re.search(r"F\((\d)(x\d)?,(\d)", kernel)
            saved = 1
            if form:
                m, r = int(form.group(1)), int(form.group(3))
                saved = ((m + r - 1) / (m * r)) ** (2 if form.group(2) else 1)
            compute, memory = mflop * saved / limit["gflops"], mbytes / limit["gbytes"]
            total = [a + b for a, b in zip(total, (ms, compute, max(compute, memory)))]
            rows.append([index, name, f"{ms:.3f}", f"{compute:.3f}", f"{memory:.3f}",
                         f"{ms - max(compute, memory):.3f}", kernel.split(" points")[0]])
        rows.sort(key=lambda row: -float(row[5]))
        table(f"resnet50 by layers, one thread ({isa}: {limit['gflops']} GFLOP/s, memory {limit['gbytes']} GB/s)",
              ["index", "layer", "ms", "multiply-adds alone", "bytes alone", "lost ms", "kernel"], rows[:16])
        print(f"\nAll {len(rows)} steps: {total[0]:.1f} ms; their multiply-adds alone {total[1]:.1f} ms, the larger of "
              f"both {total[2]:.1f} ms.")
        self.result["layers"] = {"limit": limit, "rows": rows, "total": total}

    def peers(self):
        self.against_peers("peers", NETWORKS, self.write_twins)

    def everyday(self):
        """Networks that nobody tuned for, by everyday_networks.py."""
        def write(python, _, work):
            run([python, ROOT / "tools/bench/everyday_networks.py", work])
        self.against_peers("everyday", EVERYDAY, write)

    def against_peers(self, part, networks, write):
        if not self.args.peers:
            print(f"\n{part}: skipped, no --peers DIR given")
            return
        peers = pathlib.Path(self.args.peers).resolve()
        if not (peers / "bench.py").exists():
            print(f"\n{part}: skipped, {peers} has no bench.py")
            return
        python = os.environ.get("PEERS_PYTHON", "python3")
        work = pathlib.Path(self.args.peers_work).resolve()
        work.mkdir(parents=True, exist_ok=True)
        write(python, peers, work)
        found = work / f"{part}.json"
        subprocess.run([python, str(peers / "bench.py")] + [str(work / f"{n}.onnx") for n in networks] +
                       ["--rounds", str(self.args.rounds), "--cache", str(work / "cache"), "--json", str(found),
                        "--runtimes", self.args.runtimes],
                       env={**os.environ, "PLUMB_BIN": str(self.bin.resolve()),
                            "PLUMB_MODELS": str(self.models.resolve())},
                       stdout=subprocess.DEVNULL, check=True)
        data = json.loads(found.read_text())
        self.result[part] = {"versions": data["versions"], "rows": data["rows"], "problems": data["problems"]}
        by = {(r["net"], r["threads"], r["runtime"]): r for r in data["rows"]}
        runtimes = [r for r in self.args.runtimes.split(",")]
        rows = []
        for net in networks:
            for threads in (1, 2):
                row = [by.get((net, threads, r)) for r in runtimes]
                text = [f"{r['min']:.2f} / {r['median']:.2f}" if r else "-" for r in row]
                ours = by.get((net, threads, "plumb"))
                others = [r for runtime, r in zip(runtimes, row) if r and runtime != "plumb"]
                ratio = {key: min(r[key] for r in others) / ours[key] for key in ("min", "median")} if ours and others \
                    else None
                text.append(f"{ratio['min']:.2f} ({ratio['median']:.2f})" if ratio else "-")
                rows.append([net, threads] + text)
        table("Against the peers, ms, min / median", ["network", "threads"] + runtimes + ["best peer / plumb"], rows)
        for problem in data["problems"]:
            print(f"problem: {problem}")

    def write_twins(self, python, peers, work):
        missing = [n for n in NETWORKS if not (work / f"{n}.onnx").exists()]
        if missing:
            run([python, peers / "tnnproto_to_onnx.py", "-o", work] + [self.models / f"{n}.tnnproto" for n in missing])

    def convert(self):
        """model_convert of the networks as .onnx, beside reading the same file."""
        work = pathlib.Path(self.args.peers_work).resolve()
        if self.args.peers:
            work.mkdir(parents=True, exist_ok=True)
            self.write_twins(os.environ.get("PEERS_PYTHON", "python3"), pathlib.Path(self.args.peers).resolve(), work)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for net in NETWORKS:
                model = work / f"{net}.onnx"
                if not model.exists():
                    print(f"\nconvert: {model} is missing, skipped (--peers DIR writes it)")
                    return
                reads, walls, peak = [], [], 0
                for _ in range(self.args.rounds):
                    start = time.perf_counter()
                    size = len(model.read_bytes())
                    reads.append(time.perf_counter() - start)
                    start = time.perf_counter()
                    done = run(["/usr/bin/time", "-f", "peak %M", self.bin / "model_convert", model, "-o",
                                pathlib.Path(folder) / net, "-q"])
                    walls.append(time.perf_counter() - start)
                    peak = max(peak, int(re.search(r"peak (\d+)", done.stderr).group(1)) * 1024)
                rows.append([net, f"{size / 1e6:.1f}", f"{min(reads):.2f}", f"{min(walls):.2f}", f"{peak / size:.1f}"])
                self.result.setdefault("convert", []).append({"net": net, "bytes": size, "read_min": min(reads),
                                                              "wall_min": min(walls),
                                                              "peak": peak})
        table("model_convert from ONNX", ["network", "MB", "read s", "convert s min", "peak / file size"], rows)

    def main(self):
        print(f"Plumb benchmark, {self.result['date']}, {self.result['cpu']}, {self.result['cpus']} CPUs, load "
              f"{os.getloadavg()[0]:.1f}")
        parts = {"forward": self.forward, "check": self.check, "tensors": lambda: self.program("bench_tensor_files"),
                 "compare": lambda: self.program("bench_compare"), "dump": lambda: self.program("bench_dump"),
                 "dump_header": self.dump_header, "hooks": self.hooks, "busy": self.busy, "layers": self.layers,
                 "peers": self.peers, "everyday": self.everyday, "convert": self.convert}
        wanted = self.args.only.split(",") if self.args.only else list(parts)
        for name in wanted:
            if name not in parts:
                sys.exit(f"--only: unknown part '{name}'; the parts are {', '.join(parts)}")
            parts[name]()
        if self.args.json:
            pathlib.Path(self.args.json).write_text(json.dumps(self.result, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=ROOT / "build/release/bin", help="folder of the tools")
    parser.add_argument("--hooks-off", default=ROOT / "build/hooks-off/bin",
                        help="tools of a build with -DPLUMB_BLOB_HOOKS=OFF")
    parser.add_argument("--models", default=ROOT / "test/data/networks")
    parser.add_argument("--devices", default="X86", help="whose Forward is timed, comma separated: X86,OPENCL,VULKAN")
    parser.add_argument("--peers", help="folder with the peers' bench.py and tnnproto_to_onnx.py")
    parser.add_argument("--peers-work", default=ROOT / "build/peers", help="converted models and results")
    parser.add_argument("--runtimes", default="onnxruntime,openvino,mnn,ncnn,plumb")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="comma separated parts")
    parser.add_argument("--json", help="write every number")
    Bench(parser.parse_args()).main()
