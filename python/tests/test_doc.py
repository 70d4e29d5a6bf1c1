# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of doc/python.md and doc/judge.md, block after block, beside the digits example as net.tnnproto."""

import os
import pathlib
import re
import shutil
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["PLUMB_ROOT"])


class DocTest(unittest.TestCase):
    def test_every_block_runs(self):
        for page in ("doc/python.md", "doc/judge.md"):
            with self.subTest(page):
                self.run_page(page)

    def run_page(self, name):
        page = (ROOT / name).read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            for part in ("proto", "model"):
                source = ROOT / f"examples/digits/digits.tnn{part}"
                shutil.copy(source, f"{folder}/net.tnn{part}")
            os.chdir(folder)
            try:
                names = {}
                for block in blocks:
                    exec(compile(block, name, "exec"), names)  # the page is ours
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
