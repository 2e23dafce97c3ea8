"""A Python that has already imported what takes long: programs run in forks of it.

A kernel that imports torch and matplotlib takes seconds before its first cell does any work; a fork of a
process that has them takes a few tenths. So a build starts a *server*, and in place of `python ARGUMENTS`
it runs

    python warm_python.py ARGUMENTS

The *client* that this starts hands its arguments, folder, environment and standard streams to the server,
waits, and ends as the fork ends. If the server has died, it becomes the plain Python that it stands for.

    client ---unix socket---> server (imports at the first request) ---fork---> one program for each client

Lifetimes hang on connections, so that even SIGKILL leaves no orphan: the server ends with its standard
input, a fork with its client. Nothing may touch a GPU or start a thread before the fork. Clients are
started for every page, so this module imports at its top what is cheap, and nothing else.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys

ADDRESS = "BOOK_WARM_PYTHON"
"""The environment variable that names the socket of a server."""


# The client


def run(arguments: list[str]) -> int:
    """Run a program in a fork of the server, or else in this process; return its exit code."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(os.environ[ADDRESS])
            request = {"arguments": arguments, "folder": os.getcwd(), "environment": {**os.environ}}
            socket.send_fds(connection, [b"\0"], [0, 1, 2])
            connection.sendall(json.dumps(request).encode() + b"\n")
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # sent to a kernel before it is shut down
            return int(connection.makefile().readline())
    except (AttributeError, KeyError, OSError):
        os.execv(sys.executable, [sys.executable, "-P", *arguments])
    except ValueError:
        return 1  # the server is gone, and the fork with it


# The server


class Server:
    """Forks a program for each connection; ends, and all forks with it, when its standard input does.

    Args:
        listener: the socket on which clients call.
        modules: what to import before the first fork, where it is installed.
    """

    def __init__(self, listener: socket.socket, modules: list[str]) -> None:

        self.listener = listener
        self.modules = modules
        self.clients: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()

    def serve(self) -> None:
        """Answer until the owner is gone."""
        os.environ["JPY_PARENT_PID"] = str(os.getpid())  # read at import: a kernel ends with it
        exits, wake_up = os.pipe()
        os.set_blocking(wake_up, False)
        signal.set_wakeup_fd(wake_up)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for readable in (self.listener, 0, exits):
            self.selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fd == 0:
                    for pid in self.clients:
                        kill_group(pid)
                    return
                if key.fd == exits:
                    os.read(exits, 4096)
                    self.report_exits()
                elif key.fileobj is self.listener:
                    self.accept()
                elif key.data in self.clients:  # the client is gone
                    self.selector.unregister(key.fileobj)
                    kill_group(key.data)

    def accept(self) -> None:
        """Fork the program that a new client asks for."""
        self.import_modules()
        connection, _ = self.listener.accept()
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        request = connection.makefile().readline()
        if request:
            pid = os.fork()
            if pid == 0:
                self.selector.close()
                for one in (self.listener, connection, *self.clients.values()):
                    one.close()
                become(streams, **json.loads(request))
            with contextlib.suppress(OSError):
                os.setpgid(pid, pid)
            self.clients[pid] = connection
            self.selector.register(connection, selectors.EVENT_READ, data=pid)
        for stream in streams:
            os.close(stream)

    def import_modules(self) -> None:
        """Import what takes long, once."""
        while self.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(self.modules.pop(0))
            if not self.modules:
                gc.collect()
                gc.freeze()

    def report_exits(self) -> None:
        """Tell each client how its program ended."""
        while self.clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with self.clients.pop(pid) as connection, contextlib.suppress(OSError, KeyError):
                self.selector.unregister(connection)
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def become(
    streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    """Turn a fresh fork into the program that `python ARGUMENTS` would be."""
    import runpy  # which no client needs, and takes as long as all else

    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        elif arguments[0] == "-c":
            sys.argv = ["-c", *arguments[2:]]
            exec(arguments[1], {"__name__": "__main__"})
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def kill_group(pid: int) -> None:
    """Kill a fork and all that it has started."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        Server(socket.socket(fileno=int(sys.argv[2])), sys.argv[3:]).serve()
        os._exit(0)  # some libraries take their time to leave
    sys.exit(run(sys.argv[1:]))
