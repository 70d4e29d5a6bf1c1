# SPDX-License-Identifier: Apache-2.0
"""Where the reference ran does not matter: on this machine and on a 64-bit ARM one (in an emulator) the same verdicts,
numbers and first guilty layer, healthy and with a fault."""

import json
import os
import subprocess
import unittest

import machines

GIVEN = machines.options()
NETWORKS = {"digits": "examples/digits/digits.tnnproto", "faults": "test/data/faults/faults.tnnproto"}


class Proof(unittest.TestCase):
    def setUp(self):
        self.tool = machines.Tool(GIVEN)
        self.addCleanup(self.tool.close)
        if not self.tool.arm:
            machines.skip("platforms/linux/arm64.sh --static, or qemu-aarch64, was not there")

    def judge(self, command, model, dump):
        path = self.tool.folder + "/judged.json"
        run = subprocess.run(
            [*command, "-m", model, "--subject", dump, "-q", "--json", path], stdout=subprocess.PIPE, text=True
        )
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        judged = report["runs"][0]
        return run.returncode, (judged["first_wrong"] or {}).get("name"), machines.numbers(judged)

    def both(self, model, dump):
        here = self.judge([GIVEN.bin + "/model_check"], model, dump)
        emulator = ["qemu-aarch64", "-cpu", "cortex-a53", GIVEN.arm + "/model_check"]
        there = self.judge(emulator, model, dump)
        return here, there

    def test_the_reference_says_the_same_on_both(self):
        for name, path in NETWORKS.items():
            model = os.path.join(GIVEN.root, path)
            kept = "%s/%s" % (self.tool.folder, name)
            run = self.tool.run("-m", model, "-d", "ARM", "--judge", "here", "-q", "-o", kept)
            self.assertEqual(run.returncode, 0, run.stdout)
            dump = kept + "/this_machine/dump"
            here, there = self.both(model, dump)
            self.assertEqual(here[0], 0)
            self.assertEqual(here, there, name)
            # A fault: one value of a layer in the middle.
            with open(dump + "/manifest.json", encoding="utf-8") as file:
                files = [entry for entry in json.load(file)["files"] if entry["direction"] == "out"]
            guilty = files[len(files) // 2]
            values = os.path.join(dump, guilty["file"])
            with open(values, "r+b") as file:
                file.seek(-4, os.SEEK_END)
                file.write(b"\x00\x00\x00\x42")  # 32
            self.forget_checksum(dump, guilty["file"])
            here, there = self.both(model, dump)
            self.assertEqual(here[0], 1, name)
            self.assertEqual(here[1], guilty["layer"])
            self.assertEqual(here, there, name)

    def forget_checksum(self, dump, name):
        with open(dump + "/manifest.json", encoding="utf-8") as file:
            manifest = json.load(file)
        for entry in manifest["files"]:
            if entry["file"] == name:
                entry["xxh64"] = entry["values_xxh64"] = ""
        with open(dump + "/manifest.json", "w", encoding="utf-8") as file:
            json.dump(manifest, file)

    def test_a_check_there_and_one_of_its_dump_here_agree(self):
        for path in NETWORKS.values():
            model = os.path.join(GIVEN.root, path)
            found = []
            for more in ((), ("--judge", "here")):
                run, report = self.tool.report("-m", model, "-d", "ARM", *more)
                self.assertEqual(run.returncode, 0, run.stdout)
                found.append(machines.numbers(report["machines"][0]["report"]["runs"][0]))
            self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    unittest.main(argv=["proof_test"], verbosity=2)
