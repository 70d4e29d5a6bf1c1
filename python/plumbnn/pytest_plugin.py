# SPDX-License-Identifier: Apache-2.0
"""pytest: the fixtures `plumb_check` and `plumb_close`, and baselines.

    def test_net(plumb_check):
        plumb_check("net.onnx", devices=["X86"])

fails where a layer is wrong, and prints the guilty layer and the command that shows it again; also
where a subject is computed in less than model and dump say (`expect="any"` allows it).
With `--plumb-baseline FILE` it also fails where a layer is worse than the file says;
`--plumb-update-baseline` writes what is found there. One check is known by the test's id and its
place among the test's checks, or by `name=`. What is found travels in the tests' reports, so that
pytest-xdist's workers have it come together in the one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Any

import pytest


class BaselineFile:
    """The file of one session; written once, at its end, by the process that has all reports."""

    def __init__(self, path: str, update: bool, is_worker: bool) -> None:
        from . import _core

        self.path, self.update, self.is_worker = path, update, is_worker
        there = os.path.exists(path)
        self.baseline = _core.Baseline.read(path) if there or not update else _core.Baseline()

    def judge(self, key: str, report: Any) -> list[str]:
        """The sentences on what is worse; none while it is updated."""
        return [] if self.update else self.baseline.compare(key, report._result)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for text, partly in getattr(report, _FIELD, []):
            self.baseline.merge(text, partly)

    def pytest_sessionfinish(self) -> None:
        if not self.update or self.is_worker:
            return
        from ._errors import Error

        try:
            self.baseline.write(self.path)
        except Error as error:
            raise pytest.UsageError(f"--plumb-update-baseline: {error}") from error


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("plumb")
    group.addoption(
        "--plumb-baseline",
        metavar="FILE",
        help="fail where a layer of a plumb_check is worse than this file says",
    )
    group.addoption(
        "--plumb-update-baseline",
        action="store_true",
        help="write what the checks find into the file of --plumb-baseline",
    )


_KEY = pytest.StashKey[BaselineFile]()
_FOUND = pytest.StashKey[list[tuple[str, bool]]]()  # of a test, since its last report
_FIELD = "plumb_baselines"  # of a report


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--plumb-baseline")
    update = config.getoption("--plumb-update-baseline")
    if update and path is None:
        raise pytest.UsageError("--plumb-update-baseline: which file? give --plumb-baseline FILE")
    if path is None:
        return
    from ._errors import Error

    try:
        file = BaselineFile(path, update, is_worker=hasattr(config, "workerinput"))
    except Error as error:
        hint = "; --plumb-update-baseline makes it" if error.code == "NotFound" else ""
        raise pytest.UsageError(f"--plumb-baseline: {error}{hint}") from error
    config.stash[_KEY] = file
    config.pluginmanager.register(file, "plumb-baseline")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    outcome = yield
    found = item.stash.get(_FOUND, [])
    if found:
        setattr(outcome.get_result(), _FIELD, found)
        item.stash[_FOUND] = []


@pytest.fixture
def plumb_close() -> Callable[..., Any]:
    """`plumbnn.assert_close`: one kernel's output is what rounding explains, or the test fails."""
    from ._errors import MisalignedError
    from ._judge import assert_close

    def close(actual: Any, op: str, inputs: Any, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return assert_close(actual, op, inputs, *args, **options)
        except MisalignedError as error:
            pytest.fail(str(error), pytrace=False)

    return close


@pytest.fixture
def plumb_check(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`plumbnn.check` with the same arguments; the test fails where it is not aligned."""
    from ._check import check as run_check

    file = request.config.stash.get(_KEY, None)
    done: list[str] = []

    def check(model: Any, *args: Any, name: str | None = None, **options: Any) -> Any:
        __tracebackhide__ = True
        report = run_check(model, *args, **{"expect": "model", **options})
        key = name or request.node.nodeid + (f"#{len(done) + 1}" if done else "")
        done.append(key)
        worse = file.judge(key, report) if file is not None else []
        if file is not None and file.update:
            request.node.stash.setdefault(_FOUND, []).extend(report._result.baselines(key))
        against = file.path if file is not None else ""
        if not report.aligned:
            report.save_inputs()
            pytest.fail("\n".join([str(report), *worse]), pytrace=False)
        if worse:
            lines = [f"worse than {against} says:", *worse]
            pytest.fail("\n".join(lines), pytrace=False)
        return report

    return check
