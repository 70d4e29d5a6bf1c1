# SPDX-License-Identifier: Apache-2.0
"""Files that this program writes: under a name of their own until they are whole, and never through a link that
somebody else put there."""
import contextlib
import errno
import os
import pathlib
import secrets

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None


def create(path):
    """A stream into a file that was not there; FileExistsError for whatever has that name, a link included."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "wb")


@contextlib.contextmanager
def whole(path):
    """A stream; what was written to it stands at `path` when the block ends, or nothing does. A link there is replaced,
    not followed."""
    path = pathlib.Path(path)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with create(part) as stream:
            yield stream
        os.replace(part, path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # of a write
            error.strerror, error.filename = error.strerror or str(error), str(path)
        raise


def write_text(path, text):
    """As `whole`. Lone surrogates, which UTF-8 has not, become '?'."""
    with whole(path) as stream:
        stream.write(text.encode("utf-8", "replace"))


def write_report(path, text):
    """The same for a path that a user gave, but what is no regular file (a pipe, /dev/stdout) is written as it is."""
    path = pathlib.Path(path)
    if os.path.abspath(path).startswith(("/dev/", "/proc/")) or (path.exists() and not path.is_file()):
        with open(path, "wb") as stream:
            stream.write(text.encode("utf-8", "replace"))
    else:
        write_text(path, text)


class FolderLock:
    """One holder at a time, of all processes; a process that ends gives it back. On disks without locks everybody has
    it."""

    def __init__(self, path):
        """BlockingIOError: another has it."""
        self._handle = None
        if fcntl is None:
            return
        self._handle = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                self.release()
                raise BlockingIOError(*error.args) from None

    def release(self):
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self):
        self.release()
