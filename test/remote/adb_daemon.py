# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a phone: what adbd says to the real adb client over TCP, without authorisation.

Connections, `shell` in both protocols (v2 with exit codes and stderr, and the old one, which has
neither), and file transfer (STAT, LIST, SEND, RECV). Commands run in this machine's shell. Faults
are fields that a test sets:

    legacy      the old protocol, as before Android 7
    space       bytes that fit; more is "No space left on device"
    cut_bytes   the cable is pulled when this many bytes of files have arrived
    cut_command the cable is pulled when a command that contains this text has begun to write
    frozen      it answers nothing more
"""

import os
import signal
import socket
import stat
import struct
import subprocess
import threading

VERSION, MAX_DATA = 0x01000000, 256 * 1024
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)


def word(text):
    return struct.unpack("<I", text)[0]


CNXN, OPEN, OKAY, WRTE, CLSE = map(word, (b"CNXN", b"OPEN", b"OKAY", b"WRTE", b"CLSE"))


class Gone(Exception):
    """The connection is over."""


class Stream:
    """One service that the client opened: bytes both ways, each message acknowledged."""

    def __init__(self, connection, local, remote):
        self.connection, self.local, self.remote = connection, local, remote
        self.received, self.ready = b"", threading.Condition()
        self.acknowledged, self.closed = threading.Semaphore(0), False

    def feed(self, data):
        with self.ready:
            self.received += data
            self.ready.notify_all()

    def close_from_client(self):
        with self.ready:
            self.closed = True
            self.ready.notify_all()
        self.acknowledged.release()

    def read(self, count):
        with self.ready:
            while len(self.received) < count:
                if self.closed:
                    raise Gone
                self.ready.wait()
            data, self.received = self.received[:count], self.received[count:]
            return data

    def write(self, data):
        for at in range(0, len(data), MAX_DATA):
            if self.closed:
                raise Gone
            self.connection.send(WRTE, self.local, self.remote, data[at : at + MAX_DATA])
            self.acknowledged.acquire()

    def close(self):
        if not self.closed:
            self.connection.send(CLSE, self.local, self.remote)


class Connection:
    """One client, which is adb's server."""

    def __init__(self, daemon, client):
        self.daemon, self.client = daemon, client
        self.lock, self.streams, self.next = threading.Lock(), {}, 1

    def send(self, command, first, second, data=b""):
        head = struct.pack("<6I", command, first, second, len(data), sum(data), command ^ 0xFFFFFFFF)
        try:
            with self.lock:
                self.client.sendall(head + data)
        except OSError:
            raise Gone from None

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.client.recv(count - len(data))
            if not part:
                raise Gone
            data += part
        return data

    def cut(self):
        try:
            self.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def serve(self):
        try:
            while True:
                command, first, second, length, _, _ = struct.unpack("<6I", self.read(24))
                self.handle(command, first, second, self.read(length))
        except (Gone, OSError):
            pass
        for stream in self.streams.values():
            stream.close_from_client()
        self.client.close()

    def handle(self, command, first, second, data):
        if self.daemon.frozen:
            return
        if command == CNXN:
            features = "" if self.daemon.legacy else ";features=shell_v2,cmd"
            name = "device::ro.product.name=plumb;ro.product.model=plumb;ro.product.device=plumb"
            self.send(CNXN, VERSION, MAX_DATA, (name + features + "\0").encode())
        elif command == OPEN:
            local, self.next = self.next, self.next + 1
            self.streams[local] = stream = Stream(self, local, first)
            self.send(OKAY, local, first)
            service = data.rstrip(b"\0").decode()
            threading.Thread(target=self.run, args=(stream, service), daemon=True).start()
        elif second in self.streams:
            stream = self.streams[second]
            if command == WRTE:
                stream.feed(data)
                self.send(OKAY, second, first)
            elif command == OKAY:
                stream.acknowledged.release()
            elif command == CLSE:
                del self.streams[second]
                stream.close_from_client()

    def run(self, stream, service):
        try:
            kind, _, rest = service.partition(":")
            if kind == "sync":
                FileService(self, stream).serve()
            elif kind.split(",")[0] in ("shell", "exec"):
                Shell(self, stream, rest, "v2" in kind.split(",")).serve()
            stream.close()
        except Gone:
            pass


class Shell:
    def __init__(self, connection, stream, command, version2):
        self.connection, self.stream = connection, stream
        self.command, self.version2 = command, version2

    def serve(self):
        self.process = subprocess.Popen(
            ["sh", "-c", self.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if self.version2 else subprocess.STDOUT,
            start_new_session=True,
        )
        self.connection.daemon.processes.append(self.process)
        forwards = [threading.Thread(target=self.forward, args=(STDOUT, self.process.stdout))]
        if self.version2:
            forwards.append(threading.Thread(target=self.forward, args=(STDERR, self.process.stderr)))
        for thread in forwards:
            thread.start()
        for thread in forwards:
            thread.join()
        code = self.process.wait()
        if self.version2:
            self.packet(EXIT, bytes([code if code >= 0 else 128 - code]))

    def packet(self, kind, data):
        self.stream.write(struct.pack("<BI", kind, len(data)) + data if self.version2 else data)

    def forward(self, kind, pipe):
        with pipe:
            while True:
                data = pipe.read1(4096)
                if not data:
                    return
                cut = self.connection.daemon.cut_command
                if cut and cut in self.command:
                    self.connection.daemon.cut_command = None
                    self.connection.cut()
                    os.killpg(self.process.pid, signal.SIGHUP)
                try:
                    self.packet(kind, data)
                except Gone:
                    return


class FileService:
    def __init__(self, connection, stream):
        self.daemon, self.connection, self.stream = connection.daemon, connection, stream

    def serve(self):
        while True:
            request, length = struct.unpack("<4sI", self.stream.read(8))
            path = self.stream.read(length).decode()
            if request == b"QUIT":
                return
            {b"STAT": self.stat, b"LIST": self.list, b"SEND": self.send, b"RECV": self.receive}[request](path)

    def fail(self, text):
        self.stream.write(struct.pack("<4sI", b"FAIL", len(text)) + text.encode())

    def stat(self, path):
        try:
            info = os.lstat(path)
            answer = (info.st_mode, info.st_size, int(info.st_mtime))
        except OSError:
            answer = (0, 0, 0)
        self.stream.write(struct.pack("<4s3I", b"STAT", *answer))

    def list(self, path):
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            info = os.lstat(os.path.join(path, name))
            fields = (info.st_mode, info.st_size, int(info.st_mtime), len(name.encode()))
            self.stream.write(struct.pack("<4s4I", b"DENT", *fields) + name.encode())
        self.stream.write(struct.pack("<4s4I", b"DONE", 0, 0, 0, 0))

    def send(self, path_and_mode):
        path, _, mode = path_and_mode.rpartition(",")
        failed = None
        with open(path, "wb") as file:
            while True:
                kind, size = struct.unpack("<4sI", self.stream.read(8))
                if kind == b"DONE":
                    break
                data = self.stream.read(size)
                self.daemon.arrived += len(data)
                if self.daemon.cut_bytes is not None and self.daemon.arrived > self.daemon.cut_bytes:
                    self.daemon.cut_bytes = None
                    self.connection.cut()
                    raise Gone
                if self.daemon.space is not None and self.daemon.arrived > self.daemon.space:
                    failed = failed or "couldn't write file: No space left on device"
                if not failed:
                    file.write(data)
        if failed:
            os.remove(path)
            return self.fail(failed)
        os.chmod(path, stat.S_IMODE(int(mode)))
        self.stream.write(struct.pack("<4sI", b"OKAY", 0))

    def receive(self, path):
        try:
            file = open(path, "rb")
        except OSError as error:
            return self.fail(error.strerror)
        with file:
            while data := file.read(64 * 1024):
                self.stream.write(struct.pack("<4sI", b"DATA", len(data)) + data)
        self.stream.write(struct.pack("<4sI", b"DONE", 0))


class AdbDaemon:
    def __init__(self):
        self.processes = []
        self.heal()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.serial = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def heal(self):
        self.legacy, self.space, self.cut_bytes, self.cut_command = False, None, None, None
        self.frozen = False
        self.arrived = 0

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=Connection(self, client).serve, daemon=True).start()

    def close(self):
        self.listener.close()
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
