"""The kernels of a book: how they start, in which environment, and the server whose forks they are.

The process that builds a book imports neither its library nor what that needs: `start_python` asks another.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbclient
from jupyter_cache.executors import utils as executors  # type: ignore[import-untyped]
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from traitlets import Unicode

from executable_book.run import warm_python

WARM_PYTHON = (
    (sys.executable, "-I", "-S", warm_python.__file__)
    if sys.platform == "linux"
    else (sys.executable, "-P")
)
"""What runs a program: on another system than Linux, nothing is warm."""
KERNEL = (
    *("-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"),
    "--InteractiveShell.xmode=Minimal",  # the whole traceback would name files of this machine
    "--IPKernelApp.exec_lines=['__import__(\"executable_book.run.kernel_start\").run.kernel_start.begin()']",
)
OF_EVERY_KERNEL = ("ipykernel.kernelapp", "ipykernel.debugger", "faulthandler", "sqlite3")
ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")),
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    # Another number of threads sums in another order, and pages run side by side.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
"""What the environment of pages says whatever the machine's says, so that outputs are the same."""


def start_python(*arguments: str) -> subprocess.Popen[str]:
    """Start a program in the environment of pages, warm where it can be; `communicate` waits for its end."""
    return subprocess.Popen(
        [*WARM_PYTHON, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | ENVIRONMENT,
        text=True,
        encoding="utf-8",
    )


class KernelManager(AsyncKernelManager):
    """Reaches its kernel by sockets in files: two kernels that start together may be given the same port."""

    transport = Unicode("ipc")

    def _ip_default(self) -> str:
        """Name the files, which `jupyter_client` removes, whatever folder the kernel works in."""
        return f"{folder_of_sockets()}/kernel-{uuid.uuid4().hex}"


def folder_of_sockets() -> str:
    """Return where sockets are put: the system refuses names of more than about a hundred letters."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) <= 50 else "/tmp"


ENDS: dict[type[Exception], str] = {
    CellTimeoutError: "it took too long",
    DeadKernelError: "its process ended",
    NoSuchKernel: "",
}
"""How a kernel may end a page, and what is said of it, if the error itself does not."""


def execute(notebook: NotebookNode, **settings: Any) -> NotebookNode:
    """Execute a notebook; if its kernel is missing, dies or takes too long, the cell that ran says so."""
    begun = [cell for cell in notebook.cells if cell.cell_type == "code"][:1]
    settings["on_cell_execute"] = lambda cell, cell_index: begun.append(cell)
    try:
        return nbclient.execute(notebook, kernel_manager_class=MANAGER, **settings)
    except tuple(ENDS) as error:
        if not begun:
            raise
        name, why = type(error).__name__, ENDS.get(type(error)) or str(error)
        begun[-1].outputs.append(
            new_output("error", ename=name, evalue=why, traceback=[f"{name}: {why}"])
        )
        raise CellExecutionError(begun[-1].source, name, why) from error


MANAGER = KernelManager if sys.platform == "linux" else AsyncKernelManager


def install_kernelspec(folder: Path) -> None:
    """Have `python3` mean this interpreter, warm where it can be, whatever is installed on the machine."""
    executors.executenb = execute
    spec = {
        "argv": [*WARM_PYTHON, *KERNEL],
        "display_name": "Python 3",
        "language": "python",
        "env": ENVIRONMENT | {"IPYTHONDIR": str(folder / "ipython")},
    }
    path = folder / "kernels" / "python3" / "kernel.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = str(folder)


@contextlib.contextmanager
def warm_server(modules: Sequence[str]) -> Iterator[None]:
    """Have a server of warm kernels for as long as the context lasts, unless one runs already."""
    if sys.platform != "linux" or warm_python.ADDRESS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="warm-", dir=folder_of_sockets()) as folder:
        address = os.path.join(folder, "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen(64)
            server = subprocess.Popen(
                [
                    *(sys.executable, "-P", warm_python.__file__, "--serve"),
                    *(str(listener.fileno()), *OF_EVERY_KERNEL, *modules),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=os.environ | ENVIRONMENT,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        os.environ[warm_python.ADDRESS] = address
        try:
            with server:  # at its end, its input is closed, and so it ends
                yield
        finally:
            del os.environ[warm_python.ADDRESS]
