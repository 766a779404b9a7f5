"""The port `Lab` for vSphere: looks at all vCenters, acts on one machine at a time. Made by wiring.

No exception of pyVmomi, of a socket or of TLS leaves this file: callers meet `Again` and `NeedsPerson`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from bot.domain.model import MachineId, Seen
from bot.edges.vsphere import dryrun
from bot.edges.vsphere.act import Act
from bot.edges.vsphere.client import Client, LostReplyError
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.faults import About, translate
from bot.edges.vsphere.hosts import Known
from bot.edges.vsphere.look import Glimpse, Memory, look
from bot.edges.vsphere.note import note
from bot.edges.vsphere.offers import Targets
from bot.edges.vsphere.reading import Site
from bot.edges.vsphere.refusals import Refusals
from bot.edges.vsphere.session import Session
from bot.edges.vsphere.stub import Transport
from bot.edges.vsphere.tasks import StillRunningError
from bot.edges.vsphere.vmomi import Fault
from bot.service.ports import Before, Clock, Lab, LabError, LabStep, NeedsPerson

T = TypeVar("T")
log = logging.getLogger(__name__)


class _Room:
    """One vCenter: its login, what is remembered of it, and a lock a machine."""

    def __init__(self, vcenter: VCenter, real: Callable[[], float], known: Known) -> None:
        self.session = Session(vcenter, real)
        known = replace(known, labels=vcenter.dynamic)
        self.site = Site(vcenter, Memory(), Targets(real), real, Refusals(), known)
        self.moves = threading.BoundedSemaphore(vcenter.moves)
        self._guard = threading.Lock()
        self._machines: dict[str, threading.Lock] = {}

    def machine(self, uuid: str) -> threading.Lock:
        """Held while something is done to a machine."""
        with self._guard:
            return self._machines.setdefault(uuid, threading.Lock())


LOOK_S = 10.0
"""Real seconds after which a look that has not come counts as none. It goes on, and what it shows counts as of its beginning."""

STILL_S = 1.0
"""Real seconds for which one is waited for that is late already: the rounds go on meanwhile."""


@dataclass(frozen=True)
class _Looking:
    """A look at one vCenter that was begun."""

    at: datetime  # the bot's clock when it began
    began: float  # the same in real seconds
    coming: Future[Glimpse | None]  # what it shows; None: no look, `troubles` says why


class VSphereLab:
    """All vCenters of the site. Safe for many threads; one login a vCenter. :meth:`look` belongs to one thread."""

    def __init__(
        self,
        vcenters: Iterable[VCenter],
        clock: Clock,
        gpu_ids: Iterable[str] = (),
        look_s: float = LOOK_S,
        profiles: Iterable[str] = (),
        acts: bool = True,
    ) -> None:
        """Nothing is asked yet. ``gpu_ids``: ``vendor:device`` ids that count as GPUs besides NVIDIA's display classes. ``look_s``: see
        LOOK_S. ``profiles``: vGPU profiles that the site named, which it takes to compute. ``acts``: changes are made with our
        login, so that what that lacks stands in their way; False: by people."""
        known = Known(more=frozenset(gpu_ids), profiles=frozenset(profiles))
        self._clock, self._look_s, self._acts = clock, look_s, acts
        self._looking: dict[str, _Looking] = {}  # those whose end nobody has seen yet
        self._rooms = {v.name: _Room(v, clock.real, known) for v in vcenters}
        self._troubles: dict[str, str] = {}
        # Looks go side by side, so that a vCenter that is away does not hold up the others.
        self._pool = ThreadPoolExecutor(max(1, len(self._rooms)), thread_name_prefix="look")

    @property
    def troubles(self) -> Mapping[str, str]:
        """vCenter -> why its last look failed, in words; those that answered are not in it."""
        return dict(self._troubles)

    def look(self) -> Seen:
        """One look at every vCenter; one that does not answer is left out of ``complete``, and ``troubles`` says why.

        A vCenter that takes longer than ``look_s`` is left out too, and not asked again before that look has ended: a slow one is seen in
        every second look, one that is silent holds nobody up. ``at`` is when the oldest of these looks began.
        """
        now, real = self._clock.now(), self._clock.real()
        for name in self._rooms:
            if name not in self._looking:
                self._looking[name] = _Looking(now, real, self._pool.submit(self._look, name))
        wait([x.coming for x in self._looking.values() if real - x.began < self._look_s], self._look_s)
        wait([x.coming for x in self._looking.values() if real - x.began >= self._look_s], STILL_S)
        views, at = {}, now
        for name, looking in list(self._looking.items()):
            if not looking.coming.done():
                self._troubles[name] = (
                    f"vCenter {name} has not answered a look for {self._clock.real() - looking.began:.0f} s"
                )
                continue
            del self._looking[name]
            view = looking.coming.result()
            if view is not None:
                views[name], at = view, min(at, looking.at)
                if self._troubles.pop(name, None) is not None:
                    log.info("vCenter %s answers again", name)
        return Seen(
            at=at,
            complete=frozenset(views),
            hosts=tuple(host for view in views.values() for host in view.hosts),
            machines=tuple(machine for view in views.values() for machine in view.machines),
            server_time={name: view.time for name, view in views.items() if view.time is not None},
        )

    def _look(self, name: str) -> Glimpse | None:
        room = self._rooms[name]

        def job(client: Client) -> Glimpse:
            return look(client, name, room.site.memory, room.site.known, room.site.targets)

        try:
            return _bounded(room, job, About(name, room.site.vcenter.user, "its inventory"))
        except LabError as error:
            if self._troubles.get(name) != str(error):
                log.warning("no look: %s", error)
            self._troubles[name] = str(error)
            return None

    def dry_run(self, step: LabStep) -> list[str]:
        """All that would stand in the way of ``step``, in plain words; [] nothing that is known before.

        :raises LabError: vCenter could not be asked
        """
        room = self._room(step)
        about = About(step.vcenter, room.site.vcenter.user, step.machine)
        return _bounded(room, lambda client: dryrun.dry_run(client, room.site, step, self._acts), about)

    def act(self, step: LabStep) -> Before | None:
        """Make one call and wait (bounded) for its task; nothing is sent if the effect is there. See the port.

        :raises Again: may go better later
        :raises NeedsPerson: refused for good; ``card`` names the one to blame
        """
        room = self._room(step)
        act = Act(room.site, step)
        with room.machine(step.machine), room.moves:
            return _bounded(room, act.run, lambda: act.about)

    def survey(
        self, vcenter: str, steps: Mapping[MachineId, LabStep]
    ) -> dict[MachineId, tuple[tuple[str, ...], tuple[str, ...]]]:
        """Each machine -> all that would stand in the way of its step, its login's rights left out; and what does not, and may surprise later.

        :raises LabError: vCenter could not be asked
        """
        room = self._rooms[vcenter]
        about = About(vcenter, room.site.vcenter.user, "its machines")
        return _bounded(room, lambda client: dryrun.survey(client, room.site, steps), about)

    def note(self, vcenter: str, machine: MachineId, text: str) -> None:
        """See the port. Does nothing where the settings name no attribute.

        :raises LabError: it was not written
        """
        room = self._rooms.get(vcenter)
        if room is None or not room.site.vcenter.attribute:
            return
        attribute, about = room.site.vcenter.attribute, About(vcenter, room.site.vcenter.user, machine)
        _bounded(room, lambda client: note(client, room.site, machine, attribute, text), about)

    def _room(self, step: LabStep) -> _Room:
        if step.vcenter not in self._rooms:
            raise NeedsPerson(f"there is no vCenter {step.vcenter} in the settings")
        return self._rooms[step.vcenter]

    def close(self) -> None:
        """Log out everywhere. No call may follow."""
        self._pool.shutdown(wait=True)
        for room in self._rooms.values():
            room.session.close()


def _bounded(room: _Room, job: Callable[[Client], T], about: About | Callable[[], About]) -> T:
    """Run ``job``; whatever is raised outside becomes a LabError, told with what is known of it by then."""
    try:
        return room.session.run(job)
    except LabError:
        raise
    except (Fault, StillRunningError, LostReplyError, *Transport) as error:
        raise translate(error, about() if callable(about) else about) from error


class ReadOnly:
    """A lab that looks and refuses to act: the levels ``watch`` and ``hands``."""

    def __init__(self, lab: Lab, level: str = "watch") -> None:
        """``lab`` does the looking; ``level`` is for words."""
        self._lab, self._level = lab, level

    @property
    def troubles(self) -> Mapping[str, str]:
        """As the lab's, if it tells any."""
        found: Mapping[str, str] = getattr(self._lab, "troubles", {})
        return found

    def look(self) -> Seen:
        """As the lab's."""
        return self._lab.look()

    def dry_run(self, step: LabStep) -> list[str]:
        """As the lab's: it reads only."""
        return self._lab.dry_run(step)

    def act(self, step: LabStep) -> Before | None:
        """Refused, whatever it is."""
        raise NeedsPerson(
            f"the bot does nothing itself (level {self._level}): nothing was sent to vCenter {step.vcenter}"
        )

    def note(self, vcenter: str, machine: MachineId, text: str) -> None:
        """Refused, too."""
        raise NeedsPerson(
            f"the bot does nothing itself (level {self._level}): nothing was written in vCenter {vcenter}"
        )

    def close(self) -> None:
        """As the lab's."""
        self._lab.close()
