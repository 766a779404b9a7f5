"""The drive: what a person does and sees, and what goes wrong, over HTTP. The page and tests share it.

People are named by name or id, places by `#name`, id or `dm` (the person's conversation with the bot). All bodies and
answers are JSON; an act that cannot be done answers 400 `{"error": text}`, which is a fault of the script.

| call | does |
|---|---|
| `POST /_drive/command` `{person, channel, text}` | says `/gpu ...`, waits for the ack: `{acked, error, ms, response, message}` |
| `POST /_drive/type` `{person, channel, text, thread_ts?}` | types a message: `{message}` |
| `POST /_drive/say` as above | the composer: a command if it starts with a slash, else a message |
| `POST /_drive/click` `{person, channel, ts, action_id or text or value, choose?}` | `ts` may be `last`; or `view_id` (`top`, `home`): `{acked, error, ms, action}` |
| `POST /_drive/submit` `{person, values, view_id?}` | `{acked, error, ms, response, errors, open}` |
| `POST /_drive/close` `{person, all?}` | closes the topmost view, or all |
| `POST /_drive/home` `{person, tab}` | opens the app at `home` or `messages` |
| `GET /_drive/messages?person=&channel=` | what that person sees there; no person: everything |
| `GET /_drive/view?person=` | the open modal, or null |
| `GET /_drive/state?person=` | all of it |
| `GET /_drive/events?person=` | server-sent events: message, message_changed, message_deleted, notice, view_opened, view_pushed, view_updated, view_closed, view_errors, home, person, place |
| `POST /_drive/person` `{name, tz?, is_admin?, deleted?, dnd?, dnd_until?, machines?}` | changes, or adds |
| `POST /_drive/place` `{channel, archived?, bot_in?, new?, private?}` | changes, or adds |
| `POST /_drive/app` `{messages_tab?, home_tab?, scopes?, rates?, clock_offset?}` | the app's settings |
| `POST /_drive/delete` `{channel, ts}` | somebody deletes a message |
| `POST /_drive/faults/hold` `{nth, when, methods?}` | holds the n-th mutating call (`response_url` counts) from now, `before` or `after` execution |
| `GET /_drive/faults/held?timeout=` | waits until it is held: `{held, method, args}` |
| `POST /_drive/faults/release` `{drop?}` | answers the held call, or cuts its connection |
| `POST /_drive/faults/arm` `{kind, method, times?, value}` | `rate_limited` (Retry-After s), `refused` (error name), `slow` (s), `broken` (5xx) |
| `POST /_drive/faults/acks` `{lose?, double?}` | acks to ignore; events to deliver twice |
| `POST /_drive/faults/clear` | disarms all |
| `POST /_drive/socket` `{act, close_after?, warn?}` | `refresh`, `drop`, `disable`, `enable`, `wait` (`timeout`) |
| `GET /_drive/counts`, `GET /_drive/journal` | calls by method, `mutating`, `envelopes`, `connections`, `over_rate` (calls that a real Slack would have refused, by method); each call with arguments and reply |
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from aiohttp import web

from bot.local.slack.acts import ActError
from bot.local.slack.faults import MUTATING
from bot.local.slack.model import BOT_USER_ID, Json, Person, Place, user_id_for

if TYPE_CHECKING:
    from bot.local.slack.server import Slack

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PING_S = 15.0  # a comment on a silent event stream


class Ask(Json):
    """The arguments of a drive call; one that is missing is a fault of the script."""

    def __missing__(self, key: str) -> Any:
        raise ActError(f"missing: {key}")


def drive_routes(slack: Slack) -> list[web.RouteDef]:
    """All routes under /_drive/ but the vCenter panel's."""
    acts = _ActRoutes(slack)
    world = _WorldRoutes(slack)
    faults = _FaultRoutes(slack)
    posts: dict[str, Callable[[Json], Awaitable[Any]]] = {
        "command": acts.command, "type": acts.type, "say": acts.say, "click": acts.click, "submit": acts.submit,
        "close": acts.close, "home": acts.home, "person": world.person, "place": world.place, "app": world.app,
        "delete": world.delete, "faults/hold": faults.hold, "faults/release": faults.release, "faults/arm": faults.arm,
        "faults/acks": faults.acks, "faults/clear": faults.clear, "socket": faults.socket,
    }  # fmt: skip
    gets: dict[str, Callable[[Json], Awaitable[Any]]] = {
        "messages": world.messages, "view": world.view, "state": world.state, "counts": world.counts,
        "journal": world.journal, "faults/held": faults.held,
    }  # fmt: skip
    made = [web.post(f"/_drive/{path}", _handler(function)) for path, function in posts.items()]
    made += [web.get(f"/_drive/{path}", _handler(function)) for path, function in gets.items()]
    return [*made, web.get("/_drive/events", _Events(slack).stream)]


def _handler(function: Callable[[Json], Awaitable[Any]]) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        try:
            if request.method == "POST":
                # Only our own page and plain clients: a foreign page cannot send this type without asking first.
                if request.content_type != "application/json":
                    return web.json_response({"error": "send application/json"}, status=415)
                ask = Ask(json.loads(await request.text()))
            else:
                ask = Ask(request.query)
            return web.json_response(await function(ask))
        except ActError as exc:
            return web.json_response({"error": str(exc)}, status=400)
        except ValueError as exc:  # no JSON, or no number where one is to be
            return web.json_response({"error": str(exc)}, status=400)

    return handle


class _ActRoutes:
    """Acts of people."""

    def __init__(self, slack: Slack) -> None:
        self.acts = slack.acts

    async def command(self, ask: Json) -> Json:
        return await self.acts.command(ask["person"], ask.get("channel", "#gpu"), ask["text"])

    async def type(self, ask: Json) -> Json:
        return self.acts.type(ask["person"], ask.get("channel", "#gpu"), ask["text"], ask.get("thread_ts"))

    async def say(self, ask: Json) -> Json:
        return await self.acts.say(ask["person"], ask.get("channel", "#gpu"), ask["text"], ask.get("thread_ts"))

    async def click(self, ask: Json) -> Json:
        return await self.acts.click(ask["person"], ask)

    async def submit(self, ask: Json) -> Json:
        return await self.acts.submit(ask["person"], ask.get("values", {}), ask.get("view_id", "top"))

    async def close(self, ask: Json) -> Json:
        return await self.acts.close(ask["person"], all_views=bool(ask.get("all")))

    async def home(self, ask: Json) -> Json:
        return self.acts.open_home(ask["person"], ask.get("tab", "home"))


class _WorldRoutes:
    """What there is, and changes of it by nobody in particular."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.space = slack.space

    async def messages(self, ask: Json) -> list[Json]:
        acts = self.slack.acts
        if not ask.get("person"):
            found = sorted((m for box in self.space.messages.values() for m in box.values()), key=lambda m: float(m.ts))
            return [m.to_drive() for m in found if ask.get("channel") in (None, m.channel)]
        person = acts.who(ask["person"])
        place = acts.where(person, ask["channel"]).id if ask.get("channel") else None
        return [m.to_drive() for m in self.space.visible(person.id) if place in (None, m.channel)]

    async def view(self, ask: Json) -> Json | None:
        stack = self.space.stacks.get(self.slack.acts.who(ask["person"]).id, [])
        return self.space.views[stack[-1]].to_api() if stack else None

    async def state(self, ask: Json) -> Json:
        return self.slack.state(self.slack.acts.who(ask["person"]).id if ask.get("person") else None)

    async def counts(self, _: Json) -> Json:
        counts = dict(self.slack.counts)
        return counts | {"mutating": sum(n for m, n in counts.items() if m in MUTATING),
                         "envelopes": self.slack.link.delivered, "connections": len(self.slack.link.connections), "over_rate": dict(self.slack.rates.over)}  # fmt: skip

    async def journal(self, _: Json) -> list[Json]:
        return list(self.slack.journal)

    async def person(self, ask: Json) -> Json:
        name = str(ask["name"]).lower()
        if "tz" in ask:
            try:
                ZoneInfo(ask["tz"])
            except (ZoneInfoNotFoundError, ValueError) as exc:
                raise ActError(f"no zone {ask['tz']!r}") from exc
        found = next((p for p in self.space.people.values() if name in (p.name, p.id.lower())), None)
        if found is None:
            found = Person(user_id_for(name, set(self.space.people)), name)
        changes = {key: ask[key] for key in ("tz", "is_admin", "deleted", "dnd", "dnd_until") if key in ask}
        machines = tuple(str(machine) for machine in ask.get("machines", found.machines))
        self.space.set_person(replace(found, **changes, machines=machines))
        return self.space.person_card(self.space.people[found.id])

    async def place(self, ask: Json) -> Json:
        name = str(ask["channel"]).removeprefix("#")
        found = next((p for p in self.space.places.values() if name in (p.id, p.name)), None)
        if found is None:
            if not ask.get("new"):
                raise ActError(f"no channel {name!r}")
            everybody = frozenset(p.id for p in self.space.people.values() if not p.is_bot)
            found = Place(f"C0{len(self.space.places):07d}", name, everybody, private=bool(ask.get("private")))
        if "bot_in" in ask:
            members = found.members | {BOT_USER_ID} if ask["bot_in"] else found.members - {BOT_USER_ID}
            found = replace(found, members=members)
        if "archived" in ask:
            found = replace(found, archived=bool(ask["archived"]))
        self.space.set_place(found)
        return self.space.place_card(found)

    async def app(self, ask: Json) -> Json:
        self.space.messages_tab = bool(ask.get("messages_tab", self.space.messages_tab))
        self.space.home_tab = bool(ask.get("home_tab", self.space.home_tab))
        self.slack.rates.enforced = bool(ask.get("rates", self.slack.rates.enforced))
        self.slack.offset = float(ask.get("clock_offset", self.slack.offset))
        if "scopes" in ask:
            self.space.scopes = frozenset(ask["scopes"])
        return {"messages_tab": self.space.messages_tab, "home_tab": self.space.home_tab,
                "rates": self.slack.rates.enforced, "clock_offset": self.slack.offset, "scopes": sorted(self.space.scopes)}  # fmt: skip

    async def delete(self, ask: Json) -> Json:
        place = next(
            (p for p in self.space.places.values() if ask["channel"].removeprefix("#") in (p.id, p.name)), None
        )
        message = self.space.messages[place.id].get(ask["ts"]) if place else None
        if message is None:
            raise ActError("no such message")
        self.space.drop(message)
        return {"deleted": True}


class _FaultRoutes:
    """What goes wrong."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.faults = slack.faults

    async def hold(self, ask: Json) -> Json:
        when = ask.get("when", "before")
        if when not in ("before", "after") or int(ask["nth"]) < 1:
            raise ActError("nth is at least 1, when is before or after")
        return self.faults.arm_hold(int(ask["nth"]), when, frozenset(ask.get("methods", ()))).to_drive()

    async def held(self, ask: Json) -> Json:
        hold = self.faults.hold
        if hold is None:
            return {"held": False}
        try:
            await asyncio.wait_for(hold.reached.wait(), float(ask.get("timeout", 0)))
        except TimeoutError:
            pass  # the answer says that nothing is held
        return hold.to_drive()

    async def release(self, ask: Json) -> Json:
        hold = self.faults.hold
        if hold is None:
            raise ActError("nothing is held")
        hold.drop = bool(ask.get("drop"))
        hold.resolved.set()
        self.faults.hold = None
        return hold.to_drive()

    async def arm(self, ask: Json) -> Json:
        tables: dict[str, dict[str, tuple[int, Any]]]
        tables = {"rate_limited": self.faults.rate_limited, "refused": self.faults.refused, "slow": self.faults.slow,
                  "broken": self.faults.broken}  # fmt: skip
        if ask["kind"] not in tables:
            raise ActError(f"no fault {ask['kind']!r}")
        tables[ask["kind"]][ask.get("method", "*")] = (int(ask.get("times", 1)), ask["value"])
        return {"armed": True}

    async def acks(self, ask: Json) -> Json:
        self.faults.lose_acks = int(ask.get("lose", 0))
        self.faults.double = int(ask.get("double", 0))
        return {"armed": True}

    async def clear(self, _: Json) -> Json:
        self.faults.clear()
        return {"armed": False}

    async def socket(self, ask: Json) -> Json:
        link = self.slack.link
        act = ask["act"]
        if act == "refresh":
            await link.refresh(close_after_s=float(ask.get("close_after", 0.5)), warn_s=float(ask.get("warn", 0.0)))
        elif act == "drop":
            link.drop()
        elif act == "disable":
            link.enabled = False
            await link.refresh("link_disabled", close_after_s=0.0)
        elif act == "enable":
            link.enabled = True
        elif act == "wait":
            return {"connected": await link.wait_connected(float(ask.get("timeout", 10)))}
        else:
            raise ActError(f"no act {act!r}")
        return {"connections": len(link.connections)}


class _Events:
    """The server-sent events of one reader."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Writes events until the reader leaves or the server stops."""
        name = request.query.get("person")
        try:
            person = self.slack.acts.who(name).id if name else None
        except ActError as exc:
            return web.json_response({"error": str(exc)}, status=400)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        queue: asyncio.Queue[Json] = asyncio.Queue()
        reader = (person, queue)
        self.slack.subscribers.add(reader)
        try:
            with self.slack.streaming():
                await response.prepare(request)
                await self._write(response, queue)
        except ConnectionError:
            pass  # the reader left
        finally:
            self.slack.subscribers.discard(reader)
        return response

    async def _write(self, response: web.StreamResponse, queue: asyncio.Queue[Json]) -> None:
        await response.write(b": here\n\n")
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), PING_S)
            except TimeoutError:
                await response.write(b": ping\n\n")
                continue
            await response.write(f"data: {json.dumps(event)}\n\n".encode())
