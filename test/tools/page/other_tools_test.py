# SPDX-License-Identifier: Apache-2.0
"""`--sarif` read by sarif-pydantic, and `--model-explorer` by the classes of Google's Model Explorer.

Both come from PyPI (into a virtual environment in the build folder); where pip cannot install them the test is skipped
(exit code 77) and says why.
"""
import argparse
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

EXPLORER = "ai_edge_model_explorer-0.1.34"
DIGITS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.tnnproto"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def pip(python, *words):
    return subprocess.run([str(python), "-m", "pip", *words], capture_output=True).returncode == 0


def environment(work):
    """Starts this script again where sarif-pydantic is."""
    python = work / "other_tools" / "bin" / "python"
    if pathlib.Path(sys.executable) == python:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parent.parent)], check=True)
        if not pip(python, "install", "-q", "sarif-pydantic==0.6.2"):
            shutil.rmtree(python.parent.parent)
            skip("pip cannot install sarif-pydantic 0.6.2 here")
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


def explorer_classes(work):
    """node_data_builder of Model Explorer's wheel, without what its package imports besides."""
    if not pip(sys.executable, "download", "-q", "--no-deps", "-d", str(work), EXPLORER.replace("-", "==")):
        skip(f"pip cannot download {EXPLORER} here")
    with zipfile.ZipFile(next(work.glob(f"{EXPLORER}-*.whl"))) as wheel:
        for name in ("node_data_builder", "utils", "types", "graph_builder", "extension_metadata"):
            wheel.extract(f"model_explorer/{name}.py", work)
    package = importlib.util.module_from_spec(importlib.util.spec_from_loader("model_explorer", loader=None))
    package.__path__ = [str(work / "model_explorer")]
    sys.modules["model_explorer"] = package
    return importlib.import_module("model_explorer.node_data_builder")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    environment(arguments.work.resolve())
    work = arguments.work / "page"
    work.mkdir(parents=True, exist_ok=True)
    sarif, data = work / "digits.sarif", work / "digits.json"
    check = [arguments.bin / "model_check", "-m", DIGITS, "-d", "X86", "--quiet", "--layers", "fc4"]
    subprocess.run([*check, "--sarif", sarif, "--model-explorer", data], check=True, capture_output=True)

    from sarif_pydantic import Sarif
    log = Sarif.model_validate_json(sarif.read_text())
    assert log.version == "2.1.0" and log.runs[0].tool.driver.name == "Plumb"

    builder = explorer_classes(work)
    written = json.loads(data.read_text())
    results = {name: builder.NodeDataResult(**one) for name, one in written["results"].items()}
    thresholds = [builder.ThresholdItem(**one) for one in written["thresholds"]]
    graph = builder.GraphNodeData(results=results, name=written["name"], thresholds=thresholds)
    again = json.loads(graph.to_json_string())
    assert all(again[key] == written[key] for key in written), again
    assert "fc4" in results, results
    print(f"{len(results)} tensors for Model Explorer; SARIF of {len(log.runs[0].results or [])} results")


if __name__ == "__main__":
    main()
