"""The drive's paths about the wire: faults that are injected, a restart, privileges, the clock. Called by ``drive`` alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.local.vcenter.injected import Injection
from bot.local.vcenter.server import SoapServer
from bot.local.vcenter.vmomi import vim

Body = dict[str, Any]
Answer = dict[str, Any]
Action = Callable[[Body], Answer | None]


class Wire:
    """What these paths do to one server."""

    def __init__(self, server: SoapServer) -> None:
        """Steers ``server``."""
        self.server = server

    def table(self) -> dict[tuple[str, str], Action]:
        """The actions by method and path."""
        return {
            ("GET", "inject"): lambda _: self.server.injections.shown(),
            ("POST", "inject"): self._inject,
            ("DELETE", "inject"): self._clear,
            ("POST", "restart"): lambda b: {"ended": self.server.restart(float(b.get("down_s", 0)))},
            ("POST", "sessions/idle"): self._idle,
            ("POST", "privileges"): self._privileges,
            ("POST", "skew"): self._skew,
        }

    def _inject(self, body: Body) -> Answer:
        plan = Injection(**body)
        return {"number": self.server.injections.add(replace(plan, seconds=float(plan.seconds)))}

    def _clear(self, body: Body) -> Answer:
        number = int(body["number"]) if "number" in body else None
        return {"cleared": self.server.injections.clear(number)}

    def _idle(self, body: Body) -> Answer:
        self.server.api.sessions.idle_s = float(body["seconds"])
        return {}

    def _privileges(self, body: Body) -> Answer:
        api, user = self.server.api, str(body["user"])
        if unknown := sorted(set(body) - {"user", "vm", "lacks", "grants"}):
            raise ValueError(f"unknown: {', '.join(unknown)}")
        lacks, grants = ({str(p) for p in body.get(word, ())} for word in ("lacks", "grants"))
        if "vm" in body:
            key = (user, api.inventory.vm(str(body["vm"])).moid)
            api.privileges.lacks_on[key], api.privileges.grants_on[key] = lacks, grants
        else:
            api.privileges.lacks[user], api.privileges.grants[user] = lacks, grants
        api.inventory.touch(*api.inventory.of(vim.VirtualMachine))  # what may be seen is another
        return {"lacks": sorted(lacks), "grants": sorted(grants)}

    def _skew(self, body: Body) -> Answer:
        self.server.api.skew_s = float(body["seconds"])
        return {}
