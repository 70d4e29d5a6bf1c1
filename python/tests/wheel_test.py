# SPDX-License-Identifier: Apache-2.0
"""`pip install .` into an empty environment; a wheel with its libraries inside into others, which find no compiler.

Slow: compiles everything (ccache has what build/release compiled), and takes scikit-build-core,
nanobind, auditwheel, numpy and pytest from PyPI; skipped (77) where that cannot be reached. The
wheel goes into this Python and every other CPython on PATH and in ~/.pyenv/versions that it is
made for; one that 3.12 or later makes (abi3) into all of these.
"""

import argparse
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ("test_plumbnn.py", "test_golden.py", "test_doc.py", "test_pytest.py")
TOOLS = ("model_check", "model_convert", "model_info", "model_run", "blob_diff", "device_check", "device_info",
         "model_bisect", "model_reduce", "stage_diff")
MAX_BYTES = 25_000_000
MODEL = ROOT / "examples/digits/digits.tnnproto"
# What manylinux takes from the machine.
SYSTEM = r"(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz)\.so.*"

# OPENCL and VULKAN open the machine's loader; where there is none, they say so.
PROBE = """
import ctypes, sys, plumbnn
devices = {device.name: device for device in plumbnn.devices()}
for name, loader in (("OPENCL", "libOpenCL.so.1"), ("VULKAN", "libvulkan.so.1")):
    device = devices[name]
    try:
        ctypes.CDLL(loader)
    except OSError:
        assert not device.present and loader in device.description, device
    else:
        assert loader not in device.description, device
    if device.present:
        assert plumbnn.check(sys.argv[1], devices=[name]).aligned
    print(name, device.description)
"""


def run(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=False, **options).returncode


def must(*command, **options):
    code = run(*command, **options)
    if code != 0:
        sys.exit(f"failed ({code})")


def output(*command, **options):
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def environment(python, folder):
    must(python, "-m", "venv", folder)
    return folder / "bin"


def check_installed(bin_folder, path):
    """What the wheel brings works, and asks its own Python for the original framework."""
    variables = {
        **os.environ,
        "PATH": path,
        "PLUMB_ROOT": str(ROOT),
        "PLUMB_BIN_DIR": str(bin_folder),
    }
    variables.pop("PYTHONPATH", None)
    for tool in TOOLS:
        must(bin_folder / tool, "--version", env=variables)
    cpu = "ARM" if platform.machine() in ("aarch64", "arm64") else "X86"
    must(bin_folder / "model_check", "-m", MODEL, "-d", cpu, "--quiet", env=variables)
    must(bin_folder / "plumb-golden", "--help", env=variables, stdout=subprocess.DEVNULL)
    onnx = ROOT / "test/fuzz/corpus/onnx/conv.onnx"
    asked = subprocess.run(
        [bin_folder / "model_check", "-m", onnx, "--golden", "onnxruntime"],
        capture_output=True,
        text=True,
        env=variables,
    )
    if f"onnxruntime in {bin_folder.resolve()}/python3" not in asked.stderr:
        sys.exit(f"--golden onnxruntime asks another Python: {asked.stderr}")
    for test in TESTS:
        must(bin_folder / "python", ROOT / "python/tests" / test, env=variables)


def check_whole(bin_folder):
    """Neither the module nor a tool needs a library of the machine but those of SYSTEM."""
    where = "import importlib.util as u; print(u.find_spec('plumbnn').submodule_search_locations[0])"
    # Not from here: the build's own package may lie beside it.
    package = pathlib.Path(output(bin_folder / "python", "-c", where, cwd=bin_folder).strip()).resolve()
    libraries = package.parent / "plumbnn.libs"
    files = [*package.glob("_core*.so"), *(package / "bin").iterdir(), *package.glob("lib/libplumb.so.*")]
    if len(files) != 1 + len(TOOLS) + 1 or not (foreign := list(libraries.glob("*.so*"))):
        sys.exit(f"the module, the tools and their libraries are not there: {files}")
    for file in files + foreign:
        for name, path in re.findall(r"(\S+) => (not found|/\S+)", output("/usr/bin/ldd", file)):
            inside = os.path.realpath(path).startswith((str(libraries), str(package)))
            if not inside and not re.fullmatch(SYSTEM, name):
                sys.exit(f"{file} needs {name}, which is not in the wheel ({path})")
    must(bin_folder / "python", "-c", PROBE, MODEL, cwd=bin_folder)


def others():
    """Every other CPython that the package is for, once each: its path and its minor version."""
    code = (
        "import sys, os, sysconfig; print(sys.version_info[1], os.path.realpath(sys.executable), "
        "os.path.exists(sysconfig.get_path('include') + '/Python.h'))"
    )
    folders = os.environ["PATH"].split(os.pathsep)
    folders += sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin")))
    seen = {output(sys.executable, "-c", code).split()[1]}
    for minor in range(10, 20):
        for folder in folders:
            path = shutil.which(f"python3.{minor}", path=folder)
            found = []
            if path:
                asked = subprocess.run([path, "-c", code], capture_output=True, text=True)
                found = asked.stdout.split()
            if len(found) != 3 or found[1] in seen:
                continue
            seen.add(found[1])
            yield path, minor, found[2] == "True"


def build(python):
    """The wheel that platforms/linux/wheel.sh makes with this Python."""
    lines = output(ROOT / "platforms/linux/wheel.sh", python)
    wheel = ROOT / lines.splitlines()[-1]
    files = zipfile.ZipFile(wheel).infolist()
    unpacked = sum(file.file_size for file in files)
    print(wheel.name, wheel.stat().st_size, "bytes, unpacked", unpacked)
    if wheel.stat().st_size > MAX_BYTES:
        sys.exit(f"the wheel has more than {MAX_BYTES} bytes: is the library in it more than once?")
    names = [file.filename for file in files]
    if any("libOpenCL" in name or "libvulkan" in name for name in names):
        sys.exit("a driver's loader is in the wheel")
    if "manylinux" not in wheel.name:
        sys.exit("the wheel is for this machine alone")
    return wheel


def install(python, wheel, folder):
    """Into an empty environment, where neither a compiler nor CMake is found; tries what it brings."""
    second = environment(python, folder)
    nothing = {**os.environ, "PATH": str(second)}
    must(second / "pip", "install", "-q", f"{wheel}[pytest]", env=nothing)
    check_installed(second, str(second))
    check_whole(second)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    first = environment(sys.executable, options.work / "first")
    if run(first / "pip", "download", "-q", "--no-deps", "-d", options.work, "nanobind") != 0:
        print("skipped: PyPI cannot be reached")
        return 77
    must(first / "pip", "install", "-q", f"{ROOT}[pytest]")
    check_installed(first, f"{first}{os.pathsep}{os.environ['PATH']}")

    mine = sys.version_info[1]
    wheels = {mine: build(sys.executable)}
    install(sys.executable, wheels[mine], options.work / "same")
    stable = mine if mine >= 12 else None  # the version whose wheel is for all later ones
    tried = []
    for i, (python, minor, headers) in enumerate(others()):
        if minor >= 12 and stable is None and headers:
            stable = minor
            wheels[stable] = build(python)
            if "-abi3-" not in wheels[stable].name:
                sys.exit("the wheel is not for the stable ABI")
        wheel = wheels.get(stable if minor >= 12 else minor)
        if wheel is not None:
            install(python, wheel, options.work / f"other{i}")
            tried.append(python)
    print("other interpreters:", ", ".join(tried) or "none")
    if stable is None:
        print("abi3: not tried, no CPython from 3.12 on with its headers is on PATH or in ~/.pyenv/versions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
