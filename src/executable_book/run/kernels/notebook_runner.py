"""Notebooks run side by side, each in a kernel of its own, driven by nbclient.

The kernels are warm: forks of a server that has the imports done (see `warm_server`). Where a server
cannot be had (another system than Linux, or it died), plain kernels do the same work, only later. This
module knows nothing of Sphinx.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import logging
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, cast

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import Unicode

from executable_book.run.kernels import warm_server
from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.kernel_startup import ABOUT
from executable_book.run.kernels.warm_server import (
    END_SECONDS,
    START_SECONDS,
    ForkedProcess,
    ServerLostError,
)

EXECUTED_WITH = "executed_with"
"""Where a notebook's metadata say what it ran on."""
QUIET = logging.getLogger("executable_book.kernels")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


@dataclass
class Execution:
    """A notebook with its outputs, and how it went."""

    notebook: NotebookNode
    seconds: list[float] = field(default_factory=list)
    """How long each code cell took."""
    failure: tuple[int, str] | None = None
    """The index of the cell that ended the page, and why."""


@contextlib.contextmanager
def executing(
    notebooks: Mapping[str, NotebookNode],
    folders: Mapping[str, str],
    settings: KernelSettings,
    *,
    timeout: float,
    done: Callable[[str, Execution], None] = lambda name, execution: None,
    fell_back: Callable[[str], None] = lambda reason: None,
) -> Iterator[Iterator[tuple[str, Execution]]]:
    """Execute notebooks side by side, each in a kernel of its own, beside what the caller does.

    Args:
        notebooks: what to execute, by name. They receive their outputs.
        folders: the working folder for each.
        settings: what the book wants of its kernels.
        timeout: seconds that one cell may take.
        done: called with each page at the very moment when it is finished, in another thread.
        fell_back: called once, with the reason, if plain kernels had to take over; in any thread.

    Yields:
        An iterator that waits for whatever is finished next, and gives its name and how it went. A page that
        fails never stops the others. What still runs when the context ends is given up.
    """
    finished: SimpleQueue[tuple[str, Execution] | Exception | None] = SimpleQueue()
    source = _KernelSource(settings, fell_back)

    def put(name: str, execution: Execution) -> None:
        done(name, execution)
        finished.put((name, execution))

    async def execute() -> None:
        try:
            await _execute_all(notebooks, folders, source, timeout, put)
        except Exception as error:
            finished.put(error)
        finally:
            finished.put(None)

    def results() -> Iterator[tuple[str, Execution]]:
        while one := finished.get():
            if isinstance(one, Exception):
                raise one
            yield one

    with contextlib.ExitStack() as stack:
        try:
            source.address = stack.enter_context(warm_server.at_hand(settings))
        except OSError as error:
            fell_back(str(error))
        with _in_a_thread(execute(), source.close):
            yield results()


@contextlib.contextmanager
def _in_a_thread(work: Coroutine[Any, Any, None], stop: Callable[[], None]) -> Iterator[None]:
    """Do asynchronous work beside what the caller does; stop what is left when the context ends."""
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    task = loop.create_task(work)

    def run() -> None:
        with runner:
            runner.run(asyncio.wait([task]))

    # A process that is interrupted waits for no daemon, and kernels end with the process.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is left
            loop.call_soon_threadsafe(stop)
        thread.join()


async def _execute_all(
    notebooks: Mapping[str, NotebookNode],
    folders: Mapping[str, str],
    source: _KernelSource,
    timeout: float,
    done: Callable[[str, Execution], None],
) -> None:
    turn = asyncio.Semaphore(warm_server.worker_count())

    async def one(name: str) -> None:
        while not source.is_closed:
            try:
                async with contextlib.AsyncExitStack() as stack:
                    async with turn:  # the next page need not wait for this kernel's end
                        if source.is_closed:
                            return
                        kernel = await stack.enter_async_context(source.kernel(folders[name]))
                        execution = await _run_cells(notebooks[name], kernel, timeout)
                    done(name, execution)
                    return
            except ServerLostError as error:
                source.fall_back(str(error))
            except asyncio.CancelledError:
                if not source.is_closed:
                    raise

    await asyncio.gather(*map(one, notebooks))


async def _run_cells(
    notebook: NotebookNode, kernel: AsyncKernelManager, timeout: float
) -> Execution:
    execution = Execution(notebook)
    runner = NotebookClient(
        notebook,
        km=kernel,
        timeout=timeout,
        # Outputs may come later than the reply; on a busy machine, nbclient would go on without them.
        iopub_timeout=START_SECONDS,
        raise_on_iopub_timeout=True,
        # Where a stream comes in pieces is chance; MyST-NB would put a line's end between any two of them.
        coalesce_streams=True,
        log=QUIET,
    )
    runner.kc = client = kernel.client()
    # Nobody asks for a heartbeat, since the manager sees a kernel die; just begun, it could not be stopped.
    client.start_channels(hb=False)
    number = 0
    try:
        notebook.metadata["language_info"] = await _language_info(client)
        for number, cell in enumerate(notebook.cells):
            start = time.perf_counter()
            count = runner.code_cells_executed + 1
            await runner.async_execute_cell(cell, number, execution_count=count)
            execution.seconds.append(time.perf_counter() - start)
        request = client.execute("", silent=True, user_expressions={"about": f"{ABOUT}()"})
        reply = await runner.async_wait_for_reply(request) or {}
        about = reply["content"]["user_expressions"]["about"]
        if about["status"] == "ok":
            notebook.metadata[EXECUTED_WITH] = ast.literal_eval(about["data"]["text/plain"])
        else:
            execution.failure = number, f"{about['ename']}: {about['evalue']}"
    except CellExecutionError as error:
        execution.failure = number, f"{error.ename}: {error.evalue}".strip()
    except CellTimeoutError:
        execution.failure = number, f"it ran longer than {timeout:g} s"
    except DeadKernelError as error:
        process = cast(LocalProvisioner, kernel.provisioner).process
        if isinstance(process, ForkedProcess) and process.lost:
            raise ServerLostError("the server of warm kernels died") from error
        code = process and process.poll()
        execution.failure = number, str(error) if code is None else f"the kernel died (exit {code})"
    finally:
        client.stop_channels()
    return execution


async def _language_info(client: AsyncKernelClient) -> Any:
    """Wait until a kernel answers on both channels, and return what it says of its language.

    The library's own way to wait idles for 0.2 s after the answer, to see that no other follows.
    """
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        request = client.kernel_info()
        with contextlib.suppress(Empty):
            info = await client.shell_channel.get_msg(timeout=1)
            state = None
            while state != "idle":
                message = await client.iopub_channel.get_msg(timeout=0.2)
                if message["parent_header"].get("msg_id") == request:
                    state = message["content"].get("execution_state")
            return info["content"]["language_info"]
        if not await client.is_alive():
            raise DeadKernelError("it did not start")
    raise DeadKernelError(f"it did not answer for {START_SECONDS} s")


class _KernelSource:
    """Where kernels come from: a warm server while there is one, else plain processes."""

    def __init__(self, settings: KernelSettings, fell_back: Callable[[str], None]):
        self.address: str | None = None
        self._settings = settings
        self._fell_back = fell_back
        self._users: set[asyncio.Task[Any]] = set()
        self.is_closed = False

    def fall_back(self, reason: str) -> None:
        """Make plain kernels from now on."""
        if self.address is not None:
            self.address = None
            self._fell_back(reason)

    def close(self) -> None:
        """Hand out no more kernels, and stop whoever uses one: with its use, a kernel ends."""
        self.is_closed = True
        for user in self._users:
            user.cancel()

    @contextlib.asynccontextmanager
    async def kernel(self, folder: str) -> AsyncIterator[AsyncKernelManager]:
        """Start a kernel in a folder, and end it with the context."""
        with tempfile.TemporaryDirectory(prefix="kernel-", ignore_cleanup_errors=True) as private:
            kernel = AsyncKernelManager(
                kernel_spec_manager=_ThisPython(self._settings),
                transport="ipc" if warm_server.may_hold_sockets(private) else "tcp",
                connection_file=os.path.join(private, "kernel.json"),
                log=QUIET,
            )
            if self.address is not None:
                kernel.provisioner = _Fork(
                    kernel_spec=kernel.kernel_spec, parent=kernel, address=self.address
                )
            await kernel.start_kernel(
                cwd=folder, env=warm_server.environment() | {"IPYTHONDIR": private}
            )
            user = cast(asyncio.Task[Any], asyncio.current_task())
            self._users.add(user)
            try:
                if self.is_closed:  # since it was asked for
                    raise asyncio.CancelledError
                await _until_it_listens(kernel)
                yield kernel
            finally:
                self._users.remove(user)
                await kernel.shutdown_kernel(now=True)


async def _until_it_listens(kernel: AsyncKernelManager) -> None:
    """Wait for a kernel's sockets, or its end: who connects too early tries again after 0.1 s."""
    sockets = [f"{kernel.ip}-{port}" for port in kernel.ports]

    async def listens_or_ended() -> bool:
        return all(map(os.path.exists, sockets)) or not await kernel.is_alive()

    if kernel.transport == "ipc":
        await _until(listens_or_ended, START_SECONDS)


async def _until(is_so: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait until something is so, for so many seconds at most, and notice it at once."""
    deadline = time.monotonic() + seconds
    while not await is_so() and time.monotonic() < deadline:
        await asyncio.sleep(0.005)


class _ThisPython(KernelSpecManager):
    """Knows one kernel: this interpreter, whatever is installed for the user or the machine."""

    def __init__(self, settings: KernelSettings):
        super().__init__()
        self._settings = settings

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [*warm_server.PROGRAM, "kernel", self._settings.to_json(), "{connection_file}"]
        return KernelSpec(argv=argv, display_name=kernel_name, language="python")


class _Fork(LocalProvisioner):
    """Has a kernel forked where its base class would start a process."""

    address = Unicode()

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        process = ForkedProcess(self.address, kwargs["cwd"], kwargs["env"], connection_file=cmd[-1])
        self.process = cast("subprocess.Popen[bytes]", process)
        self.pid = self.pgid = process.pid
        self.cwd = kwargs["cwd"]
        return self.connection_info

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel, and see it die: its manager would look again only after a tenth of a second."""
        await super().kill(restart)

        async def is_dead() -> bool:
            return await self.poll() is not None

        await _until(is_dead, END_SECONDS)
