# SPDX-License-Identifier: Apache-2.0
"""Jobs side by side: in processes of this machine, on a Ray cluster, or here one by one.

Results stand in the order of the jobs. A worker that dies loses its own job alone, which is tried once more.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import Any, TypeVar

from ._errors import Error

EXECUTORS = ("processes", "ray", "loop")
TRIES = 2  # of a job whose worker died

Job = TypeVar("Job")
Done = TypeVar("Done")


def known(executor: str, workers: int | None) -> None:
    """Refuses another executor, or no workers."""
    if executor not in EXECUTORS:
        raise Error("InvalidArgument", f"executor: {', '.join(EXECUTORS)}; found '{executor}'")
    if workers is not None and workers < 1:
        raise Error("InvalidArgument", f"workers: expected a number from 1 on, found {workers}")


def run(
    work: Callable[[Job], Done],
    jobs: Sequence[Job],
    died: Callable[[Job, str], Done],
    executor: str = "processes",
    workers: int | None = None,
) -> list[Done]:
    """`work` of each job, or `died(job, why)` where its worker died twice. `work` is a function of a module."""
    known(executor, workers)
    count = workers or os.cpu_count() or 1
    if executor == "loop":
        return [work(job) for job in jobs]
    return (_in_processes if executor == "processes" else _in_ray)(work, jobs, died, count)


def _send(pipe: Any, work: Callable[[Any], Any], job: Any) -> None:
    pipe.send(work(job))
    pipe.close()


def _in_processes(
    work: Callable[[Job], Done], jobs: Sequence[Job], died: Callable[[Job, str], Done], workers: int
) -> list[Done]:
    """Each job in a fresh process."""
    context = multiprocessing.get_context("spawn")
    waiting = collections.deque((i, 1) for i in range(len(jobs)))
    running: dict[Any, tuple[int, int, Any]] = {}
    done: dict[int, Done] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                index, attempt = waiting.popleft()
                mine, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_send, args=(theirs, work, jobs[index]))
                process.start()
                theirs.close()
                running[mine] = (index, attempt, process)
            ready: list[Any] = wait(list(running))
            for pipe in ready:
                index, attempt, process = running.pop(pipe)
                try:
                    done[index] = pipe.recv()
                except (EOFError, OSError):  # before it said anything, or in the middle of it
                    process.join()
                    why = f"the worker died (exit code {process.exitcode}), {attempt} times"
                    done[index] = died(jobs[index], why)
                    if attempt < TRIES:
                        waiting.append((index, attempt + 1))
                process.join()
    finally:
        for _, _, process in running.values():
            process.terminate()
    return [done[i] for i in range(len(jobs))]


def reach(address: str) -> None:
    """Refuses "host:port" where nothing listens, for which Ray waits many minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return  # "auto", "local"
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise Error("NotFound", f"RAY_ADDRESS: there is no Ray at '{address}' ({error})") from error


@contextlib.contextmanager
def ray_cluster(workers: int) -> Iterator[Any]:
    """Ray, on the cluster that the program or $RAY_ADDRESS names, else started on this machine and stopped again."""
    try:
        import ray
    except ImportError as error:
        raise Error("NotSupported", "executor='ray' needs Ray: pip install 'plumbnn[ray]'") from error
    started, address = not ray.is_initialized(), os.environ.get("RAY_ADDRESS")
    if started and address:
        reach(address)
        ray.init(log_to_driver=False)
    elif started:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


def _call(work: Callable[[Any], Any], job: Any) -> Any:
    return work(job)


def _in_ray(
    work: Callable[[Job], Done], jobs: Sequence[Job], died: Callable[[Job, str], Done], workers: int
) -> list[Done]:
    with ray_cluster(workers) as ray:
        task = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_call)
        handed, found = ray.put(work), []
        for job, future in [(job, task.remote(handed, job)) for job in jobs]:
            try:
                found.append(ray.get(future))
            except ray.exceptions.RayError as error:
                found.append(died(job, f"the worker died: {str(error).strip().splitlines()[-1]}"))
        return found
