# SPDX-License-Identifier: Apache-2.0
"""What the tests of device_check share: the tool, a phone (adb_daemon) and a board (a real sshd)."""

import argparse
import getpass
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from adb_daemon import AdbDaemon

SKIP = 77


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, help="the tools of this build")
    parser.add_argument("--arm", required=True, help="the static tools for 64-bit ARM, where they are built")
    parser.add_argument("--root", required=True, help="the repository")
    return parser.parse_args()


def numbers(run):
    """What a report's run says of each layer, to six digits: where a transcendental function is in it, the double
    precision references of two machines may differ in their last bit."""
    found = []
    for layer in run["layers"]:
        values = ["%.6g" % float(output[key]) for output in layer["outputs"] for key in ("E", "R", "R_channel")]
        found.append((layer["index"], layer["name"], layer["verdict"], *values))
    return found


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIP)


def need(*programs):
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            skip("there is no %s (apt-get install adb openssh-client openssh-server)" % program)


class Tool:
    """device_check with the binaries for the machines: ARM ones in an emulator where both are there."""

    def __init__(self, given):
        self.given, self.folder = given, tempfile.mkdtemp(prefix="plumb_remote_")
        self.environment = dict(os.environ, HOME=self.folder, XDG_CACHE_HOME=self.folder, COLUMNS="400")
        self.arm = os.path.exists(given.arm + "/model_check") and shutil.which("qemu-aarch64") is not None
        self.device = "ARM" if self.arm else "X86"
        self.there = ["--device-folder", self.folder + "/there"]
        emulated = ["--runner", "qemu-aarch64 -cpu cortex-a53", "--binaries", given.arm]
        self.binaries = emulated if self.arm else ["--binaries", given.bin]
        # The tool, the model's two files, and the library where the tool has it beside it.
        library = glob.glob(os.path.join(self.binaries[-1], "../lib/libplumb.so.*"))
        self.pushed = 3 + len(library)
        self.digits = given.root + "/examples/digits/digits.tnnproto"

    def command(self, *arguments, binaries=True):
        return [self.given.bin + "/device_check", *self.there, *(self.binaries if binaries else ()), *arguments]

    def run(self, *arguments, binaries=True, environment=None):
        return subprocess.run(
            self.command(*arguments, binaries=binaries),
            env=dict(self.environment, **(environment or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    def report(self, *arguments, **more):
        path = self.folder + "/report.json"
        if os.path.exists(path):
            os.remove(path)
        run = self.run(*arguments, "--json", path, **more)
        with open(path, encoding="utf-8") as file:
            return run, json.load(file)

    def runs_there(self):
        """The folders of runs, which a run removes at its end."""
        folder = self.folder + "/there"
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        return [name for name in names if name.startswith("run-")]

    def script(self, name, text):
        path = "%s/%s" % (self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def fresh(self):
        """As if no run had ever been there."""
        shutil.rmtree(self.folder + "/there", ignore_errors=True)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Phone:
    """A stand-in daemon that is connected to an adb server of our own, or to that `of` another phone."""

    def __init__(self, tool, of=None):
        self.tool, self.daemon = tool, AdbDaemon()
        if of is None:
            with socket.create_server(("127.0.0.1", 0)) as free:
                tool.environment["ANDROID_ADB_SERVER_PORT"] = str(free.getsockname()[1])
        tool.environment["ADB_MDNS_AUTO_CONNECT"] = "0"
        self.serial = self.daemon.serial
        self.connect()

    def adb(self, *arguments):
        return subprocess.run(
            ["adb", *arguments],
            env=self.tool.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        ).stdout

    def connect(self):
        """Anew: features count from the connection on, and adb may not have noticed that one is gone."""
        self.adb("disconnect", self.serial)
        for _ in range(50):
            said = self.adb("connect", self.serial)
            if "connected to" in said and self.adb("-s", self.serial, "get-state").strip() == "device":
                return
            time.sleep(0.1)
        raise RuntimeError("adb does not connect: " + said)

    def close(self):
        self.adb("kill-server")
        self.daemon.close()


class Proxy:
    """Between ssh and its server, to pull the cable: after `cut` bytes to the server, when that is a number. While it
    is `frozen` nothing comes through, and nobody is told."""

    def __init__(self, port):
        self.target, self.cut, self.passed, self.frozen = port, None, 0, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            self.passed = 0
            threading.Thread(target=self.connect, args=(client, server), daemon=True).start()

    def connect(self, client, server):
        with client, server:
            back = threading.Thread(target=self.forward, args=(server, client, False), daemon=True)
            back.start()
            self.forward(client, server, True)
            back.join()

    def forward(self, source, sink, counts):
        try:
            while data := source.recv(65536):
                while self.frozen:
                    time.sleep(0.05)
                self.passed += len(data) if counts else 0
                if self.cut is not None and self.passed > self.cut:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Board:
    """A real sshd of the current user on a port of its own, with its own host key and one key that may log in."""

    def __init__(self, tool):
        self.folder = tool.folder + "/ssh"
        os.mkdir(self.folder, 0o700)
        for key in ("host", "user", "other"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "%s/%s" % (self.folder, key)], check=True
            )
        shutil.copy(self.folder + "/user.pub", self.folder + "/authorized")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # sshd wants it when root starts it
        self.write(
            "sshd_config",
            "ListenAddress 127.0.0.1\nPort %d\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\nStrictModes no\n"
            "UsePAM no\nPidFile none\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            % (port, self.folder, self.folder),
        )
        sshd = shutil.which("sshd", path="/usr/sbin:/sbin:" + os.environ["PATH"])
        self.process = subprocess.Popen(
            [sshd, "-D", "-e", "-f", self.folder + "/sshd_config"], stderr=subprocess.DEVNULL
        )
        self.proxy = Proxy(port)
        self.config = self.folder + "/config"
        self.write(
            "config",
            "Host board\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s/user\n  IdentitiesOnly yes\n"
            "  UserKnownHostsFile %s/known\n  GlobalKnownHostsFile /dev/null\n"
            % (self.proxy.port, getpass.getuser(), self.folder, self.folder),
        )
        self.know("host")
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("sshd does not listen")

    def write(self, name, text):
        with open("%s/%s" % (self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def know(self, key):
        """Takes this key for the board's."""
        with open("%s/%s.pub" % (self.folder, key), encoding="utf-8") as file:
            self.write("known", "[127.0.0.1]:%d %s" % (self.proxy.port, file.read()))

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.proxy.listener.close()
