"""One server imports what pages need, once; each page runs in a fork of it, a warm kernel.

A plain kernel may spend seconds on imports before its first cell does any work; a fork of a
process that has them spends a few tenths. The fork is a real ipykernel, so a page gets the outputs that
it would get anywhere else, and since every page has a fork of its own, none can see what another did.
Nothing may touch a GPU or start a thread before the fork.

    sphinx ---unix socket---> server (imports once) ---fork---> one kernel for each page

A program can be forked like a kernel (see `run.programs`).

Lifetimes hang on connections, so that even SIGKILL leaves no orphan: the server ends with its
standard input, a kernel with the connection that asked for it, or with its parent.

A server may outlive a build: other builds find it by their environment, which is how an author's saves are
shown at once. This module knows nothing of Sphinx, nor of notebooks.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import importlib
import json
import logging
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NoReturn, cast

from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.kernel_startup import install

OF_KERNELS = (
    "IPython.core.debugger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "ipykernel.debugger",
    "ipykernel.kernelapp",
    "faulthandler",
    "sqlite3",
    "tornado.platform.asyncio",
    "traitlets.config.argcomplete_config",
)
"""What every kernel imports sooner or later."""
ADDRESS = "BOOK_KERNEL_SERVER"
"""The environment variable that names a server that runs already."""
FOLDER = Path(__file__).resolve().parent
PROGRAM = (sys.executable, "-P", "-m", "executable_book.run.kernels.warm_server")
MOST_BYTES_OF_A_SOCKETS_FOLDER = 80
"""The path of a socket may have about a hundred bytes, its name among them."""
PR_SET_PDEATHSIG = 1
"""Linux's name for the wish to get a signal when the parent ends."""
START_SECONDS = 120
END_SECONDS = 30


class ServerLostError(Exception):
    """The warm server cannot be reached, or is gone."""


def worker_count() -> int:
    """Return how many pages run side by side: one for each core, up to eight."""
    return min(_cores(), 8)


def environment() -> dict[str, str]:
    """Return the environment of every kernel: this process's, less what would change a page.

    The number of threads depends on the machine alone, not on how many pages run just now: another
    number of threads sums in another order, and a page must not change because its neighbour did.
    """
    threads = str(max(1, _cores() // worker_count()))
    fixed = {
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MATPLOTLIBRC": str(FOLDER / "matplotlibrc"),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": "1",
    }
    personal = {"JPY_PARENT_PID", "PYTHONSTARTUP", ADDRESS}
    return {name: value for name, value in os.environ.items() if name not in personal} | fixed


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# The kernel


def run_kernel(settings: KernelSettings, connection_file: str) -> None:
    """Be a kernel, until told to stop."""
    from ipykernel.kernelapp import IPKernelApp
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.IPKernelApp.log_level = logging.ERROR
    if sys.platform != "win32":  # there it would be no number of a process
        config.IPKernelApp.parent_handle = os.getppid()
    app = IPKernelApp.instance(config=config, connection_file=connection_file)
    app.initialize([])
    shell: Any = app.shell
    install(shell, settings)
    app.start()


def run_program(command: list[str], output: str, errors: str) -> None:
    """Be a program: run a file, with arguments, and write what it prints into other files.

    It ends with the server, even if that is killed.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for descriptor, path in ((1, output), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY), descriptor)
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")


# The server


@contextlib.contextmanager
def server(settings: KernelSettings) -> Iterator[str]:
    """Have a warm server for as long as the context lasts, and get its address."""
    with tempfile.TemporaryDirectory(prefix="kernels-") as folder:
        address = os.path.join(folder, identity(settings))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(64)
            process = subprocess.Popen(
                [*PROGRAM, "serve", settings.to_json(), str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=environment(),
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        try:
            yield address
        finally:
            cast(IO[bytes], process.stdin).close()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def running(settings: KernelSettings) -> str | None:
    """Return the address of a server that this process was told of, if it is what we would start now."""
    address = os.environ.get(ADDRESS)
    return address if address and os.path.basename(address) == identity(settings) else None


@contextlib.contextmanager
def at_hand(settings: KernelSettings) -> Iterator[str | None]:
    """Have a server that is `running` for as long as the context lasts; None, where there is none."""
    if (address := running(settings)) or sys.platform != "linux":
        yield address
        return
    with server(settings) as address:
        before = os.environ.get(ADDRESS)
        os.environ[ADDRESS] = address
        try:
            yield address
        finally:
            del os.environ[ADDRESS]
            if before is not None:
                os.environ[ADDRESS] = before


def identity(settings: KernelSettings) -> str:
    """Tell servers apart by what they have imported: another one would run pages in other code."""
    code = [path.read_bytes() for path in [*sorted(FOLDER.glob("*.py")), *settings.files()]]
    imported = settings.to_json() + json.dumps(settings.installed())
    return hashlib.sha256(b"".join([*code, imported.encode()])).hexdigest()[:16]


def may_hold_sockets(folder: str) -> bool:
    """Tell whether sockets can be made in a folder."""
    short = len(os.fsencode(folder)) <= MOST_BYTES_OF_A_SOCKETS_FOLDER
    return short and hasattr(socket, "AF_UNIX")


class _Server:
    """Forks a kernel for each connection, and ends when its owner closes a pipe."""

    def __init__(self, settings: KernelSettings, listener: socket.socket, owner: int):
        self.settings = settings
        self.listener = listener
        self.owner = owner
        self.connections: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Import what pages need, then answer until the owner is gone."""
        for name in (*OF_KERNELS, *self.settings.preload):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()
        self.exits, told_by_signals = os.pipe()
        os.set_blocking(told_by_signals, False)
        signal.set_wakeup_fd(told_by_signals)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for readable in (self.listener, self.owner, self.exits):
            self.selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fd == self.owner:
                    for pid in self.connections:
                        _kill_group(pid)
                    return
                if key.fd == self.exits:
                    self.report_exits()
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.data in self.connections:  # who asked for this kernel is gone
                    self.selector.unregister(key.fileobj)
                    _kill_group(key.data)

    def accept(self) -> None:
        """Fork the kernel or the program that a new connection asks for, and tell its pid."""
        connection, _ = self.listener.accept()
        request = connection.makefile().readline()
        if not request:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self.selector.close()
            for one in (self.listener, connection, *self.connections.values()):
                one.close()
            _become(self.settings, **json.loads(request))
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self.connections[pid] = connection
        self.selector.register(connection, selectors.EVENT_READ, data=pid)
        _tell(connection, pid)

    def report_exits(self) -> None:
        """Tell the exit code of each kernel that has ended to who asked for it."""
        os.read(self.exits, 4096)
        while self.connections:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            connection = self.connections.pop(pid)
            if connection in self.selector.get_map():
                self.selector.unregister(connection)
            _tell(connection, os.waitstatus_to_exitcode(status))
            connection.close()


def _tell(connection: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"%d\n" % number)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _become(
    settings: KernelSettings, folder: str, environment: dict[str, str], **task: Any
) -> NoReturn:
    """Turn a fresh fork into a kernel, or a program: nothing of the server's is left but its imports."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        if "command" in task:
            run_program(**task)
        else:
            run_kernel(settings, **task)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        try:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        finally:
            os._exit(status)


# The client's side of a fork


class ForkedProcess:
    """A fork of the server, as far as jupyter_client needs `subprocess.Popen`.

    Args:
        address: of the server.
        folder: where it works.
        environment: its environment.
        **task: what `run_kernel` or `run_program` wants to know.
    """

    stdin = stdout = stderr = None

    def __init__(self, address: str, folder: str, environment: dict[str, str], **task: Any):
        request = {"folder": folder, "environment": environment, **task}
        self.returncode: int | None = None
        self.lost = False
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(START_SECONDS)
        with self._losing_the_server():
            self._socket.connect(address)
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        self._replies = self._socket.makefile()

    @contextlib.contextmanager
    def _losing_the_server(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            self._socket.close()
            raise ServerLostError(str(error)) from error

    @cached_property
    def pid(self) -> int:
        """The number of the process: it is known when the server has imported all."""
        with self._losing_the_server():
            return int(self._replies.readline())

    def poll(self) -> int | None:
        """Return the exit code, or None while the kernel lives."""
        if self.returncode is None and select.select([self._socket], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """Wait for the end and return the exit code; `lost` says that it was the server's end."""
        if self.returncode is None:
            try:
                _ = self.pid
                self._socket.settimeout(None)
                self.returncode = int(self._replies.readline())
            except (OSError, ValueError, ServerLostError):
                self.lost = True
                self.returncode = -signal.SIGKILL
            self.kill()
        return self.returncode

    def kill(self) -> None:
        """Have it killed by the server, to which the end of a connection says so."""
        if self.returncode is None:
            self.returncode = -signal.SIGKILL
        self._replies.close()
        self._socket.close()

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        if self.poll() is None:
            os.kill(self.pid, number)


def main(arguments: Sequence[str]) -> None:
    """Be what the first argument says: a kernel, or the server."""
    match arguments:
        case ["kernel", settings, connection_file]:
            run_kernel(KernelSettings.from_json(settings), connection_file)
        case ["serve", settings, descriptor]:
            listener = socket.socket(fileno=int(descriptor))
            _Server(KernelSettings.from_json(settings), listener, owner=0).serve()
            os._exit(0)  # some libraries take their time to leave
        case _:
            raise SystemExit("usage: warm_server serve SETTINGS DESCRIPTOR | kernel SETTINGS FILE")


if __name__ == "__main__":
    main(sys.argv[1:])
