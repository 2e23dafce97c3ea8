"""What a book wants of its kernels travels to them unchanged."""

from executable_book.run.kernels.kernel_settings import KernelSettings


def test_settings_travel_unchanged() -> None:
    settings = KernelSettings(("fractions", "a.b"), ("m:f",), ("sphinx",), "m:device")
    assert KernelSettings.from_json(settings.to_json()) == settings
    assert KernelSettings.from_json(KernelSettings().to_json()) == KernelSettings()


def test_versions_are_those_of_kernels_and_of_what_they_start_with() -> None:
    found = KernelSettings(preload=("numpy.linalg", "fractions"), versions=("sphinx",)).installed()
    assert found.keys() == {"ipykernel", "ipython", "numpy", "fractions", "sphinx"}
    assert found["fractions"] is None  # it comes with Python
    assert all(version for name, version in found.items() if name != "fractions")
