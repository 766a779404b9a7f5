"""One history: what people, foreign hands, faults, crashes and time do to a `Site`, step by step, and how it is brought to rest.

A step is a word and two small numbers, which choose among what is there when it comes: so a shorter history is one of the same kind, and
hypothesis shrinks well. A step that makes no sense at its moment does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.domain import renumbered
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY, On
from bot.domain.model import CallKind, MoveState, RequestState
from bot.domain.renumbered import Riddle
from bot.domain.sight import Sight
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.settings import ADMIN_USER, FOUR_T4
from bot.local.vcenter.vmomi import Refusal, vim
from bot.local.vcenter.world import VCENTER
from tests.histories import rigs
from tests.histories.judge import unplaced
from tests.histories.model_lab import ModelLab
from tests.histories.site import OWNERS, Site

Step = tuple[str, int, int]

NAMES = tuple(OWNERS)
PEOPLE = ("ada", "bob", "carol")
WINDOWS = (
    "now",
    "now",
    "now hard",
    "today",
    "tonight",
    "nights",
    "when done",
    "ask",
    "at 20:00",
    "nights even if busy",
)
LENGTHS = ("", "", "for 1h", "for 8h", "until tomorrow 12:00")
WISHES = (
    "restart {}",
    "restart {}",
    "restart {}",
    "restart {}",
    "partly restart {}",
    "spare restart {}",
    "restart {} urgent because a deadline",
    "from tomorrow 10:00 restart {}",
    "before tomorrow 18:00 restart {}",
)
"""What else is said of a request, and where its restart stands."""
PAUSES = (600, 60, 120, 300, 300, 600, 1200, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600)
OVER = frozenset(
    f"request.{on}"
    for on in (
        On.LEFT_LINE,
        On.UNWANTED,
        On.BEFORE_PASSED,
        On.UNTIL_PASSED,
        On.PERSON_LEFT,
        On.LEASE_GIVEN_UP,
        On.LEASE_OVER,
    )
) | {"lease.adopt"}
"""Lines of the ledger after which a number needs no open request: it is over, or it never was one."""

ODD_FOR = (
    frozenset({CallKind.CHANGE}),
    frozenset(CallKind),
    frozenset({CallKind.CHANGE}),
    frozenset({CallKind.POWER_ON}),
)
"""Which calls an odd answer comes to."""

MAX_ROUNDS = 24
"""Of one step of time: what takes longer is cut short."""


def bus(pci: str, by: int) -> str:
    """The address so many buses on."""
    return f"{pci[:5]}{int(pci[5:7], 16) + by:02x}{pci[7:]}"


class Violation(AssertionError):
    """Something that must hold did not."""


class History:
    """Plays steps on a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.clones = 0
        self.renamed = 0
        self.homes: dict[str, str] = {}  # machine -> the host that it was on before it was moved
        methods = {name.removeprefix("do_"): getattr(self, name) for name in dir(self) if name.startswith("do_")}
        self.acts: dict[str, Callable[[int, int], object]] = methods

    def open(self, opening: int) -> None:
        """How it stands when the history begins: who has a card already, and who waits."""
        if opening == 0:
            return
        lent = {"vm-python": 2 if opening > 1 else 1, **({"vm-r": 2} if opening > 1 else {})}
        for n, (name, count) in enumerate(lent.items()):
            node = self.site.world.inventory.vm(name)
            self.site.hands.power(name, "off")
            for k in range(count):
                self.put_on(node, 2 * (n + k) if self.site.rig == rigs.SHARED else 2 * n + k)
            self.site.hands.power(name, "on")
        self.site.pass_time(60)
        self.site.round()
        for name in lent:
            for slot in self.slots(name):
                self.say(self.owner(self.uuid(name)), f"adopt {slot}")
        if opening > 2:
            kinds = rigs.KINDS[self.site.rig]
            self.say("carol", f"request 1 {kinds[opening % len(kinds)]} on vm-train restart now")
        if opening > 3 and any(x.state in OPEN_LEASE for x in self.site.books.leases.values()):
            label, who = self.lease(opening)
            self.say(who, f"release #{label} now")

    def slots(self, name: str) -> list[str]:
        """What sits on a machine and is lent to nobody, as the books call it."""
        site, uuid = self.site, self.uuid(name)
        sight, held = Sight(site.books, site.store.last_look(), {}), {h.slot for h in site.books.holds}
        return [s for s in sight.slots() if sight.there(s, uuid) and s not in held]

    def play(self, steps: Sequence[Step], opening: int = 0) -> None:
        """All of them, and the rest.

        :raises ValueError: there is no such step: a history without it would look as if nothing could go wrong
        """
        if unknown := {word for word, _, _ in steps} - set(self.acts):
            raise ValueError(f"no such steps: {', '.join(sorted(unknown))}")
        self.open(opening)
        for n, (word, a, b) in enumerate(steps):
            try:
                self.acts[word](a, b)
            except (ValueError, KeyError, Refusal):
                pass  # it cannot be done now
            self.time(15)
            self.judged(f"after step {n} {word} {a} {b}")
        self.rest()
        self.judged("at rest")

    def judged(self, when: str) -> None:
        """Stop at the first violation."""
        if self.site.judge.found:
            raise Violation("\n".join([when, *self.site.judge.found, *self.story()]))

    def story(self) -> list[str]:
        """The end of the journal and the moves, for a failure's message."""
        lines = self.site.world.journal.since(0)[-40:]
        acts = [
            f"{e['virtual'][5:19]} {e['user'].partition('@')[0]} {e['verb']} {e['vm']} {e['details']}" for e in lines
        ]
        books = self.site.books
        moves = [
            f"m{m.number} {self.name_of(m.machine)} {m.state} {m.reason} {[f'{s.at:%H:%M:%S} {s.what}' for s in m.steps]} {m.call}"
            for m in list(books.moves.values())[-3:]
        ]
        leases = [f"#{x.label} {x.state} {x.slots} {x.reason}" for x in books.leases.values()]
        return ["", *acts, *moves, *leases, f"now {self.site.clock.now()} paused {books.paused!r}"]

    # ---- time

    def time(self, seconds: float) -> None:
        """It passes, with rounds in it: close ones while something is under way, few ones else."""
        end = self.site.clock.at + seconds
        for _ in range(MAX_ROUNDS):
            left = end - self.site.clock.at
            if left <= 0:
                return
            self.site.pass_time(min(left, self._pace()))
            self.site.round()

    def _pace(self) -> float:
        moves = self.site.books.moves.values()
        if any(m.state in UNDER_WAY or (m.state in OPEN_MOVE and m.last_call is not None) for m in moves):
            return 30.0
        if any(m.state in OPEN_MOVE for m in moves):
            return 300.0
        return 3600.0

    def do_wait(self, a: int, b: int) -> None:
        """Time passes."""
        self.time(PAUSES[a % len(PAUSES)])

    # ---- people

    def owner(self, uuid: str) -> str:
        """One of those who own a machine."""
        owners = self.site.books.machines[uuid].owners
        return owners[0]

    def say(self, who: str, text: str) -> None:
        """Refused or not."""
        self.site.say(who, text)

    def name_of(self, uuid: str) -> str:
        """As the books call it."""
        machine = self.site.books.machines.get(uuid)
        return machine.name if machine else uuid

    def machine(self, a: int) -> str:
        """Name of a registered machine; rather one that something happens to."""
        books = self.site.books
        busy = sorted({m.machine for m in books.moves.values() if m.state in OPEN_MOVE and m.machine in books.machines})
        if busy and a % 2:
            return self.name_of(busy[a // 2 % len(busy)])
        names = sorted(m.name for m in books.machines.values())
        return names[a % len(names)]

    def uuid(self, name: str) -> str:
        """By the books' name."""
        return next(m.uuid for m in self.site.books.machines.values() if m.name == name)

    def do_request(self, a: int, b: int) -> None:
        """Somebody wants cards."""
        name = self.machine(a)
        count, window, length = (1, 1, 2, 1, 4)[b % 5], WINDOWS[(a + b) % len(WINDOWS)], LENGTHS[b % len(LENGTHS)]
        kinds = rigs.KINDS[self.site.rig]
        kind = kinds[a // 4 % len(kinds)]
        word = WISHES[(a + 3 * b) % len(WISHES)]
        self.say(self.owner(self.uuid(name)), f"request {count} {kind} on {name} {length} {word}".format(window))

    def lease(self, a: int) -> tuple[str, str]:
        """An open lease and its holder; KeyError if there is none."""
        found = sorted((x.label, x.person) for x in self.site.books.leases.values() if x.state in OPEN_LEASE)
        if not found:
            raise KeyError("no lease")
        return found[a % len(found)]

    def do_release(self, a: int, b: int) -> None:
        """Somebody gives back."""
        label, who = self.lease(a)
        self.say(who, f"release #{label} {('now', '', 'now', 'tonight', 'when done')[b % 5]}")

    def do_answer(self, a: int, b: int) -> None:
        """An offer is answered, or a place in line given up."""
        books = self.site.books
        offered = sorted(r.number for r in books.requests.values() if r.state is RequestState.OFFERED)
        queued = sorted(r.number for r in books.requests.values() if r.state is RequestState.QUEUED)
        numbers = offered or queued
        if not numbers:
            return
        request = books.requests[numbers[a % len(numbers)]]
        what = (f"accept #{request.number} now", f"accept #{request.number} now", f"pass #{request.number}", f"accept #{request.number} tonight", f"release #{request.number}")[b % 5]  # fmt: skip
        self.say(request.person, what)

    def do_window(self, a: int, b: int) -> None:
        """An owner agrees to a restart."""
        name = self.machine(a)
        self.say(self.owner(self.uuid(name)), f"window {name} {WINDOWS[b % len(WINDOWS)]}")

    def do_no(self, a: int, b: int) -> None:
        """An owner says no, or takes it back."""
        name = self.machine(a)
        owners = self.site.books.machines[self.uuid(name)].owners
        words = (f"notnow {name}", f"notnow {name} undo", "stop", f"window {name} remove", f"notnow {name}")
        self.say(owners[b % len(owners)], words[b % 5])

    def do_start(self, a: int, b: int) -> None:
        """An owner wants it on."""
        name = self.machine(a)
        self.say(self.owner(self.uuid(name)), f"start {name}")

    def do_longer(self, a: int, b: int) -> None:
        """Extend or keep."""
        label, who = self.lease(a)
        self.say(who, (f"extend #{label} 8h", f"keep #{label}", f"extend #{label} 2d")[b % 3])

    def do_admin(self, a: int, b: int) -> None:
        """dana sees to something."""
        card, name = f"T4-{1 + a % 4}", self.machine(a)
        words = (
            f"drain {card} because of a test", f"undrain {card}", f"force release {card} because of a test",
            f"machine owners {name} @ada @bob", f"machine owners {name} @carol", "pause because of a test", "resume", f"adopt {card}",
            f"letgo {card} now", f"undrain {card}", "resume",
        )  # fmt: skip
        self.say("dana", words[b % len(words)])

    def do_adopt(self, a: int, b: int) -> None:
        """A card that sits on a machine becomes its owner's."""
        name = self.machine(a)
        if slots := self.slots(name):
            self.say(self.owner(self.uuid(name)), f"adopt {slots[b % len(slots)]}")

    # ---- the world

    def vm(self, a: int) -> Node:
        """A machine of the vCenter; rather one that something happens to."""
        uuid = self.uuid(self.machine(a))
        found = self.site.world.inventory.of(vim.VirtualMachine, lambda n: self.site.world.uuid_of(n) == uuid)
        if not found:
            raise KeyError("it is gone")
        return found[0]

    def do_power(self, a: int, b: int) -> None:
        """A user switches it, or the cluster does."""
        node, hands = self.vm(a), self.site.hands
        match b % 6:
            case 0:
                hands.power(node.name, "stop")
            case 1 | 2:
                hands.power(node.name, "on")
            case 3:
                hands.power(node.name, "off")
            case 4:
                self.site.world.power_off(node, VCENTER)
            case _:
                hands.power(node.name, "shutdown")

    def do_device(self, a: int, b: int) -> None:
        """An admin puts a card on or takes one off, by hand."""
        node, mine = self.vm(a), self.cards(self.vm(a))
        if mine and b % 3 == 0:
            self.site.hands.detach(node.name, mine[0])
        else:
            self.put_on(node, b)

    def put_on(self, node: Node, n: int) -> None:
        """By hand: a card that no machine of its host names, or what names no card."""
        self.site.read_journal()
        cards, hands = self.site.world.metal_of(node).cards, self.site.hands
        card = cards[n % len(cards)]
        if card.offers:
            hands.attach_vgpu(node.name, ("grid_t4-8q", "grid_t4-4q")[n % 2])
        elif card.label:
            hands.attach_dynamic(node.name, card.label)
        elif card.pci.id not in self.taken(node):
            hands.attach(node.name, card.pci.id)
        self.site.read_journal()

    def taken(self, node: Node) -> set[str]:
        """Cards that the settings of machines on its host name."""
        here = self.site.world.host_of(node)
        nodes = self.site.world.inventory.of(vim.VirtualMachine, lambda n: self.site.world.host_of(n) is here)
        return {card for n in nodes for card in self.cards(n)}

    def cards(self, node: Node) -> list[str]:
        """In its settings."""
        return list(self.site.judge.settings.get(self.site.world.uuid_of(node), ()))

    def do_life(self, a: int, b: int) -> None:
        """A machine is renamed, registered anew, cloned, made a template, deleted."""
        node, hands = self.vm(a), self.site.hands
        match b % 8:
            case 0 | 1:
                hands.reregister(node.name)
            case 2:
                self.renamed += 1
                hands.rename(node.name, f"{node.name.partition('~')[0]}~{self.renamed}")
            case 3 | 4:
                self.clones += 1
                hands.clone(node.name, f"copy-{self.clones}")
            case 5:
                config = node.props["config"]
                hands.template(node.name, not (config is not None and config.template))
            case 6:
                hands.unregister(node.name)
            case _:
                hands.destroy(node.name)

    def do_back(self, a: int, b: int) -> None:
        """A machine that was unregistered is registered again; a copy is deleted or started."""
        hands = self.site.hands
        if hands.shelf and b % 2 == 0:
            hands.register(sorted(hands.shelf)[0])
            return
        copies = [n for n in self.site.world.inventory.of(vim.VirtualMachine) if n.name.startswith("copy-")]
        if copies:
            copy = copies[a % len(copies)]
            if b % 3:
                hands.destroy(copy.name)
            else:
                hands.power(copy.name, "on")

    def do_state(self, a: int, b: int) -> None:
        """Something is odd about a machine for a while."""
        node, hands = self.vm(a), self.site.hands
        match b % 6:
            case 0:
                hands.power(node.name, "suspend")
            case 1:
                asked = node.props["runtime"].question is not None
                hands.question(node.name, None if asked else "did you move it or copy it?")
            case 2:
                hands.inaccessible(node.name, node.props["config"] is not None)
            case 3 | 4:
                self.busy(node, (20, 120, 900)[a % 3])
            case _:
                self.site.silent ^= {node.name}

    def busy(self, node: Node, seconds: float) -> None:
        """A foreign task holds it."""
        busy, moid = self.site.world.tasks.busy, node.moid
        if moid in busy:
            return
        task = self.site.world.inventory.number()
        busy[moid] = f"task-{task}"
        self.site.world.timers.after(seconds, lambda: busy.pop(moid, None))

    def do_host(self, a: int, b: int) -> None:
        """Maintenance, a lost connection, a crash; or all is well again."""
        hands = self.site.hands
        match b % 6:
            case 0:
                hands.host(maintenance=True)
            case 1:
                hands.host(connection="disconnected")
            case 2:
                hands.host(connection="notResponding")
            case 3:
                hands.host(reboot=True)
            case _:
                hands.host(maintenance=False, connection="connected")

    def do_renumber(self, a: int, b: int) -> None:
        """A host is restarted with cards at other addresses; or an admin says which card is which, where that is asked."""
        if self.riddles() and b % 2:
            self.which_is_which(b % 8 == 7)
            return
        world = self.site.world
        nodes = world.inventory.of(vim.HostSystem)
        node = nodes[a % len(nodes)]
        cards = world.metals[node.moid].cards
        ids = [c.pci.id for c in cards]
        alike = [c.pci.id for c in cards if (c.label, c.wants_shared) == (cards[0].label, cards[0].wants_shared)]
        match b % 6:
            case 0 | 1 | 2:
                moved = {i: bus(i, 1) for i in ids}
            case 3:
                moved = {i: bus(i, -1) for i in ids}
            case 4:  # something was put in before them: each is where the next one was
                moved = dict(zip(alike, [*alike[1:], bus(alike[-1], 1)], strict=True))
            case _:
                moved = {alike[a // 2 % len(alike)]: bus(alike[-1], 1)}
        self.site.hands.host(node.name, renumber=moved)
        self.site.read_journal()

    def riddles(self) -> list[Riddle]:
        """What the bot cannot know: which card is which."""
        seen, cards = self.site.store.last_look(), list(self.site.books.cards.values())
        hosts = seen.hosts if seen is not None else ()
        return [r for h in hosts for r in renumbered.riddles(cards, h, self.site.policy.kinds)]

    def which_is_which(self, others: bool = False) -> None:
        """dana says it."""
        for host in sorted({r.host for r in self.riddles()}):
            self.say("dana", f"renumber {host}{' new' if others else ''}")
        for riddle in self.riddles():  # not as many: one by one
            for card, seen in zip(riddle.lost, riddle.new, strict=False):
                self.say("dana", f"renumber {card.name} {seen.pci}")

    def do_migrate(self, a: int, b: int) -> None:
        """An admin moves a machine that is off to another host; sometimes it is put off for that, and on again there."""
        node, hands, world = self.vm(a), self.site.hands, self.site.world
        hosts = [n.name for n in world.inventory.of(vim.HostSystem) if n is not world.host_of(node)]
        if not hosts:
            return
        if b % 3 and node.props["runtime"].powerState == "poweredOn":
            hands.power(node.name, "off")
        home = world.host_of(node).name
        hands.migrate(node.name, hosts[a % len(hosts)])
        self.homes.setdefault(world.uuid_of(node), home)
        self.site.read_journal()
        if b % 3 == 2:
            hands.power(node.name, "on")

    def do_card(self, a: int, b: int) -> None:
        """A card breaks, or is well again; passthrough is switched off."""
        cards = self.site.world.metal.cards
        card = cards[a % len(cards)]
        if b % 4 == 0 and not card.wants_shared:
            self.site.hands.card(card.pci.id, enabled=b % 8 == 0)
        else:
            self.site.hands.card(card.pci.id, fault="xid 79" if b % 4 == 1 else None)

    def do_guest(self, a: int, b: int) -> None:
        """The inside of a machine: it works, hangs, does not see its cards."""
        guest = self.site.world.guest_of(self.vm(a))
        match b % 8:
            case 0 | 1:
                guest.start_job("ada", "python train.py", True, None, None)
            case 2:
                guest.stop_job()
            case 3:
                guest.configure(hang=not guest.habits.hang)
            case 4:
                guest.configure(shutdown_s=(30.0, 240.0, 3000.0, 9000.0)[a % 4])
            case 5:
                guest.configure(driver_broken=not guest.habits.driver_broken)
            case 6:
                guest.configure(no_tools=not guest.habits.no_tools)
            case _:
                guest.configure(boot_s=(40.0, 1500.0)[a % 2])

    # ---- faults

    def model(self) -> ModelLab | None:
        """The lab, if it is the one on the model."""
        inner = self.site.lab.inner
        return inner if isinstance(inner, ModelLab) else None

    def do_fault(self, a: int, b: int) -> None:
        """The next calls go wrong."""
        kind = ("before", "after", "refused", "strange", "after")[a % 5]
        self.site.lab.faults = [kind] * (1 + b % 3)

    def do_refuse(self, a: int, b: int) -> None:
        """vCenter refuses the next starts or changes of a machine."""
        reason = ("the licence does not allow it", f"Device {FOUR_T4[b % 4].pci} is not a passthrough device.")[a % 2]
        verb = ("power on", "reconfigure", "power on")[b % 3]
        self.site.world.refusals.append(Planned(self.vm(a).name, verb, reason, times=1 + b % 4))

    def do_silent(self, a: int, b: int) -> None:
        """A call is accepted, and nothing comes of it."""
        if (lab := self.model()) is not None:
            lab.odd_for, lab.silent = ODD_FOR[b % len(ODD_FOR)], 1 + a % 2

    def do_late(self, a: int, b: int) -> None:
        """A call is lost on its way, and carried out later."""
        if (lab := self.model()) is not None:
            lab.odd_for, lab.late_s = ODD_FOR[b % len(ODD_FOR)], (5.0, 40.0, 200.0)[a % 3]

    def do_half(self, a: int, b: int) -> None:
        """A page of the next looks is missing."""
        if (lab := self.model()) is not None:
            lab.half = 1 + a % 8

    def do_race(self, a: int, b: int) -> None:
        """Somebody is faster, between our next read and its call."""
        lab = self.model()
        if lab is None:
            self.site.world.conflicts[self.vm(a).name] = 1 + b % 3
        else:
            lab.between = lambda node: self.race(node, a)

    def race(self, node: Node, a: int) -> None:
        """An admin or a user is faster."""
        hands, mine = self.site.hands, self.cards(node)
        try:
            match a % 4:
                case 0 if mine:  # swapped: the new card gets the old one's key
                    hands.detach(node.name, mine[0])
                    self.put_on_another(node, mine)
                case 1:
                    hands.power(node.name, "on")
                case 2:
                    self.put_on(node, a // 4)
                case _ if mine:
                    hands.detach(node.name, mine[0])
        except (Refusal, ValueError):
            pass
        self.site.read_journal()

    def put_on_another(self, node: Node, had: list[str]) -> None:
        """By hand: any card but those."""
        for n in range(len(self.site.world.metal_of(node).cards)):
            card = self.site.world.metal_of(node).cards[n]
            if card.pci.id not in had:
                self.put_on(node, n)
                if len(self.cards(node)) >= len(had):
                    return

    def do_away(self, a: int, b: int) -> None:
        """vCenter does not answer, or does again."""
        lab, server = self.model(), self.site.server
        if lab is not None:
            lab.away = not lab.away
        elif server is not None:
            server.reach.set(("drop", "503")[a % 2] if server.reach.how == "up" else "up")

    def do_lag(self, a: int, b: int) -> None:
        """Cards stay bound for a while after their machine went off."""
        object.__setattr__(self.site.world.settings, "release_lag_s", (0.0, 20.0, 90.0)[a % 3])

    def do_kill(self, a: int, b: int) -> None:
        """The bot dies: now, with a call written and not made, in the middle of a look, before or after a call, after a post."""
        site = self.site
        match a % 6:
            case 0:
                site.restart((0, 30, 600, 3600, 4 * 3600)[b % 5])
            case 1:
                site.guests()
                with site.mortal():
                    site.rounds.round()
                site.restart((0, 30, 600)[b % 3])
            case 2:
                site.voice.kill = True
            case n:
                site.lab.kill = ("look", "act before", "act after")[n - 3]

    # ---- the end

    def mend(self) -> None:
        """Faults are over, foreign hands let go, everybody is there."""
        site, hands, world = self.site, self.site.hands, self.site.world
        site.lab.faults, site.lab.kill, site.voice.kill = [], "", False
        lab = self.model()
        if lab is not None:
            lab.away, lab.half, lab.silent, lab.between, lab.late_s = False, 0, 0, None, 0.0
        if site.server is not None:
            site.server.reach.set("up")
        world.refusals.clear()
        world.conflicts.clear()
        world.tasks.busy.clear()
        object.__setattr__(world.settings, "release_lag_s", 0.0)
        for node in world.inventory.of(vim.HostSystem):
            hands.host(node.name, maintenance=False, connection="connected")
            for card in world.metals[node.moid].cards:
                hands.card(card.pci.id, node.name, fault=None)
                if not card.wants_shared:
                    hands.card(card.pci.id, node.name, enabled=True)
                    card.active = True
            world.metals[node.moid].render(node)
            world.tell_bindings(node)
        for name in sorted(hands.shelf):
            hands.register(name)
        for node in world.inventory.of(vim.VirtualMachine):
            self.mend_machine(node)
        site.silent.clear()
        site.say("dana", "resume")

    def mend_machine(self, node: Node) -> None:
        """It is as a machine should be; copies are deleted."""
        hands = self.site.hands
        if node.name.startswith("copy-"):
            hands.destroy(node.name)
            return
        if node.props["config"] is None:
            hands.inaccessible(node.name, False)
        if node.props["runtime"].question is not None:
            hands.question(node.name, None)
        if node.props["config"].template and self.site.world.uuid_of(node) in self.site.books.machines:
            hands.template(node.name, False)
        runtime = node.props["runtime"]
        if runtime.powerState == "suspended":
            runtime.powerState, runtime.suspendTime = "poweredOff", None
            self.site.world.journal.add(ADMIN_USER, "power off", self.site.world.tag(node), clean=False)
        guest = self.site.world.guest_of(node)
        home = self.homes.get(self.site.world.uuid_of(node), "")
        if home and self.site.world.host_of(node).name != home:
            self.bring_home(node, home)
        if node.props["runtime"].powerState == "poweredOff":
            self.without_dead(node)
        guest.configure(hang=False, shutdown_s=30.0, driver_broken=False, no_tools=False, boot_s=40.0)

    def bring_home(self, node: Node, home: str) -> None:
        """An admin moves it back to where its cards are: elsewhere it could not be started with them, and what is lent to it waits."""
        hands, ran = self.site.hands, node.props["runtime"].powerState == "poweredOn"
        if ran:
            hands.power(node.name, "off")
        hands.migrate(node.name, home)
        self.without_foreign(node.name)
        self.site.read_journal()
        if ran:
            hands.power(node.name, "on")

    def without_dead(self, node: Node) -> None:
        """An admin takes off what somebody put in by hand and what its host has at another address by now: no start would take it."""
        there = {card.pci.id for card in self.site.world.metal_of(node).cards} | self.lent(node)
        self.site.read_journal()
        for device in [one for one in self.cards(node) if not unplaced(one) and one not in there]:
            self.site.hands.detach(node.name, device)

    def lent(self, node: Node) -> set[str]:
        """Addresses, also former ones, of what is lent to it."""
        uuid, books = self.site.world.uuid_of(node), self.site.books
        leases = [x for x in books.leases.values() if x.machine == uuid and x.state in OPEN_LEASE]
        cards = [books.card(slot) for lease in leases for slot in lease.slots]
        return {address for card in cards for address in (card.pci, *card.was)}

    def without_foreign(self, name: str) -> None:
        """An admin takes off what was put in on another host: it names no card of this one, and no start would take it."""
        world = self.site.world
        node = next(n for n in world.inventory.of(vim.VirtualMachine) if n.name == name)
        system, lent = world.metal_of(node).system_id, self.lent(node)
        for device in list(node.props["config"].hardware.device):
            backing = getattr(device, "backing", None)
            if getattr(backing, "systemId", None) not in (None, "", system) and backing.id not in lent:
                self.site.hands.detach(name, backing.id)

    def rest(self) -> None:
        """Time until nothing changes any more."""
        self.site.read_journal()
        self.mend()
        calm, end = 0, self.site.clock.at + 30 * 3600
        while calm < 3:
            before = self.mark()
            pace = self._pace()
            self.site.pass_time(pace if pace < 300 else 600)
            self.site.round()
            self.which_is_which()
            moves = self.site.books.moves.values()
            under_way = any(m.state in UNDER_WAY or m.state is MoveState.STUCK for m in moves)
            tells = (
                bool(self.site.store.pending()) and not self.site.voice.errors
            )  # what the last round wrote goes out in the next
            calm = calm + 1 if not under_way and not tells and self.mark() == before else 0
            if self.site.clock.at > end:
                raise Violation("\n".join(["it does not come to rest", *self.story()]))
        self.judge_rest()

    def mark(self) -> tuple[object, ...]:
        """What changes when something changes."""
        books = self.site.books
        return (
            self.site.judge.by_us,
            tuple(sorted((m.number, m.state) for m in books.moves.values())),
            tuple(sorted((x.label, x.state) for x in books.leases.values())),
        )

    def judge_rest(self) -> None:
        """What must hold now."""
        world, site = self.site.world, self.site
        nodes = world.inventory.of(vim.VirtualMachine)
        on = {world.uuid_of(n): n.props["runtime"].powerState == "poweredOn" for n in nodes}
        over = {
            int(line.about.lstrip("#"))
            for line in site.store.ledger(limit=5000)
            if line.what in OVER and line.about.lstrip("#").isdigit()
        }
        site.judge.rest(site.books, on, over)
        if site.store.pending() and not site.voice.errors:
            site.judge.found.append("messages wait at rest")


WEIGHTS = {
    "wait": 14, "request": 10, "release": 12, "answer": 5, "window": 8, "no": 3, "start": 1, "longer": 1, "admin": 2, "adopt": 1,
    "power": 4, "device": 2, "life": 2, "back": 2, "state": 2, "host": 1, "renumber": 1, "migrate": 2, "card": 1, "guest": 3,
    "fault": 5, "refuse": 2, "silent": 1, "late": 1, "half": 1, "race": 3, "away": 1, "lag": 1, "kill": 6,
}  # fmt: skip
"""The words of steps, and how often each comes."""

WORDS = tuple(WEIGHTS)

DRAWN = tuple(word for word, n in WEIGHTS.items() for _ in range(n))
"""For a strategy that draws them evenly; the first is the simplest."""
