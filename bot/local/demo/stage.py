"""What a story is told with: people who say and press things, a look at what they see, and expectations by name."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from bot.local.demo.clockwork import Clockwork
from bot.local.demo.processes import ZONE, DemoError, Rig, http_call
from bot.local.slack import Drive, DriveError

TOKEN = re.compile(r"<!date\^(\d+)\^([^|>]*)\|[^>]*>")
PERSON = re.compile(r"<@([A-Z0-9]+)(?:\|([^>]*))?>")
EMOJI = {":white_check_mark:": "✓", ":hourglass_flowing_sand:": "…", ":warning:": "!", ":x:": "✗"}
WIDTH = 112
"""Columns of the transcript."""

MARGIN, QUOTE = " " * 11, "│ "
"""Before what is seen and expected; before each line that somebody reads."""


def kept(text: str, wanted: Callable[[str], bool]) -> str:
    """The lines of a text that are wanted, with "…" where others are left out."""
    lines = ["…" if not wanted(line) else line for line in text.splitlines()]
    return "\n".join(line for i, line in enumerate(lines) if line != "…" or i == 0 or lines[i - 1] != "…")


class Unmet(Exception):
    """An expectation did not hold."""

    def __init__(self, name: str, seen: object) -> None:
        """``name``: of the expectation; ``seen``: what there was instead."""
        super().__init__(f"{name}\n{MARGIN}  seen: {seen}")
        self.name = name


class Stage:
    """A rig with people on it."""

    def __init__(self, rig: Rig, clock: Clockwork, out: Callable[[str], None], spoil: str = "") -> None:
        """
        :param out: prints a line of the transcript
        :param spoil: an expectation that is turned round, to show that it can fail
        """
        self.rig, self.clock, self.out, self.spoil = rig, clock, out, spoil
        self.slack = Drive(rig.slack["url"])
        self.met: list[str] = []
        self._shown: set[tuple[str, str]] = set()  # direct messages that the transcript has

    # ---- people

    def say(self, who: str, text: str) -> str:
        """Somebody types ``/gpu text``; returns what they are answered (plain text)."""
        self.out("")
        self.out(f"{self.stamp()}  {who} types  /gpu {text}".rstrip())
        answer = self.slack.command(who, "#gpu", f"/gpu {text}".rstrip())
        if not answer.get("acked"):
            raise DemoError(f"/gpu {text} was not answered: {answer.get('error')}")
        return self._heard(f"gpubot answers {who}", self.text_of(answer.get("response") or answer.get("message") or {}))

    def press(self, who: str, label: str, channel: str = "#gpu") -> str:
        """Somebody presses a button of the newest message that has it; returns the answer."""
        self.out("")
        self.out(f"{self.stamp()}  {who} presses  [{label}]")
        message = self._with_button(who, channel, label)
        before = {m["ts"] for m in self.slack.messages(who, channel)}
        answer = self.slack.click(who, channel, message["ts"], text=label)
        if not answer.get("acked"):
            raise DemoError(f"[{label}] was not answered: {answer.get('error')}")
        found = self.slack.wait(lambda: self._fresh(who, channel, before, message), 10, f"no answer to [{label}]")
        return self._heard(f"gpubot answers {who}", self.text_of(found))

    def _with_button(self, who: str, channel: str, label: str) -> dict[str, Any]:
        for message in reversed(self.slack.messages(who, channel)):
            if any(
                e["text"]["text"] == label
                for b in message.get("blocks", [])
                if b["type"] == "actions"
                for e in b["elements"]
            ):
                return message
        raise DemoError(f"{who} sees no button [{label}] in {channel}")

    def _fresh(self, who: str, channel: str, before: set[str], old: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a click: a new message, or the old one replaced."""
        for message in reversed(self.slack.messages(who, channel)):
            if message["ts"] not in before or (message["ts"] == old["ts"] and message["text"] != old["text"]):
                return message
        return None

    def quietly(self, who: str, text: str) -> str:
        """As ``say``, without a word in the transcript (setting up)."""
        answer = self.slack.command(who, "#gpu", f"/gpu {text}")
        if not answer.get("acked"):
            raise DemoError(f"/gpu {text} was not answered: {answer.get('error')}")
        return self.text_of(answer.get("response") or answer.get("message") or {})

    # ---- machines

    def vcenter(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The control side of the stand-in vCenter."""
        status, text = http_call(method, f"{self.rig.vcenter['drive']}/_drive/{path}", body)
        if status != 200:
            raise DemoError(f"vCenter stand-in, {path}: {text}")
        return dict(json.loads(text))

    def vm(self, name: str) -> dict[str, Any]:
        """A machine as vCenter knows it."""
        found = next((v for v in self.vcenter("GET", "state")["vms"] if v["name"] == name), None)
        if found is None:
            raise DemoError(f"no VM {name}")
        return dict(found)

    def cards_in(self, name: str) -> int:
        """How many cards a machine's settings name."""
        return len(self.vm(name)["cards"])

    def restarts(self, name: str) -> int:
        """How often a machine was switched off so far."""
        entries = self.vcenter("GET", "journal?since=0")["entries"]
        return sum(1 for e in entries if e["vm"] == name and e["verb"] in ("powered off", "power off", "off"))

    def work(self, name: str, who: str) -> None:
        """Somebody starts a program on a machine's cards."""
        self.vcenter("POST", f"vm/{name}/job", {"user": who, "name": "python train.py", "gpu": True})
        self.out("")
        self.out(f"{self.stamp()}  {who} starts python train.py in {name}")

    def begin(self, name: str, who: str, do: str, words: str = "", **more: Any) -> None:
        """Somebody starts an activity of the guests by its plain name.

        :param words: what the transcript says of it; "" that its program starts
        :param more: ``cards``, ``first``, ``duration_s``, ``works_s``, as the guest takes them
        """
        pid = self.vcenter("POST", f"vm/{name}/activity", {"do": do, "user": who, **more})["pid"]
        program = next(j["name"] for j in self.vm(name)["guest"]["jobs"] if j["pid"] == pid)
        self.out("")
        self.out(f"{self.stamp()}  {who} starts {program} in {name}{words and f': {words}'}")

    def end(self, name: str, who: str, do: str, words: str = "is over") -> None:
        """What somebody started by that name ends."""
        programs = [j["name"] for j in self.vm(name)["guest"]["jobs"] if j["do"] == do]
        self.vcenter("DELETE", f"vm/{name}/activity?do={quote(do)}")
        self.out("")
        self.out(f"{self.stamp()}  {' and '.join(programs)} of {who} in {name} {words}")

    # ---- what is seen

    def board(self) -> str:
        """The board in #gpu, plain."""
        pins = self.pins()
        found = [m for m in self.slack.messages("ada", "#gpu") if m["ts"] in pins]
        return self.plain(found[-1]["text"]) if found else ""

    def pins(self) -> tuple[str, ...]:
        """Time stamps of what is pinned in #gpu."""
        places = self.slack.get("state", person="ada")["places"]
        return tuple(next(p["pins"] for p in places if p["name"] == "gpu"))

    def shows(self, what: Callable[[str], bool]) -> str:
        """The board, as soon as it shows something (it is edited at most once a second), or as it is after some seconds."""
        try:
            self.slack.wait(lambda: what(self.board()), 6.0)
        except TimeoutError:
            pass
        return self.board()

    def channel(self) -> list[dict[str, Any]]:
        """All messages in #gpu that everybody sees."""
        return [m for m in self.slack.messages("ada", "#gpu") if not m.get("ephemeral")]

    def restarts_told(self, card: str, last: int) -> list[dict[str, Any]]:
        """The last messages in #gpu about a card's way, one a restart, oldest first; the board is none."""
        pinned = self.pins()
        return [m for m in self.channel() if card in m["text"] and m["ts"] not in pinned][-last:]

    def dms(self, who: str) -> list[str]:
        """The bot's direct messages to somebody, plain, oldest first."""
        return [self.plain(m["text"]) for m in self._dms(who)]

    def show(self, title: str, text: str) -> None:
        """Print something that people see."""
        self._heard(title, text)

    def show_dm(self, who: str, part: str) -> None:
        """Print the newest direct message to somebody that has some words."""
        self._written(who, next(m for m in reversed(self._dms(who)) if part in self.plain(m["text"])))

    def show_new_dm(self, who: str, *parts: str, short: bool = False) -> bool:
        """Print the newest direct message to somebody that has all these words and was not printed before; whether there is one.

        :param short: its first line alone
        """
        for message in reversed(self._dms(who)):
            text = self.plain(message["text"])
            if (message["ts"], text) not in self._shown and all(p in text for p in parts):
                self._shown.add((message["ts"], text))
                self._written(who, message, short)
                return True
        return False

    def _dms(self, who: str) -> list[dict[str, Any]]:
        return self.slack.messages(who, "dm")

    def _written(self, who: str, message: dict[str, Any], short: bool = False) -> None:
        text = self.text_of(message)
        self.out("")
        self.out(f"{self.stamp()}  gpubot writes to {who}")
        self._quoted(kept(text, lambda line: line == text.splitlines()[0]) if short else text)

    # ---- expectations

    def expect_board(self, name: str, what: Callable[[str], bool]) -> None:
        """An expectation of the board."""
        board = self.shows(what)
        self.expect(name, what(board), board)

    def expect(self, name: str, holds: bool, seen: object = "") -> None:
        """An expectation by name. Raises Unmet."""
        if name == self.spoil:
            holds = not holds
        if not holds:
            raise Unmet(name, seen)
        self.met.append(name)
        self.out(f"{MARGIN}✔ {name}")

    def all_met(self, names: Sequence[str]) -> None:
        """At the end: all these held, in this order, and no others were asked for. Raises Unmet for the first that differs."""
        for name, met in zip_longest(names, self.met):
            if name != met:
                raise Unmet(str(name or met), "never asked for" if name else "not among the story's expectations")

    # ---- text

    def stamp(self) -> str:
        """Virtual time, for the margin."""
        return self.clock.now().astimezone(ZoneInfo(ZONE)).strftime("%a %H:%M")

    def _heard(self, title: str, text: str) -> str:
        """Print what somebody reads, under who reads it. Returns the text."""
        self.out(f"{MARGIN}{title}:")
        self._quoted(text)
        return text

    def _quoted(self, text: str) -> None:
        for line in text.splitlines():
            for piece in textwrap.wrap(line, WIDTH - len(MARGIN) - len(QUOTE), break_on_hyphens=False) or [""]:
                self.out(f"{MARGIN}{QUOTE}{piece}")

    def note(self, text: str) -> None:
        """Print what happens between the acts."""
        self.out("")
        self.out(f"{MARGIN}… {text} …")

    def text_of(self, message: dict[str, Any]) -> str:
        """A message's text and its buttons, plain."""
        text = self.plain(str(message.get("text", "")))
        labels = [e["text"]["text"] for b in message.get("blocks", []) if b["type"] == "actions" for e in b["elements"]]
        return text + ("\n" + " ".join(f"[{label}]" for label in labels) if labels else "")

    def plain(self, text: str) -> str:
        """Slack's markup as a person reads it, times in the site's zone."""
        text = TOKEN.sub(lambda m: self._instant(int(m.group(1)), m.group(2)), text)
        text = PERSON.sub(lambda m: "@" + (m.group(2) or self._name(m.group(1))), text)
        for code, sign in EMOJI.items():
            text = text.replace(code, sign)
        return html.unescape(re.sub(r"(?<!\w)\*(.+?)\*(?!\w)", r"\1", text).replace("`", ""))

    def _instant(self, unix: int, form: str) -> str:
        at = datetime.fromtimestamp(unix, UTC).astimezone(ZoneInfo(ZONE))
        today = self.clock.now().astimezone(ZoneInfo(ZONE)).date()
        days = {0: "today", 1: "tomorrow", -1: "yesterday"}
        day = days.get((at.date() - today).days, at.strftime("%a %d %b"))
        return form.replace("{date_short_pretty}", day).replace("{time}", at.strftime("%H:%M"))

    def _name(self, id: str) -> str:
        people = self.slack.get("state", person="ada").get("people", [])
        return next((str(p["name"]) for p in people if p.get("id") == id), id)


__all__ = ["DriveError", "Stage", "Unmet", "kept"]
