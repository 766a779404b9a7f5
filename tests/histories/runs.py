"""Runs of histories: drawn by hypothesis, on the stand-in's model or over TLS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import VSphereLab
from bot.local.vcenter.start import start_in_thread
from tests.histories import rigs
from tests.histories.model_lab import LABELS, ModelLab, Spoilt
from tests.histories.play import DRAWN, History, Step
from tests.histories.site import new_world, site_on, start_machines
from tests.histories.still import RealSeconds, StillClock


def steps_of(words: Sequence[str]) -> st.SearchStrategy[list[Step]]:
    """Histories of these words, each as often as it stands there; the first is the simplest. What a history cannot do without is found by
    leaving steps out: they become waits."""
    step = st.tuples(st.sampled_from(words), st.integers(0, 23), st.integers(0, 23))
    return st.lists(step, min_size=10, max_size=24)


RIGS = st.sampled_from(rigs.DRAWN)

OPENINGS = st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7))
"""How it begins: nobody has a card; somebody has; most are lent; somebody waits; somebody gives back."""


def play_direct(rig: str, opening: int, steps: Sequence[Step], spoilt: Spoilt | None = None) -> int:
    """One history on the model; returns how often our user changed something."""
    clock = StillClock()
    world = new_world(clock, rig)
    with site_on(lambda _: ModelLab(world, clock, spoilt), world, clock, rig) as site:
        History(site).play(steps, opening)
        return site.judge.by_us


def play_over_tls(rig: str, opening: int, steps: Sequence[Step]) -> int:
    """One history with the real driver, over TLS, on a server of its own; returns how often our user changed something."""
    clock = StillClock()
    with start_in_thread(rigs.settings_of(rig), clock=clock) as running:
        start_machines(running.world, clock)
        where = f"127.0.0.1:{running.port}"
        vcenter = VCenter("lab", where, running.user, running.password, running.ca_file, dynamic=LABELS)
        with site_on(lambda _: VSphereLab([vcenter], RealSeconds(clock)), running.world, clock, rig) as site:
            site.server = running.server
            try:
                History(site).play(steps, opening)
            finally:
                site.lab.close()
            assert running.server.mistakes == []
            return site.judge.by_us


def many(
    play: Callable[[str, int, list[Step]], object],
    count: int,
    start: int,
    played: list[int],
    shrinks: bool = True,
    words: Sequence[str] = DRAWN,
) -> None:
    """So many histories from a seed, each noted in ``played``; raises at a violation, with the shortest history that shows it."""

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(RIGS, OPENINGS, steps_of(words))
    def run(rig: str, opening: int, steps: list[Step]) -> None:
        played.append(len(steps))
        play(rig, opening, steps)

    run()
