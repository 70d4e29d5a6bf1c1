# SPDX-License-Identifier: Apache-2.0
"""sbom.py NAME VERSION LIST FOLDER: the bill of materials of a release, as CycloneDX 1.5 (JSON) on standard output.

LIST has a line "file package" for each library in FOLDER; versions and licences are Debian's.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys


def licences(package):
    """The short names that the package's machine-readable copyright file has; its own words where it is none."""
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(encoding="utf-8", errors="replace")
    names = sorted(set(re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)))
    return [{"license": {"name": name}} for name in names or ["see share/doc/plumb/licences/" + package]]


def component(file, package, folder):
    asked = ["dpkg-query", "-W", "-f=${Version}", package]
    version = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True).stdout
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    return {
        "type": "library",
        "bom-ref": file,
        "name": package,
        "version": version,
        "purl": f"pkg:deb/debian/{package}@{version}",
        "licenses": licences(package),
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "properties": [{"name": "file", "value": file}],
    }


def main(name, version, listed, folder):
    lines = [line.split() for line in pathlib.Path(listed).read_text(encoding="utf-8").splitlines()]
    if not lines:
        sys.exit(f"sbom.py: {listed} names no library")
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": name, "name": "plumb", "version": version}},
        "components": [component(file, package, pathlib.Path(folder)) for file, package in lines],
        "dependencies": [{"ref": name, "dependsOn": [file for file, _ in lines]}],
    }
    print(json.dumps(bill, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
