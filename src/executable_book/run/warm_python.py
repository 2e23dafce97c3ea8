"""A Python that has already imported what takes long: programs run in forks of it.

A kernel that imports torch and matplotlib takes seconds before its first cell does any work; a fork of a
process that has them takes a few tenths. So a build starts a *server*, and in place of `python ARGUMENTS`
it runs

    python warm_python.py ARGUMENTS

The *client* that this starts hands its arguments, folder, environment and standard streams to the server,
waits, and ends as the fork ends. If the server has died, it becomes the plain Python that it stands for.

    client ---unix socket---> attendant, a fork of the server ---fork---> program

Lifetimes hang on connections, so that even SIGKILL leaves no orphan: the server ends with its standard
input, an attendant and its program with that or with their client. Nothing may touch a GPU or start a thread
before the fork. Clients are started for every page, so this module imports at its top what is cheap, and
nothing else.
"""

import contextlib
import gc
import importlib
import json
import os
import select
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


def serve(listener: socket.socket, modules: list[str]) -> None:
    """Fork an attendant for each client, until the owner has closed the standard input.

    Args:
        listener: the socket on which clients call.
        modules: what to import before the first fork, where that succeeds.
    """
    os.environ["JPY_PARENT_PID"] = str(os.getpid())  # read at import: a kernel is not alone
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for attendants
    while 0 not in readable(listener, 0):
        while modules:
            with contextlib.suppress(Exception):  # the program that needs it says why
                importlib.import_module(modules.pop(0))
        gc.freeze()
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            attend(connection)
        connection.close()


def attend(connection: socket.socket) -> None:
    """Run a client's program, and report how it ended; if client or owner are gone first, kill it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    with contextlib.suppress(OSError, ValueError):  # the client is gone
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        request = json.loads(connection.makefile().readline())
        program = os.fork()
        if program == 0:
            connection.close()
            become(streams, **request)
        ended = os.pidfd_open(program)
        if ended not in readable(ended, connection, 0):
            os.killpg(0, signal.SIGKILL)  # the program, all that it has started, and this process
        _, status = os.waitpid(program, 0)
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def readable(*sources: socket.socket | int) -> list[socket.socket | int]:
    """Wait until one of some sources can be read, or has ended; return those."""
    return select.select(sources, [], [])[0]


def become(
    streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]
) -> None:
    """Turn a fresh fork into the program that `python ARGUMENTS` would be."""
    import runpy  # which no client needs, and takes as long as all else

    status = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        if "numpy.random" in sys.modules:  # or all forks would draw the same
            sys.modules["numpy.random"].seed()
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


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[3:])
        os._exit(0)  # some libraries take their time to leave
    sys.exit(run(sys.argv[1:]))
