"""What ``gpubot init`` writes: the first settings, with a comment on each line, and the lines that register machines. Pure.

It goes by what a read-only login shows. Secrets are in neither: the settings name files that a person fills.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.domain import vgpu
from bot.domain.model import DynamicCard, MachineId, Mode, Seen, SeenCard, SeenMachine
from bot.service.setup.facts import VCenterFacts, VmFacts
from bot.service.setup.judge_vcenter import DYNAMIC_FROM, listed, short_kind, version


@dataclass(frozen=True)
class Entry:
    """How the vCenter was reached, as it is to be written down."""

    name: str  # of [vcenter.NAME]
    host: str
    port: int
    user: str
    password_file: str  # as it is to stand there
    ca_file: str  # the same; "" the system's authorities
    zone: str  # of the site


Rows = list[str]


def toml(entry: Entry, facts: VCenterFacts) -> str:
    """The file's text."""
    assert facts.seen is not None  # it was looked at before anything is written
    cards = [(card, host.name) for host in facts.seen.hosts for card in host.cards]
    parts = [
        [
            "# The settings of gpubot, written by `gpubot init` from what this vCenter shows. Every line may be changed;",
            "# all of them: docs/settings.md. No secret stands here: the files that are named hold one line each.",
            "# Next: fill in what is marked TODO, then run `gpubot doctor`.",
        ],
        _site(entry),
        _slack(),
        _vcenter(entry, facts, cards),
        _kinds(cards),
        _vgpu(cards),
        ["[store]", 'url = "sqlite:///gpubot.db"  # beside this file; on a disk of this machine'],
        ["[web]", 'bind = "127.0.0.1:8321"  # health, numbers, and what guests report: docs/operations.md'],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def text(value: str) -> str:
    """A text of TOML. (JSON's escapes are TOML's, but for the one character below.)"""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(value: str) -> str:
    """Somebody else's word inside a comment: on one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in value).split())


def _site(entry: Entry) -> Rows:
    return [
        "[site]",
        f"zone = {text(entry.zone)}  # the site's time zone",
        'admins = []  # TODO: who may drain cards and register machines, by member id (profile, ⋮, Copy member ID): ["U0123456789"]',
        'level = "watch"  # it looks and answers, and moves nothing; the next steps: docs/letting-in.md',
    ]


def _slack() -> Rows:
    return [
        "[slack]",
        'command = "/gpu"  # as manifest.yml has it',
        '# channel = "C0123456789"  # TODO: id of the team\'s channel, at the end of its details in Slack',
        'bot_token_file = "slack-bot.token"  # TODO: put the bot token (xoxb-…) into this file',
        'app_token_file = "slack-app.token"  # TODO: put the app-level token (xapp-…) into this file',
    ]


def _vcenter(entry: Entry, facts: VCenterFacts, cards: list[tuple[SeenCard, str]]) -> Rows:
    rows = [
        f"[vcenter.{entry.name}]  # {_plain(facts.product) or 'vCenter'}, API {_plain(facts.api)}",
        f"host = {text(entry.host)}",
    ]
    if entry.port != 443:
        rows.append(f"port = {entry.port}")
    rows += [
        f"user = {text(entry.user)}  # may read; what it needs later: docs/vcenter-role.md",
        f"password_file = {text(entry.password_file)}",
    ]
    if entry.ca_file:
        rows.append(f"ca_file = {text(entry.ca_file)}  # the authority that signed its certificate")
    labels = sorted({card.label for card, _ in cards if card.label and card.mode is not Mode.VGPU})
    if labels:
        line = f"dynamic = [{', '.join(text(one) for one in labels)}]"
        if version(facts.api) >= DYNAMIC_FROM:
            rows.append(
                f"{line}  # cards with these labels are given by label (Dynamic DirectPath I/O), not by address"
            )
        else:
            rows.append(f"# {line}  # needs API 7.0 or newer")
    return rows


def _kinds(cards: list[tuple[SeenCard, str]]) -> Rows:
    rows = ["[kinds]  # PCI ids of cards -> the word by which people ask for them"]
    if not cards:
        return [*rows, '# "10de:1eb8" = "T4"  # no GPU was seen: may this login read the hosts?']
    by_ids: dict[str, list[tuple[SeenCard, str]]] = {}
    for card, host in cards:
        by_ids.setdefault(card.ids, []).append((card, host))
    used: set[str] = set()
    for ids, found in sorted(by_ids.items()):
        word = short_kind(found[0][0].name)
        while word in used:
            word += "b"
        used.add(word)
        hosts = listed({_plain(host) for _, host in found})
        n = f"{len(found)} card{'s' if len(found) != 1 else ''}"
        rows.append(f"{text(ids)} = {text(word)}  # {_plain(found[0][0].name)}: {n} on {hosts}")
    return rows


def _vgpu(cards: list[tuple[SeenCard, str]]) -> Rows:
    profiles = sorted({p for card, _ in cards if card.mode is Mode.VGPU for p in card.profiles})
    if not profiles:
        return []
    good = [p for p in profiles if vgpu.computes(p)]
    one, others = _one_series(good)
    rows = [
        "[vgpu]  # parts of cards: people ask for one by a profile's name, or by its size: `/gpu request 8gb`",
        f"profiles = [{', '.join(text(p) for p in one)}]  # that may be asked for; take away what is not wanted",
    ]
    for series, more in sorted(others.items()):
        rows.append(f"# of the same sizes, {SERIES[series]}: {_plain(', '.join(more))}; two of one size are asked back")
    if hidden := [p for p in profiles if p not in good]:
        rows.append(f"# offered too, and without CUDA: {_plain(', '.join(hidden))}")
    unknown = [p for p in one if vgpu.count(p, {}) == 0]
    if unknown:
        rows += ["", "[vgpu.counts]  # TODO: how many of each one card holds; without, none of them is given"]
        rows += [f"# {text(p)} = 1" for p in unknown]
    return rows


SERIES = {"q": "for graphics and CUDA (NVIDIA RTX Virtual Workstation)", "c": "for CUDA alone (NVIDIA AI Enterprise)"}
"""Of profiles that compute and are offered side by side, the one to write first; a size alone would not tell which is meant."""


def _one_series(profiles: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """One profile a board and size, and the others of its size by their series."""
    order = list(SERIES)
    chosen: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for profile in sorted(profiles, key=lambda p: (order.index(s) if (s := p[-1:].lower()) in order else 0, p)):
        series = profile[-1:].lower()
        known = vgpu.is_profile(profile) and series in order
        key = profile[:-1].lower() if known else profile
        if chosen.setdefault(key, profile) != profile:
            others.setdefault(series, []).append(profile)
    return sorted(chosen.values()), others


# ---- machines


def machines(
    entry: Entry, seen: Seen, people: Iterable[VmFacts], blockers: Mapping[MachineId, tuple[str, ...]], command: str
) -> str:
    """Lines to say in Slack: first who has cards, then who could take one, then (as comments) who could not, and why."""
    known = {p.uuid: p for p in people}
    hosts = {h.id for h in seen.hosts}
    near = sorted((m for m in seen.machines if m.host in hosts and not m.template), key=lambda m: m.name)
    holders = [m for m in near if m.cards or m.unplaced]
    able = [m for m in near if m not in holders and not blockers.get(m.uuid)]
    unable = [m for m in near if m not in holders and blockers.get(m.uuid)]
    rows = [
        f"# Lines to say to the bot in Slack, as an admin, once it runs. From vCenter {_plain(entry.name)}, by `gpubot init`.",
        "# Delete those of machines that shall neither lend nor borrow a card. Names of people are guesses: look at them.",
    ]
    for title, found in (("These have cards now:", holders), ("These have none, and could take one:", able)):
        if found:
            rows += ["", f"# {title}", *(_line(m, known.get(m.uuid), command) for m in found)]
    if unable:
        rows += ["", "# These could take none as they are:"]
        rows += [f"# {_plain(m.name)}: {_plain('; '.join(blockers[m.uuid]))}" for m in unable]
    return "\n".join(rows) + "\n"


def _line(machine: SeenMachine, who: VmFacts | None, command: str) -> str:
    """What is known of its people, as a comment, then the line as it is said: nothing may follow the people in it."""
    name = _plain(machine.name)
    if '"' in name or any(word.startswith(("@", "<@")) for word in name.split()):
        return f"# {name}: a name with quotes or an @ cannot be said in a line; rename it"
    name = f'"{name}"' if " " in name else name
    has = _has(machine)
    if who is None or not who.owners:
        why = f"{has}nobody is named: no tag, no attribute, no mail address in the notes"
        return f"# {why}\n# {command} machine add {name} owners @…"
    handles = " ".join(f"@{handle(word)}" for word in who.owners[:4])
    said = _plain(", ".join(who.owners[:4]))
    return f"# {has}from {_plain(who.source)}: {said}\n{command} machine add {name} owners {handles}"


def _has(machine: SeenMachine) -> str:
    words = [f"{len(machine.cards)} by address"] if machine.cards else []
    dynamic = sum(isinstance(x, DynamicCard) for x in machine.unplaced)
    parts = len(machine.unplaced) - dynamic
    words += [f"{dynamic} by label"] if dynamic else []
    words += [f"{parts} vGPU"] if parts else []
    return f"has {', '.join(words)}; " if words else ""


def handle(word: str) -> str:
    """What somebody may be called in Slack: the first part of a mail address, a name in small letters."""
    first = word.partition("@")[0] if "@" in word else word.replace(" ", ".")
    return re.sub(r"[^\w.-]", "", first.casefold()) or "somebody"


def beside(file: Path) -> Path:
    """Where the lines about machines go."""
    return file.with_name(f"{file.stem}-machines.txt")
