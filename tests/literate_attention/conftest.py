"""What tests of the library share: no type checker, and no network."""

import socket

import jaxtyping
import pytest


@pytest.fixture
def unchecked():
    """Switch the type checker off that test runs install: readers meet the package's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def no_network(monkeypatch) -> None:
    """Make every use of the network fail, with an error that no code expects."""

    def refuse(*_, **__):
        raise AssertionError("something asked for the network")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)
