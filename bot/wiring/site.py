"""What is written of a vCenter after a look: the first settings (``gpubot init``) and a record (``gpubot doctor --record``). Called by ``cli``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bot.config import Settings, SettingsError, examine
from bot.edges.clock import FileClock
from bot.edges.slack.inspect import SCOPES
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.inspect import discover
from bot.edges.vsphere.record import record
from bot.service.ports import LabError
from bot.service.setup import doctor, first, judge_vcenter, role
from bot.service.setup.facts import Wanted
from bot.service.setup.findings import Finding, error
from bot.wiring import values
from bot.wiring.ground import CannotStart, clock_of
from bot.wiring.values import patient, vcenters_of


def record_site(path: Path, folder: Path) -> tuple[list[str], list[Finding]]:
    """Write what ``gpubot doctor --record`` sends into an empty folder: a line for each vCenter that was recorded, and why others were not."""
    try:
        lines, failed = _record_all(path, folder)
    except CannotStart as stopped:
        lines, failed = [], [str(stopped)]
    return lines, [error("doctor.record", f"nothing is recorded: {why}" if not lines else why) for why in failed]


def _record_all(path: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Raises CannotStart: the folder, or there is no vCenter."""
    settings, _, _ = examine(path)
    if settings is None or not settings.vcenter:
        raise CannotStart("there is no vCenter in the settings to be recorded")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CannotStart(f"the folder {folder} is not empty: name a new one")
        lines: list[str] = []
        failed: list[str] = []
        for name in settings.vcenter:
            try:
                lines.append(_record_one(settings, name, folder if len(settings.vcenter) == 1 else folder / name))
            except (LabError, SettingsError) as met:
                failed.append(f"vCenter {name} was not recorded: {met}")
        return lines, failed
    except OSError as met:
        raise CannotStart(f"{folder} cannot be written: {met.strerror or met}") from met


def _record_one(settings: Settings, name: str, folder: Path) -> str:
    """Raises LabError, SettingsError, OSError, CannotStart."""
    (vcenter,) = vcenters_of(settings.model_copy(update={"vcenter": {name: settings.vcenter[name]}}))
    made = record(replace(vcenter, connect_s=values.CONNECT_S), clock_of(), (*role.ACT, *role.TOO_MUCH))
    folder.mkdir(exist_ok=True)
    for file, text in made.files.items():
        (folder / file).write_text(text, "utf-8")
    return (
        f"Recorded vCenter {name} into {folder}: {_many(made.machines, 'machine')} and {_many(made.hosts, 'host')}, without names, addresses and notes. "
        "Look through it before you send it; docs/letting-in.md says what is in it."
    )


def _many(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


def first_look(entry: first.Entry, password: str, ca_file: Path | None) -> tuple[str, str, list[Finding]]:
    """What ``gpubot init`` writes: the settings, the lines about machines, and what is wrong with the vCenter; both texts are empty if it
    cannot be looked into."""
    host = f"[{entry.host}]" if ":" in entry.host else entry.host
    vcenter = patient(VCenter(entry.name, f"{host}:{entry.port}", entry.user, password, ca_file))
    clock = FileClock(None)
    facts, people = discover(vcenter, clock)
    kinds = {card.ids: card.name for host in (facts.seen.hosts if facts.seen else ()) for card in host.cards}
    found = judge_vcenter.vcenter(facts, Wanted("watch", "", "/gpu", SCOPES, kinds), clock.wall())
    found = [doctor.cleaned(f, lambda text: doctor.without(text, password)) for f in found]
    if facts.phase or facts.seen is None:
        return "", "", found
    return first.toml(entry, facts), first.machines(entry, facts.seen, people, facts.blockers, "/gpu"), found
