"""What virtual machines say of their people, for ``gpubot init``: tags, custom attributes, mail addresses in the notes. Reads only.

Called by ``inspect``. Tags are not in the SOAP API: they are asked of the REST API of the same vCenter (7.0 U2 or newer), with a session of its
own; a vCenter that has none, or does not let us, has no tags.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import ssl
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException, HTTPSConnection
from typing import Any

from bot.edges.vsphere.client import Client
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.vmomi import vim
from bot.service.setup.facts import VmFacts

WORDS = (
    "owner",
    "mail",
    "contact",
    "responsible",
    "assigned",
    "user",
    "person",
    "besitzer",
    "eigentümer",
    "verantwortlich",
    "ansprechpartner",
)
"""Parts of the names of attributes and of categories of tags that hold people (any case)."""

MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
REST_S = 10.0
PATHS = ("name", "config.instanceUuid", "config.annotation", "customValue")


def people(client: Client, vcenter: VCenter) -> list[VmFacts]:
    """Each virtual machine with the words that may name its owners, and where they stood: the best source alone."""
    manager = client.content.customFieldsManager
    fields = client.ask(lambda: manager.field) if manager is not None else None
    named = {f.key: str(f.name) for f in fields or () if _of_people(str(f.name))}
    rows = client.all(vim.VirtualMachine, PATHS)
    tags = tags_of(vcenter, [ref._moId for ref, _ in rows])
    found = []
    for ref, row in rows:
        uuid = str(row.get("config.instanceUuid") or "")
        if uuid:
            owners, source = _owners(row, named, tags.get(ref._moId, {}))
            found.append(VmFacts(uuid, str(row.get("name") or uuid), owners, source))
    return found


def _of_people(name: str) -> bool:
    return any(word in name.casefold() for word in WORDS)


def _owners(row: Mapping[str, Any], named: Mapping[int, str], tags: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    for category, tag in sorted(tags.items()):
        if _of_people(category) and (words := words_of(tag)):
            return words, f"the tag {category}"
    for one in row.get("customValue") or ():
        if one.key in named and (words := words_of(str(getattr(one, "value", "") or ""))):
            return words, f"the attribute {named[one.key]}"
    mails = tuple(dict.fromkeys(MAIL.findall(str(row.get("config.annotation") or ""))))
    return (mails, "the notes") if mails else ((), "")


def words_of(text: str) -> tuple[str, ...]:
    """People in a value: its mail addresses; without any, its names."""
    found = MAIL.findall(text) or [part.strip() for part in re.split(r"[,;/\n]", text)]
    return tuple(dict.fromkeys(part for part in found if part and len(part) <= 80))


# ---- tags


def tags_of(vcenter: VCenter, moids: Sequence[str]) -> dict[str, dict[str, str]]:
    """moid -> category -> tag; {} where the vCenter tells none."""
    try:
        with _session(vcenter) as ask:
            return _tags(ask, moids)
    except (OSError, HTTPException, ValueError, KeyError, TypeError, _RefusedError):
        return {}


class _RefusedError(Exception):
    """The REST API is not there, or not for us."""


class _Rest:
    """A connection with a session."""

    def __init__(self, connection: HTTPSConnection) -> None:
        self._connection = connection
        self.headers = {"Content-Type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        self._connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        with self._connection.getresponse() as answer:
            raw = answer.read(1 << 24)
        if answer.status not in (200, 201, 204):
            raise _RefusedError(f"{path}: {answer.status}")
        return json.loads(raw) if raw.strip() else None


@contextlib.contextmanager
def _session(vcenter: VCenter) -> Iterator[_Rest]:
    host, port = vcenter.endpoint()
    context = ssl.create_default_context(cafile=vcenter.ca_file)
    connection = HTTPSConnection(host, port, timeout=REST_S, context=context)
    try:
        ask = _Rest(connection)
        login = base64.b64encode(f"{vcenter.user}:{vcenter.password}".encode()).decode()
        ask.headers["Authorization"] = f"Basic {login}"
        key = ask("POST", "/api/session")
        del ask.headers["Authorization"]
        ask.headers["vmware-api-session-id"] = str(key)
        yield ask
        with contextlib.suppress(OSError, HTTPException, ValueError, _RefusedError):
            ask("DELETE", "/api/session")
    finally:
        connection.close()


def _tags(ask: _Rest, moids: Sequence[str]) -> dict[str, dict[str, str]]:
    objects = [{"id": moid, "type": "VirtualMachine"} for moid in moids]
    attached = ask(
        "POST", "/api/cis/tagging/tag-association?action=list-attached-tags-on-objects", {"object_ids": objects}
    )
    tags: dict[str, tuple[str, str]] = {}
    categories: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    for one in attached:
        for id in one["tag_ids"]:
            if id not in tags:
                tag = ask("GET", f"/api/cis/tagging/tag/{id}")
                category = str(tag["category_id"])
                if category not in categories:
                    categories[category] = str(ask("GET", f"/api/cis/tagging/category/{category}")["name"])
                tags[id] = categories[category], str(tag["name"])
            category, name = tags[id]
            found.setdefault(str(one["object_id"]["id"]), {})[category] = name
    return found
