"""The lab on the model looks at the world as the real driver does over TLS: same machines, cards, bindings, states, on every rig.

Only words are left out of the comparison: which task keeps a machine busy, and why a card cannot be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from bot.domain.model import Seen
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import VSphereLab
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.start import start_in_thread
from tests.histories import rigs
from tests.histories.model_lab import LABELS, ModelLab
from tests.histories.site import start_machines
from tests.histories.still import RealSeconds, StillClock


def plain(seen: Seen) -> Seen:
    """Without words, and in one order."""
    hosts = tuple(
        replace(
            h,
            cards=tuple(replace(c, trouble="") for c in h.cards),
            bound=dict(h.bound),
            sharing={p: tuple(sorted(m)) for p, m in h.sharing.items()},
        )
        for h in sorted(seen.hosts, key=lambda h: h.id)
    )
    machines = tuple(
        replace(m, busy_task="busy" if m.busy_task else "")
        for m in sorted(seen.machines, key=lambda m: (m.name, m.uuid))
    )
    return replace(seen, hosts=hosts, machines=machines, server_time=dict(seen.server_time))


def mess(hands: Hands, clock: StillClock, rig: str) -> Iterator[str]:
    """What happens to a rig, one thing after the other."""
    world = hands.world
    yield "as it is"
    for name in ("vm-python", "vm-r"):
        hands.power(name, "off")
    yield "two are off"
    hands.attach("vm-python", "0000:3b:00.0")
    if rig == rigs.DYNAMIC:
        hands.attach_dynamic("vm-r", "t4-pool")
        hands.attach_dynamic("vm-r", "t4-pool")
    elif rig == rigs.SHARED:
        hands.attach_vgpu("vm-r", "grid_t4-8q")
        hands.attach_vgpu("vm-python", "grid_t4-8q")
    yield "devices in settings"
    hands.clone("vm-r", "copy")
    yield "a copy"
    for name in ("vm-python", "vm-r"):
        hands.power(name, "on")
    yield "on with devices, booting"
    clock.go(60, world.timers)
    yield "Tools run"
    object.__setattr__(world.settings, "release_lag_s", 90.0)
    hands.power("vm-r", "off")
    yield "off, and still bound"
    clock.go(100, world.timers)
    yield "not bound any more"
    hands.question("vm-r", "did you move it or copy it?")
    hands.inaccessible("vm-python-2", True)
    yield "a question, and one that cannot be read"
    hands.host(maintenance=True)
    yield "maintenance"
    hands.host(maintenance=False, connection="notResponding")
    yield "a host that is away"
    hands.host(connection="connected")
    hands.question("vm-r", None)
    hands.inaccessible("vm-python-2", False)
    hands.power("vm-train", "off")
    hands.template("vm-train", True)
    hands.reregister("vm-r")
    hands.rename("vm-r", "vm-renamed")
    yield "a template, a new id, another name"
    hands.card("0000:5e:00.0", enabled=False)
    hands.host(reboot=True)
    yield "a card that is not passed through any more"
    hands.power("vm-renamed", "on")
    clock.go(60, world.timers)
    hands.power("vm-renamed", "suspend")
    yield "suspended"


@pytest.mark.parametrize("rig", rigs.HOSTS)
def test_the_look_on_the_model_is_that_of_the_driver(rig: str) -> None:
    clock = StillClock()
    with start_in_thread(rigs.settings_of(rig), clock=clock) as running:
        start_machines(running.world, clock)
        where = f"127.0.0.1:{running.port}"
        vcenter = VCenter("lab", where, running.user, running.password, running.ca_file, dynamic=LABELS)
        driver, model = VSphereLab([vcenter], RealSeconds(clock)), ModelLab(running.world, clock)
        looks: Callable[[], tuple[Seen, Seen]] = lambda: (plain(model.look()), plain(driver.look()))  # noqa: E731
        try:
            for what in mess(Hands(running.world), clock, rig):
                mine, real = looks()
                assert mine.hosts == real.hosts, what
                assert mine.machines == real.machines, what
                assert mine == real, what
        finally:
            driver.close()
