# SPDX-License-Identifier: Apache-2.0
"""The tools and the network that tests run ($PLUMB_BIN_DIR, $PLUMB_TEST_DATA), and NAIVE's dump of it."""
import os
import subprocess
import unittest

BIN = os.environ.get("PLUMB_BIN_DIR")
DATA = os.environ.get("PLUMB_TEST_DATA")
MODEL = f"{DATA}/faults/faults.tnnproto"
NEEDS_TOOLS = unittest.skipUnless(BIN and DATA, "PLUMB_BIN_DIR and PLUMB_TEST_DATA are not set")


def naive_dump(folder, *options):
    """Every tensor of MODEL as NAIVE computes it, in `folder`."""
    environment = {**os.environ, "DUMP_INPUT_BLOB": "1", "DUMP_OUTPUT_BLOB": "1", "DUMP_BLOB_FORMAT": "npy",
                   "DUMP_BLOB_DIR": str(folder)}
    subprocess.run([f"{BIN}/model_run", "-m", MODEL, "-d", "NAIVE", *options], env=environment, check=True,
                   capture_output=True)
