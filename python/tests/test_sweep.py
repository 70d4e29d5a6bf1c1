#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps: the same bytes whatever the workers, and a worker that dies loses nothing but its own job."""
import importlib.util
import os
import pathlib
import signal
import socket
import unittest

import numpy as np

import plumbnn
from plumbnn import _executors

DIGITS = str(pathlib.Path(os.environ["PLUMB_ROOT"]) / "examples" / "digits" / "digits.tnnproto")


def die_or_send(pipe, work, job):
    """In place of a job: the second one ends its process."""
    if job.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    pipe.send(work(job))
    pipe.close()


def send_half(pipe, work, job):
    """In place of an answer: a length, and an end before the bytes."""
    os.write(pipe.fileno(), b"\0\0\1\0half")
    os.kill(os.getpid(), signal.SIGKILL)


class Sweep(unittest.TestCase):
    def test_the_same_bytes_whatever_the_workers(self):
        jobs = dict(devices=["NAIVE"], precisions=["HIGH"], seeds=[1, 2, 3])
        loop = plumbnn.sweep([DIGITS], 4, executor="loop", **jobs)
        self.assertTrue(loop.ok, str(loop))
        self.assertEqual([row.seed for row in loop.rows], [1, 2, 3])
        self.assertEqual([row.ran for row in loop.rows], [4, 4, 4])
        for workers in (1, 3):
            self.assertEqual(plumbnn.sweep([DIGITS], 4, workers=workers, **jobs).to_json(), loop.to_json())
        if importlib.util.find_spec("ray") is not None:
            self.assertEqual(plumbnn.sweep([DIGITS], 4, workers=2, executor="ray", **jobs).to_json(), loop.to_json())

    def test_samples_that_are_given(self):
        images = [np.full((1, 1, 8, 8), value, np.float32) for value in (-1, 0, 1)]
        report = plumbnn.sweep([DIGITS], images, devices=["NAIVE"], executor="loop")
        self.assertEqual(report.rows[0].ran, 3)
        report = plumbnn.sweep([DIGITS], iter(images), devices=["NAIVE"], seeds=[1, 2], executor="loop")
        self.assertEqual([row.ran for row in report.rows], [3, 3])

    def test_a_job_that_cannot_run_is_a_row(self):
        report = plumbnn.sweep([DIGITS, "none.onnx"], 1, devices=["NAIVE"], executor="loop")
        self.assertFalse(report.ok)
        self.assertEqual(report.rows[0].error, "")
        self.assertIn("none.onnx", report.rows[1].error)

    def test_a_worker_that_dies_loses_its_own_job_alone(self):
        kept, _executors._send = _executors._send, die_or_send
        self.addCleanup(setattr, _executors, "_send", kept)
        report = plumbnn.sweep([DIGITS], 2, devices=["NAIVE"], seeds=[1, 2, 3], workers=2)
        self.assertEqual(report.rows[1].error, "the worker died (exit code -9), 2 times")
        self.assertEqual([row.ran for row in report.rows], [2, 0, 2])

    def test_a_worker_that_dies_in_its_answer(self):
        kept, _executors._send = _executors._send, send_half
        self.addCleanup(setattr, _executors, "_send", kept)
        report = plumbnn.sweep([DIGITS], 1, devices=["NAIVE"], workers=1)
        self.assertEqual(report.rows[0].error, "the worker died (exit code -9), 2 times")

    def test_a_cluster_that_is_not_there(self):
        with socket.socket() as taken:  # bound, and nobody listens
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999999"):
                with self.assertRaisesRegex(plumbnn.Error, f"RAY_ADDRESS: there is no Ray at '{address}'"):
                    _executors.reach(address)
        _executors.reach("auto")

    def test_bad_arguments(self):
        with self.assertRaisesRegex(plumbnn.Error, "executor: processes, ray, loop; found 'spark'"):
            plumbnn.sweep([DIGITS], 1, executor="spark")
        with self.assertRaisesRegex(plumbnn.Error, "nothing to do"):
            plumbnn.sweep([], 1)
        for workers in (0, -1):
            with self.assertRaisesRegex(plumbnn.Error, "workers: expected a number from 1 on"):
                plumbnn.sweep([DIGITS], 1, workers=workers)
        with self.assertRaisesRegex(plumbnn.Error, "samples: expected a number from 1 on, found 0"):
            plumbnn.sweep([DIGITS], 0)
        if importlib.util.find_spec("ray") is None:
            with self.assertRaisesRegex(plumbnn.Error, r"pip install 'plumbnn\[ray\]'"):
                plumbnn.sweep([DIGITS], 1, devices=["NAIVE"], executor="ray")


if __name__ == "__main__":
    unittest.main()
