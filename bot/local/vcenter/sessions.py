"""Logins and what hangs on them: views, collectors, filters and page tokens die with the session. Real time."""

from __future__ import annotations

import hmac
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, support, vim
from bot.local.vcenter.wire import VERSION


@dataclass
class View:
    """A container view."""

    moid: str  # its id
    container: Ref  # what it looks into
    kinds: tuple[Any, ...]  # types it shows; empty: all managed entities
    recursive: bool  # children of children too


@dataclass
class Filter:
    """A property filter of one collector."""

    moid: str  # its id
    collector: str  # id of the collector it belongs to
    spec: DataObject  # what it watches
    seen: dict[str, Any] = field(default_factory=dict)  # moid -> what the client was told


@dataclass
class Session:
    """One login."""

    user: str  # who
    key: str = field(default_factory=lambda: str(uuid.uuid4()))  # value of the cookie
    version: str = VERSION  # of the API, as its last call spoke it
    began: float = field(default_factory=time.time)  # unix seconds, real
    last: float = field(default_factory=time.time)  # of the last call
    calls: int = 0  # made so far
    waiting: int = 0  # long polls that are open now: they keep the session awake
    collectors: dict[str, int] = field(default_factory=dict)  # id -> its last version number
    views: dict[str, View] = field(default_factory=dict)  # by id
    filters: dict[str, Filter] = field(default_factory=dict)  # by id
    pages: dict[str, tuple[list[DataObject], int]] = field(default_factory=dict)  # token -> rest, page size

    def shown(self) -> DataObject:
        """As ``currentSession``."""
        return vim.UserSession(
            key=self.key,
            userName=self.user,
            fullName=self.user.partition("@")[0],
            loginTime=datetime.fromtimestamp(self.began, UTC),
            lastActiveTime=datetime.fromtimestamp(self.last, UTC),
            locale="en",
            messageLocale="en",
            extensionSession=False,
            ipAddress="127.0.0.1",
            userAgent="",
            callCount=support.long(self.calls),
        )


class Sessions:
    """All logins that live."""

    def __init__(self, users: dict[str, str], idle_s: float, ended: Callable[[], None]) -> None:
        """``users``: login -> password; ``ended`` is called after a session was ended, to wake its long polls."""
        self.users, self.idle_s, self._ended = users, idle_s, ended
        self._lock = threading.Lock()
        self._live: dict[str, Session] = {}

    def login(self, user: str, password: str) -> Session:
        """A fresh session, or a Refusal (InvalidLogin)."""
        known = self.users.get(user)
        if known is None or not hmac.compare_digest(known.encode(), password.encode()):
            raise Refusal(vim.fault.InvalidLogin(), "Cannot complete login due to an incorrect user name or password.")
        session = Session(user)
        with self._lock:
            self._live[session.key] = session
        return session

    def find(self, key: str | None) -> Session | None:
        """The live session of a cookie, and note that it was used."""
        now = time.time()
        with self._lock:
            session = self._live.get(key or "")
            if session is None:
                return None
            if now - session.last > self.idle_s and not session.waiting:
                del self._live[session.key]
                return None
            session.last = now
            session.calls += 1
            return session

    def alive(self, session: Session) -> bool:
        """Has nobody ended it?"""
        with self._lock:
            return session.key in self._live

    def end(self, key: str) -> bool:
        """End one; False if there was none."""
        with self._lock:
            found = self._live.pop(key, None) is not None
        self._ended()
        return found

    def expire(self, user: str | None = None) -> int:
        """End those of ``user``, or all, as idle expiry would; returns how many."""
        with self._lock:
            keys = [k for k, s in self._live.items() if user in (None, s.user)]
            for key in keys:
                del self._live[key]
        self._ended()
        return len(keys)

    def all(self) -> list[Session]:
        """Those that live, oldest first. Who was idle for too long is not among them, though nobody has asked yet."""
        now = time.time()
        with self._lock:
            return [s for s in self._live.values() if s.waiting or now - s.last <= self.idle_s]
