"""What every test runs under: no network but loopback, no model hub, one hypothesis profile, no skips in CI."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("MPLBACKEND", "agg")
# What tests start as processes of its own (pip, a kernel) meets a closed port instead of the network.
for _name in ("http_proxy", "https_proxy", "all_proxy"):
    os.environ[_name] = os.environ[_name.upper()] = "http://127.0.0.1:9"
for _name in ("no_proxy", "NO_PROXY"):
    os.environ[_name] = "localhost,127.0.0.1,::1"
os.environ["PIP_RETRIES"] = "0"

# A shared machine is slow at times: neither deadlines nor slow generation say anything about the code.
settings.register_profile("fixed", deadline=None, derandomize=IN_CI, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")


class NetworkBlocked(RuntimeError):
    """A test tried to leave this machine. Not an OSError, so that no retry or fallback hides it."""


def _is_local(host: Any) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Sockets reach loopback and Unix sockets only; names are looked up for loopback only."""

    def guard_address(name: str) -> Any:
        original = getattr(socket.socket, name)

        def guarded(self: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
                raise NetworkBlocked(f"socket.{name} to {address!r}: tests reach loopback only")
            return original(self, *arguments)

        return guarded

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        if not _is_local(host):
            raise NetworkBlocked(f"looking up {host!r}: tests reach loopback only")
        return resolve(host, *arguments, **options)

    resolve = socket.getaddrinfo
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guard_address(name))
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A skip proves nothing; in CI, where everything must be at hand, it is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which counts as a failure in CI: {report.longrepr}"
    return report
