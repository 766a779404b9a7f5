"""The one login with a vCenter: made when needed, kept, made again once when it has ended, never in a hurry when refused.

Called by `lab`; threads share it. Jobs are functions of a `Client` that may be run again from their start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from bot.edges.vsphere.client import Client
from bot.edges.vsphere.connect import NoConnection, VCenter, connect
from bot.edges.vsphere.vmomi import vim

T = TypeVar("T")
log = logging.getLogger(__name__)

PAUSE_S = 3.0  # after a failed connection: the next calls are answered with the same words
LASTING_S = 60.0  # after a refused login or certificate: more tries would only lock the login


class Session:
    """A vCenter's login, shared by threads."""

    def __init__(self, vcenter: VCenter, real: Callable[[], float]) -> None:
        """``real``: real seconds, monotonic."""
        self.vcenter = vcenter
        self.real = real
        self._lock = threading.Lock()
        self._client: Client | None = None
        self._failed: tuple[float, NoConnection] | None = None
        self._closed = False

    def run(self, job: Callable[[Client], T]) -> T:
        """``job`` with a live client; once more from its start, after a new login, if the session had ended.

        Raises what the job raises, and NoConnection. NotAuthenticated twice in a row is about rights, and comes through.
        """
        client = self._live(None)
        try:
            return job(client)
        except vim.fault.NotAuthenticated:  # before NoPermission, which it is one of
            log.info("vCenter %s: the session has ended, logging in again", self.vcenter.name)
        return job(self._live(client))

    def _live(self, dead: Client | None) -> Client:
        """The client; a new one if it is ``dead``. The lock makes it one login, however many threads ask."""
        with self._lock:
            if self._client is not None and self._client is not dead:
                return self._client
            if self._closed:
                raise RuntimeError("the session was closed")
            if self._failed is not None and self.real() < self._failed[0]:
                raise self._failed[1].anew()
            if dead is not None:
                self._client = None
                dead.close()  # the server may still count it, if it only refused a right
            try:
                self._client = connect(self.vcenter)
            except NoConnection as error:
                self._failed = (self.real() + (LASTING_S if error.lasting else PAUSE_S), error)
                raise
            self._failed = None
            return self._client

    def close(self) -> None:
        """Log out; no login is made afterwards."""
        with self._lock:
            client, self._client, self._closed = self._client, None, True
        if client is not None:
            client.close()
