# SPDX-License-Identifier: Apache-2.0
"""plumbnn and its process: Python that leaves while a thread computes, subinterpreters, fork, multiprocessing.

Each case is a program of its own. $PLUMB_ROOT is the repository (ctest sets it).
"""

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])
DIGITS = str(ROOT / "examples/digits/digits.tnnproto")
SQUEEZENET = str(ROOT / "examples/squeezenet/squeezenet.tnnproto")

HEAD = f"""
import multiprocessing, os, signal, sys, threading, time
import plumbnn

DIGITS, SQUEEZENET = {DIGITS!r}, {SQUEEZENET!r}

def check():
    plumbnn.check(SQUEEZENET, "NAIVE", shapes={{"input": (1, 3, 128, 128)}})

def always(function):
    def loop():
        begun.set()
        while True:
            function()
    threading.Thread(target=loop, daemon=True).start()
    begun.wait()

begun = threading.Event()
"""

LEAVES = """
always(WHAT)
time.sleep(0.1)
sys.exit(7)
"""

OBSERVER = """
class Observer(plumbnn.Observer):
    def after(self, event):
        ACTION

network = plumbnn.Network(DIGITS)
network.watch(Observer())
"""


def run(code, head=HEAD):
    # Not from here: the build's own package may lie beside it.
    done = subprocess.run(
        [sys.executable, "-c", head + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


class LeavingTest(unittest.TestCase):
    def leaves_quietly(self, what, before=""):
        code = before + LEAVES.replace("WHAT", what)
        self.assertEqual(run(code), (7, "", ""))

    def test_a_thread_that_checks(self):
        self.leaves_quietly("check")

    def test_a_thread_that_runs_a_small_network(self):
        self.leaves_quietly("network.run", "network = plumbnn.Network(DIGITS)\n")

    def test_an_observer_that_works(self):
        for action in ("sum(range(100000))", "check()"):
            self.leaves_quietly("network.run", OBSERVER.replace("ACTION", action))

    def test_an_observer_that_never_returns_and_a_thread_that_waits_for_it(self):
        never = OBSERVER.replace("ACTION", "threading.Event().wait()")
        self.leaves_quietly("network.run", never + "always(network.run)\n")

    def test_the_threads_own_code_is_unwound_and_exit_handlers_still_check(self):
        code = f"""
import atexit, sys, threading, time

ended = threading.Event()

def last():  # registered before plumbnn's own handler: runs after it
    print(ended.wait(20), plumbnn.check({DIGITS!r}, "NAIVE").aligned)

atexit.register(last)
import plumbnn

def loop():
    try:
        while True:
            plumbnn.check({SQUEEZENET!r}, "NAIVE")
    finally:
        ended.set()

threading.Thread(target=loop, daemon=True).start()
time.sleep(0.3)
sys.exit(7)
"""
        self.assertEqual(run(code, head=""), (7, "True True\n", ""))


class SubinterpreterTest(unittest.TestCase):
    CODE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
sub = interpreters.create()
program = "import sys; sys.path[:0] = " + repr(sys.path) + '''
try:
    import plumbnn._core as found
except ImportError as error:
    found = error
print(found, flush=True)
'''
interpreters.run_string(sub, program)
interpreters.destroy(sub)
print(plumbnn.check(DIGITS, "NAIVE").aligned, plumbnn.check(DIGITS, "NAIVE").aligned)
"""

    def test_it_is_refused_and_the_main_one_goes_on(self):
        code, out, error = run(self.CODE)
        if "No module named '_xxsubinterpreters'" in error:
            self.skipTest("this Python has no module that makes subinterpreters")
        self.assertEqual(code, 0, out + error)
        lines = out.splitlines()
        self.assertEqual(lines[-1], "True True")
        self.assertIn("subinterpreter", lines[0])


class ForkTest(unittest.TestCase):
    def test_a_child_of_a_process_whose_threads_compute(self):
        code = """
shared = plumbnn.Network(SQUEEZENET)
always(check)
always(shared.run)
codes = set()
for number in range(8):
    time.sleep(0.01 * number)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs ends by a signal
        try:
            shared.run()
        except plumbnn.Error as error:
            if "make a new one in the child" not in str(error):
                raise
        sys.exit(5 if plumbnn.check(DIGITS, ["NAIVE", plumbnn._network.CPU_DEVICE]).aligned else 6)
    codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(codes)
"""
        found = run(code)
        self.assertEqual(found[:2], (0, "{5}\n"), found[2])

    def test_multiprocessing(self):
        code = """
def work(number):
    return plumbnn.check(DIGITS, "NAIVE").aligned

always(check)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(4)))
"""
        found = run(code)
        self.assertEqual(found[:2], (0, "[True, True, True, True]\n"), found[2])
        code = """
always(check)
with multiprocessing.get_context("spawn").Pool(2) as pool:
    print([list(outputs) for outputs in pool.starmap(plumbnn.run, [(DIGITS,)] * 2)])
"""
        found = run(code)
        self.assertEqual(found[:2], (0, "[['prob'], ['prob']]\n"), found[2])


if __name__ == "__main__":
    unittest.main()
