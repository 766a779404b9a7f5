"""The table of docs/reliability.md: the bot is killed at each call of a move, and the next one meets each fault. Every row is a real run.

ada gives a card back now, and bob waits for it and has said "now": two power cycles, six calls. At the n-th call the bot is killed, before the call is
made or after it is carried out and before its outcome is written; the fault begins at that moment and another bot is started. What people read beyond
what they read in a run without any fault, and where it ends when all is on again and the card is bob's, or two hours later, goes into the row.

    .venv/bin/python -m tests.histories.table docs/reliability.md      writes the table anew, the text around it stays
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bot.domain.model import LeaseState, Power, RequestState
from bot.domain.news import ADMINS, CHANNEL
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.vmomi import vim
from tests.fakes import text_of
from tests.histories import rigs
from tests.histories.model_lab import ModelLab
from tests.histories.play import History
from tests.histories.site import Site, new_world, site_on
from tests.histories.still import StillClock

GIVER, RECEIVER = "vm-python", "vm-r"

STEPS = (
    f"shutdown of {GIVER} asked",
    f"card taken off {GIVER}",
    f"power-on of {GIVER} asked",
    f"shutdown of {RECEIVER} asked",
    f"card put on {RECEIVER}",
    f"power-on of {RECEIVER} asked",
)
"""The calls of the move, in their order."""

NEVER = float("inf")

LASTS_S = 600.0
"""Seconds after which a fault that is a state is over."""


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    name: str  # as the page names it
    begins: Callable[[Scene], None]  # at the moment of the bot's death
    ends: Callable[[Scene], None] = lambda scene: None  # after LASTS_S


class Scene:
    """A site on which bob waits for ada's card, and what people read there."""

    def __init__(self, site: Site, step: int) -> None:
        self.site, self.history, self.step = site, History(site), step
        self.lab = site.lab.inner
        assert isinstance(self.lab, ModelLab)
        self.model: ModelLab = self.lab
        self.name = GIVER if step <= 3 else RECEIVER

    def prepare(self) -> None:
        """ada has T4-1, bob waits for it."""
        site = self.site
        for card in ("T4-2", "T4-3", "T4-4"):
            site.say("dana", f"drain {card} because it is kept as a spare")
        site.say("ada", f"request 1 on {GIVER} restart now")
        self.go(900)
        assert [x.state for x in site.books.leases.values()] == [LeaseState.ACTIVE]
        site.say("bob", f"request 1 on {RECEIVER} restart now")
        self.go(120)
        site.lab.calls = 0

    def node(self) -> object:
        """The machine that the step is about."""
        return self.site.world.inventory.vm(self.name)

    def go(self, seconds: float) -> None:
        """Time passes in small steps."""
        end = self.site.clock.at + seconds
        while self.site.clock.at < end:
            self.site.pass_time(self.history._pace() if self.history._pace() < 60 else 60)
            self.site.round()


def _hands(do: str) -> Callable[[Scene], None]:
    return lambda scene: _try(lambda: scene.site.hands.power(scene.name, do))


def _try(call: Callable[[], object]) -> None:
    """Somebody's hand, if it can do that now."""
    from bot.local.vcenter.vmomi import Refusal

    try:
        call()
    except (Refusal, ValueError):
        pass


def _faults(*kinds: str) -> Callable[[Scene], None]:
    return lambda scene: scene.site.lab.faults.extend(kinds)


def _set(**fields: object) -> Callable[[Scene], None]:
    def begins(scene: Scene) -> None:
        for name, value in fields.items():
            setattr(scene.model, name, value)

    return begins


def _guest(**habits: object) -> Callable[[Scene], None]:
    return lambda scene: scene.site.world.guest_of(scene.site.world.inventory.vm(scene.name)).configure(**habits)


def _host(**wanted: object) -> Callable[[Scene], None]:
    return lambda scene: scene.site.hands.host(**wanted)


def _refuse(verb: str, times: int) -> Callable[[Scene], None]:
    return lambda scene: scene.site.world.refusals.append(
        Planned(scene.name, verb, "the licence does not allow it", times=times)
    )


def _edit(scene: Scene) -> None:
    scene.model.between = lambda node: scene.site.hands.edit(node.name)


FAULTS: tuple[Fault, ...] = (
    Fault("nothing else", lambda scene: None),
    Fault("the next call is lost before it arrives", _faults("before")),
    Fault("the next call is carried out, its answer is lost", _faults("after")),
    Fault("the next call is carried out 40 s late, its answer is lost", _set(late_s=40.0)),
    Fault("the next call is accepted, and nothing comes of it", _set(silent=1)),
    Fault("the next call gets an answer that nobody understands", _faults("strange")),
    Fault("the next call meets somebody else's change", _edit),
    Fault("vCenter refuses the next change once", _refuse("reconfigure", 1)),
    Fault("vCenter refuses the next two starts", _refuse("power on", 2)),
    Fault("vCenter is away for 10 minutes", _set(away=True), _set(away=False)),
    Fault("a page of the next three looks is missing", _set(half=3)),
    Fault("a foreign task holds the machine for 2 minutes", lambda scene: scene.history.busy(scene.site.world.inventory.vm(scene.name), 120)),
    Fault("the guest takes 4 minutes to stop", _guest(shutdown_s=240.0), _guest(shutdown_s=30.0)),
    Fault("the guest hangs for 10 minutes", _guest(hang=True), _guest(hang=False)),
    Fault("a user starts the machine", _hands("on")),
    Fault("a user switches the machine off", _hands("off")),
    Fault("the host is in maintenance for 10 minutes", _host(maintenance=True), _host(maintenance=False)),
    Fault("the host is away for 10 minutes", _host(connection="notResponding"), _host(connection="connected")),
    Fault("the machine is registered anew, if it is off", lambda scene: _try(lambda: scene.site.hands.reregister(scene.name))),
    Fault("a question blocks the machine for 10 minutes", lambda scene: scene.site.hands.question(scene.name, "moved or copied?"), lambda scene: scene.site.hands.question(scene.name, None)),
    Fault("an owner says not now", lambda scene: scene.history.say("ada" if scene.name == GIVER else "bob", f"notnow {scene.name}")),
    Fault("an admin pauses for 10 minutes", lambda scene: scene.history.say("dana", "pause because of a test"), lambda scene: scene.history.say("dana", "resume")),
)  # fmt: skip
"""All that is crossed with each step."""


@dataclass(frozen=True)
class Ending:
    """What became of one run."""

    sees: tuple[str, ...]  # what people read beyond the undisturbed run
    ends: str  # where it ends
    minutes: int  # from ada's word until bob has the card; -1 he has not
    found: tuple[str, ...] = ()  # violations


def play(step: int, when: str, fault: Fault) -> Ending:
    """One run. ``step`` from 1, 0: nobody dies; ``when``: before or after its call."""
    clock = StillClock()
    world = new_world(clock, rigs.FIXED)
    with site_on(lambda _: ModelLab(world, clock), world, clock, rigs.FIXED) as site:
        scene = Scene(site, step)
        scene.prepare()
        posts, edits, began = len(site.voice.posts), len(site.voice.edits), clock.at
        ends_at = NEVER

        def dies() -> None:
            nonlocal ends_at
            fault.begins(scene)
            ends_at = clock.at + LASTS_S

        site.on_death = dies
        site.lab.kill_at = (step, f"act {when}")
        site.say("ada", "release now")
        got = -1
        while clock.at < began + 2 * 3600 and (
            got < 0 or got * 60 + 900 >= clock.at - began or ends_at != NEVER or _off(site)
        ):
            scene.go(60)
            if clock.at >= ends_at:
                fault.ends(scene)
                ends_at = NEVER
            if got < 0 and _has(site):
                got = round((clock.at - began) / 60)
        site.on_death = lambda: None
        said = [(to, reply) for to, reply in site.voice.posts[posts:]]
        said += [
            (site.voice.standing[at][0], reply) for at, reply in site.voice.edits[edits:] if at in site.voice.standing
        ]
        lines = tuple(
            dict.fromkeys(line for to, reply in said if not BOARD.search(line := _line(site, to, text_of(reply))))
        )
        ends = _where(site)
        scene.history.rest()
        return Ending(lines, ends, got, tuple(site.judge.found))


def _has(site: Site) -> bool:
    return any(x.state is LeaseState.ACTIVE and x.person == "U2BOB" for x in site.books.leases.values())


BOARD = re.compile(r"\d cards? in \S+:")
"""The board is edited all the time: it shows the same things once more."""

NAMES = {"U1ADA": "ada", "U2BOB": "bob", "U3CAROL": "carol", "U4DANA": "dana", ADMINS: "admins", CHANNEL: "channel"}


def _line(site: Site, to: str, text: str) -> str:
    """Who reads what, without times: the first line is the whole message."""
    first = text.splitlines()[0]
    for id, name in NAMES.items():
        first = first.replace(id, name)
    first = re.sub(r"\b(\d\d )?\d\d:\d\d\b", "T", first)
    first = re.sub(r", (about \d+ min left|longer than usual)$", "", first)
    return f"{NAMES.get(to, to)}: {first}"


def _off(site: Site) -> list[str]:
    """Which of the two machines are off: a start that was refused is asked again after a while."""
    nodes = site.world.inventory.of(vim.VirtualMachine)
    return [n.name for n in nodes if n.name in (GIVER, RECEIVER) and n.props["runtime"].powerState != "poweredOn"]


def _where(site: Site) -> str:
    """The end in words."""
    books = site.books
    off = _off(site)
    pci = books.cards["T4-1"].pci
    names = {m.uuid: m.name for m in books.machines.values()}
    at = [names.get(u, u) for u, cards in site.judge.settings.items() if pci in cards]
    power = f"{' and '.join(off)} off" if off else "both on"
    if _has(site) and at == [RECEIVER]:
        return f"bob has it, {power}"
    bob = next(r for r in books.requests.values() if r.person == "U2BOB")
    waits = {RequestState.QUEUED: "bob is in line", RequestState.OFFERED: "bob is asked"}.get(
        bob.state,
        "bob is next" if books.leases[str(bob.number)].state is LeaseState.RESERVED else "bob's is on its way",
    )
    where = f"the card is in {at[0]}" if at else "the card is in no machine"
    return f"{where}, {waits}, {power}"


@cache
def undisturbed() -> Ending:
    """Nobody dies and nothing fails."""
    return play(0, "before", FAULTS[0])


def row(step: int, fault: Fault) -> tuple[str, list[str]]:
    """A row of the page, both deaths in it, and the violations."""
    base = undisturbed()
    endings = {when: play(step, when, fault) for when in ("before", "after")}
    cells = {when: (_sees(e, base), _ends(e, base)) for when, e in endings.items()}
    if cells["before"] == cells["after"]:
        sees, ends = cells["before"]
    else:
        pairs = [
            (f"before: {b}" if b == a else f"before: {b}<br>after: {a}")
            for b, a in zip(cells["before"], cells["after"], strict=True)
        ]
        sees, ends = (b if b == a else pair for b, a, pair in zip(cells["before"], cells["after"], pairs, strict=True))
    found = [f"{when}: {text}" for when, e in endings.items() for text in e.found]
    return f"| {step}. {STEPS[step - 1]} | {fault.name} | {sees} | {ends} |", found


def _sees(ending: Ending, base: Ending) -> str:
    new = [text for text in ending.sees if text not in base.sees]
    text = "; ".join(_short(t) for t in new[:3]) or "nothing more"
    return text.replace("|", "/")


def _short(text: str) -> str:
    return text if len(text) <= 150 else text[:147] + "..."


def _ends(ending: Ending, base: Ending) -> str:
    later = ending.minutes - base.minutes
    return ending.ends + (f", {later} min later" if ending.minutes >= 0 and later > 1 else "")


SAMPLE = tuple((n % len(STEPS) + 1, fault) for n, fault in enumerate(FAULTS))
"""Each fault once, and each step several times: what `make test-long` plays."""

ALL = tuple((step, fault) for step in range(1, len(STEPS) + 1) for fault in FAULTS)

HEAD = "| killed at | and then | what people see more | where it ends |\n|---|---|---|---|\n"
MARK = "<!-- written by tests/histories/table.py -->\n"


def rows_of(page: str) -> dict[tuple[str, str], str]:
    """The rows of a page, by their first two columns."""
    lines = [line for line in page.partition(MARK)[2].splitlines() if line.startswith("| ")]
    return {(cells[1].strip(), cells[2].strip()): line for line in lines if len(cells := line.split("|")) > 3}


def main(path: Path) -> int:
    """Write the table of a page anew; 1 if something was violated."""
    logging.disable(logging.CRITICAL)
    text, bad = path.read_text(), 0
    rows = []
    for step, fault in ALL:
        line, found = row(step, fault)
        rows.append(line)
        for sentence in found:
            bad = 1
            print(f"{step} {fault.name}: {sentence}", file=sys.stderr)
    path.write_text(text.partition(MARK)[0] + MARK + "\n" + HEAD + "\n".join(rows) + "\n")
    return bad


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))


__all__ = ["ALL", "FAULTS", "SAMPLE", "Power", "row", "rows_of"]
