"""The tags of a vCenter: the few calls of its REST API by which they are read (``/api``, 7.0 U2 or newer). Nothing can be changed by them.

Called by ``server`` for paths below ``/api/``; a test puts tags on machines by :meth:`Tags.put`.
"""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import urlsplit

from bot.local.vcenter.api import Api
from bot.local.vcenter.vmomi import Refusal

ASSOCIATION = "/api/cis/tagging/tag-association"
TAG, CATEGORY = "/api/cis/tagging/tag/", "/api/cis/tagging/category/"
Answer = tuple[int, Any]  # HTTP status, JSON; None: no body


class Tags:
    """Which machine carries which tag of which category."""

    def __init__(self, api: Api) -> None:
        """None."""
        self._api = api
        self._on: dict[str, list[str]] = {}  # moid -> ids of tags
        self._tags: dict[str, tuple[str, str]] = {}  # id -> (id of its category, name)
        self._categories: dict[str, str] = {}  # id -> name

    def put(self, moid: str, category: str, tag: str) -> None:
        """Attach a tag to an object, making it and its category if they are new."""
        of = next((i for i, name in self._categories.items() if name == category), None)
        if of is None:
            of = f"urn:vmomi:InventoryServiceCategory:{len(self._categories) + 1}:GLOBAL"
            self._categories[of] = category
        id = next((i for i, known in self._tags.items() if known == (of, tag)), None)
        if id is None:
            id = f"urn:vmomi:InventoryServiceTag:{len(self._tags) + 1}:GLOBAL"
            self._tags[id] = of, tag
        self._on.setdefault(moid, []).append(id)

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> Answer:
        """One call. 401 without a session, 404 for what there is not, or on an API that is too old."""
        if self._api.world.settings.api_version < "7":
            return 404, None
        path = urlsplit(target).path
        if (method, path) == ("POST", "/api/session"):
            return self._login(headers)
        key = headers.get("vmware-api-session-id")
        if self._api.sessions.find(key) is None:
            return 401, {"error_type": "UNAUTHENTICATED"}
        if (method, path) == ("DELETE", "/api/session"):
            self._api.sessions.end(key)
            return 204, None
        if (method, path) == ("POST", ASSOCIATION):
            return self._attached(body)
        if method == "GET" and path.startswith(TAG) and (found := self._tags.get(path[len(TAG) :])):
            return 200, {"id": path[len(TAG) :], "category_id": found[0], "name": found[1], "description": ""}
        if method == "GET" and path.startswith(CATEGORY) and (name := self._categories.get(path[len(CATEGORY) :])):
            return 200, {"id": path[len(CATEGORY) :], "name": name, "cardinality": "MULTIPLE"}
        return 404, {"error_type": "NOT_FOUND"}

    def _login(self, headers: Any) -> Answer:
        kind, _, word = (headers.get("Authorization") or "").partition(" ")
        try:
            user, _, password = base64.b64decode(word).decode().partition(":")
            if kind != "Basic":
                return 401, {"error_type": "UNAUTHENTICATED"}
            return 201, self._api.sessions.login(user, password).key
        except (Refusal, ValueError):
            return 401, {"error_type": "UNAUTHENTICATED"}

    def _attached(self, body: bytes) -> Answer:
        asked = json.loads(body or b"{}").get("object_ids") or []
        found = [(one, self._on.get(str(one.get("id")), [])) for one in asked]
        return 200, [{"object_id": one, "tag_ids": ids} for one, ids in found if ids]
