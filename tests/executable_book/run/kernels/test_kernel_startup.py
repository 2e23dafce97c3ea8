"""A kernel starts as its book asks for it, and needs nothing that the book does not name."""

import pytest
from harness.kernels import printed, run

from executable_book.run.kernels.kernel_settings import KernelSettings
from executable_book.run.kernels.notebook_runner import EXECUTED_WITH


def test_a_kernel_without_wishes_imports_neither_torch_nor_sphinx() -> None:
    code = "import sys\nprint({'torch', 'matplotlib', 'sphinx', 'numpy'} & sys.modules.keys())"
    (execution,) = run(code, settings=KernelSettings())
    assert printed(execution) == "set()\n"
    assert execution.notebook.metadata[EXECUTED_WITH].keys() == {"python"}


@pytest.mark.parametrize(("code", "device"), [("pass", "cpu"), ("import platform", "abacus")])
def test_a_page_that_uses_devices_says_which(
    code: str, device: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "devices.py").write_text("def pick():\n    return 'abacus'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    settings = KernelSettings(device="devices:pick", versions=("sphinx",))
    (execution,) = run(code.replace("platform", "devices"), settings=settings)
    about = execution.notebook.metadata[EXECUTED_WITH]
    assert about["device"] == device
    assert about["sphinx"].startswith("9.")
