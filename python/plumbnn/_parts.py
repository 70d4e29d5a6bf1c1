# SPDX-License-Identifier: Apache-2.0
"""`model_check --inputs --executor ray`: its parts on a Ray cluster, each the same tool on every n-th sample.

    python -m plumbnn._parts JOB.json    (plumb/tool/many_parts.h writes it)
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any

from ._errors import Error
from ._executors import TRIES, ray_cluster
from ._tools import tool


def _run_part(job: dict[str, Any], part: int) -> tuple[str, str]:
    """The lines of that part, and what went wrong or ""."""
    command = list(job["command"])
    if shutil.which(command[0]) is None:  # another machine has it elsewhere
        command[0] = tool(os.path.basename(command[0]))
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.jsonl"
        if job["known"]:
            results.write_text(job["known"], encoding="utf-8")
        command += ["--part", f"{part}/{job['parts']}", "--results", str(results)]
        deaths, size = 0, 0
        while True:
            ended = subprocess.run(
                command, cwd=job["folder"], env={**os.environ, **job["environment"]}, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False,
            )
            lines = results.read_text(encoding="utf-8") if results.exists() else ""
            if ended.returncode == 0:
                return lines, ""
            said = (ended.stdout.strip().splitlines() or [""])[-1]
            if ended.returncode > 0:
                return lines, said
            deaths, size = (0 if len(lines) > size else deaths + 1), len(lines)
            if deaths == TRIES:
                name = signal.Signals(-ended.returncode).name
                return lines, f"the process for part {part} died ({name}) before its first sample: {said}"


def _share_out(job: dict[str, Any]) -> None:
    """Writes RESULTS.part-K as the parts end; model_check joins them."""
    job["folder"] = os.getcwd()
    if os.sep in job["command"][0]:
        job["command"][0] = os.path.abspath(job["command"][0])
    job["environment"] = {
        name: value for name, value in os.environ.items() if name.startswith(("PLUMB_", "DUMP_"))
    }
    with ray_cluster(job["workers"]) as ray:
        task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_run_part)
        handed = ray.put(job)
        waiting = {task.remote(handed, part): part for part in range(1, job["parts"] + 1)}
        while waiting:
            ended, _ = ray.wait(list(waiting))
            part = waiting.pop(ended[0])
            try:
                lines, wrong = ray.get(ended[0])
            except ray.exceptions.RayError as error:
                raise Error("DeviceError", f"part {part}: {str(error).strip().splitlines()[-1]}") from error
            pathlib.Path(f"{job['results']}.part-{part}").write_text(lines, encoding="utf-8")
            if wrong:
                raise Error("InvalidArgument", wrong)


def main() -> int:
    """Exit code 0; else the last line says why."""
    try:
        _share_out(json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
    except (Error, OSError) as error:
        print(error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
