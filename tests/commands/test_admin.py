"""Admins' verbs: machines, tokens, cards aside, force, pause; and cards that sat there before the bot."""

import hashlib
from datetime import timedelta

import pytest

from bot.domain.model import AsideWhy, LeaseState, Power, Reading, SeenMachine
from tests.fakes import text_of, uuid
from tests.house import House

NAMES = ("vm-r", "vm-train", "vm-python", "vm-spare")


def test_a_machine_is_found_by_name_in_the_last_look(house: House) -> None:
    reply = house.say("dana", "machine add VM-Spare owners @bob, <@U1ADA>")
    assert reply.ok, text_of(reply)
    machine = house.books.machines[uuid("vm-spare")]
    assert (machine.name, machine.owners) == ("vm-spare", ("U2BOB", "U1ADA"))


def test_the_button_that_makes_a_token_asks_first(house: House) -> None:
    """The message may be old, and the machine's agent run with a token that would be void."""
    reply = house.say("dana", "machine add vm-spare owners @bob")
    (button,) = (b for b in reply.buttons if b.says.startswith("machine token"))
    assert "void" in button.confirm


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("machine add vm-spar owners @bob", "vm-spare"),
        ("machine add nothing-like-it owners @bob", "vm-r"),
        ("machine add vm-spare owners @nobody", "nobody"),
        ("machine add vm-spare owners", "owners @bob"),
        ("machine add vm-spare", "owners @bob"),
        ("machine add", "owners @bob"),
        ("machine add vm-r owners @bob", "already"),
        ("machine owners vm-nowhere @bob", "vm-nowhere"),
        ("machine owners vm-r", "machine owners"),
        ("machine owners", "machine owners"),
        ("machine remove vm-nowhere", "vm-nowhere"),
        ("machine remove", "machine remove"),
        ("machine token vm-nowhere", "vm-nowhere"),
        ("machine token", "machine token"),
        ("drain T4-1", "because"),
        ("drain T4-9 because loud", "T4-1"),
        ("drain", "drain T4-2"),
        ("undrain T4-1", "already"),
        ("force release T4-1 because x", "nobody has T4-1"),
        ("force release #9 because x", "#9"),
        ("force release", "force release"),
        ("adopt T4-1", "do not see T4-1 on"),
        ("resume", "already"),
    ],
)
def test_what_cannot_be_is_answered_and_changes_nothing(house: House, text: str, says: str) -> None:
    before, lines = house.books, house.store.ledger()
    reply = house.say("dana", text)
    assert not reply.ok, text_of(reply)
    assert says.lower() in text_of(reply).lower()
    assert (house.books, house.store.ledger()) == (before, lines)


def test_two_machines_of_one_name_are_not_guessed(house: House) -> None:
    seen = house.lab.look()
    twin = SeenMachine("other", "uuid-twin", "vm-spare", "host-9", seen.machines[0].power)
    house.store.keep_look(type(seen)(seen.at, seen.complete, seen.hosts, (*seen.machines, twin)))
    reply = house.say("dana", "machine add vm-spare owners @bob")
    assert not reply.ok
    assert "in lab" in text_of(reply) and "in other" in text_of(reply)


@pytest.mark.parametrize("name", ["my vm", '"my vm"', "“My VM”"])
def test_a_name_may_have_blanks(house: House, name: str) -> None:
    house.lab.names[uuid("vm-spare")] = "my vm"
    house.store.keep_look(house.lab.look())
    assert house.say("dana", f"machine add {name} owners @bob").ok
    assert house.say("dana", f"machine owners {name} @ada and @bob").ok
    assert house.books.machines[uuid("vm-spare")].owners == ("U1ADA", "U2BOB")
    assert house.say("ada", "request 1 on my vm").ok
    assert house.say("dana", f"machine token {name}").ok
    assert house.say("ada", "release").ok
    assert house.say("dana", f"machine remove {name}").ok


def test_owners_are_replaced_and_a_machine_is_forgotten(house: House) -> None:
    assert house.say("dana", "machine owners vm-r @carol @carol").ok
    assert house.books.machines[uuid("vm-r")].owners == ("U3CAROL",)
    assert house.say("dana", "machine remove vm-r").ok
    assert uuid("vm-r") not in house.books.machines


def test_a_machine_with_something_open_is_not_forgotten(house: House) -> None:
    house.say("bob", "request 1")
    reply = house.say("dana", "machine remove vm-r")
    assert not reply.ok and "#1" in text_of(reply)


def test_machines_are_listed(house: House) -> None:
    text = text_of(house.say("dana", "machine list"))
    for name in ("vm-python", "vm-r", "vm-train"):
        assert name in text
    assert house.say("dana", "machine") == house.say("dana", "machines")


def test_the_list_says_when_each_guest_was_last_heard(house: House) -> None:
    now = house.clock.now()
    for name, ago, inside in (
        ("vm-r", timedelta(seconds=30), True),
        ("vm-train", timedelta(minutes=40), True),
        ("vm-python", timedelta(seconds=10), False),
    ):
        house.guest(name, Reading(uuid(name), now - ago, "b", 1, False, 0, inside=inside))
    assert house.say("dana", "machine add vm-spare owners @bob").ok
    lines = text_of(house.say("dana", "machine list")).splitlines()
    ends = {name: next(line for line in lines if name in line).partition(": ")[2] for name in NAMES}
    assert ends["vm-r"] == "heard 30 s ago"
    assert ends["vm-train"].startswith("not heard since ")
    assert ends["vm-python"] == "heard 10 s ago, through its exporter"
    assert ends["vm-spare"] == "never heard"


def test_a_token_is_shown_once_and_kept_as_its_digest(house: House) -> None:
    first, second = (_token(house) for _ in range(2))
    assert first != second and len(first) >= 32
    assert house.store.machine_of_token(hashlib.sha256(second.encode()).hexdigest()) == uuid("vm-r")
    assert house.store.machine_of_token(hashlib.sha256(first.encode()).hexdigest()) is None, "the old one is void"
    kept = "".join(path.read_bytes().decode("latin-1") for path in house.path.glob("gpubot.db*"))
    assert first not in kept and second not in kept


def _token(house: House) -> str:
    reply = house.say("dana", "machine token vm-r")
    assert reply.ok
    words = [getattr(span, "text", "") for line in reply.lines for span in line if not isinstance(span, str)]
    return max(words, key=len)


# ---- cards aside


def test_drain_and_undrain(house: House) -> None:
    assert house.say("dana", "drain T4-1 T4-2 because the fan is loud").ok
    asides = {name: card.aside for name, card in house.books.cards.items() if card.aside}
    assert {name: (a.why, a.reason, a.by) for name, a in asides.items()} == dict.fromkeys(
        ("T4-1", "T4-2"), (AsideWhy.DRAINED, "the fan is loud", "U4DANA")
    )
    assert house.say("dana", "undrain T4-1").ok
    assert house.books.cards["T4-1"].aside is None


def test_a_drained_card_is_shown_and_not_given(house: House) -> None:
    for n in (1, 2, 3, 4):
        house.say("dana", f"drain T4-{n} because loud")
    house.say("bob", "request 1 restart now")
    house.forward(10)
    assert house.books.leases == {}
    assert text_of(house.say("bob", "")).count("loud") == 4


# ---- force


def test_force_release_needs_a_reason_and_is_public(house: House) -> None:
    house.lend("vm-python", "T4-1")
    reply = house.say("dana", "force release #1")
    assert not reply.ok and "because" in text_of(reply)
    assert house.lease("1").state is LeaseState.ACTIVE
    assert house.say("dana", "force release T4-1 because the demo needs it").ok
    lease = house.lease("1")
    assert (lease.state, lease.reason, lease.ended_by) == (LeaseState.RETURNING, "the demo needs it", "U4DANA")
    house.forward(60, 5)
    assert house.lab.calls == [], "it names no window"
    assert any("the demo needs it" in text for text in house.voice.said_to("U1ADA"))


def test_force_release_of_a_card_takes_that_card_alone(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3")
    reply = house.say("dana", "force release T4-2 because the demo needs it")
    assert reply.ok and text_of(reply).startswith("T4-2 in vm-python goes back from ")
    assert "keeps T4-1 and T4-3" in text_of(reply)
    assert {x.label: (x.state, x.slots) for x in house.books.leases.values()} == {
        "1": (LeaseState.ACTIVE, ("T4-1", "T4-3")),
        "1b": (LeaseState.RETURNING, ("T4-2",)),
    }
    assert house.lease("1b").ended_by == "U4DANA"
    assert house.say("dana", "force release T4-1 T4-3 because that, too").ok
    assert house.lease("1").state is LeaseState.RETURNING


def test_force_release_of_a_number_takes_all_of_it(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    assert house.say("dana", "force release #1 because the demo needs it").ok
    assert (house.lease("1").state, house.lease("1").slots) == (LeaseState.RETURNING, ("T4-1", "T4-2"))


def test_force_release_takes_no_part_of_what_does_not_work_yet_and_drops_no_word(house: House) -> None:
    house.say("bob", "request 2 restart tonight")
    house.round()
    before = house.books
    for text, says in (("T4-1", "force release #1"), ("#1 T4-1", "say it once"), ("#1 #2", "#2")):
        reply = house.say("dana", f"force release {text} because x")
        assert not reply.ok and says in text_of(reply), text_of(reply)
    house.lend("vm-python", "T4-3")
    before = house.books
    assert "say it once" in text_of(house.say("dana", "force release T4-1 T4-3 because x"))
    assert house.books == before


def test_the_reason_is_asked_for_with_what_was_named(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    assert "force release T4-2 because" in text_of(house.say("dana", "force release T4-2"))


def test_what_an_admin_took_back_is_not_called_given_back(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.say("dana", "force release T4-1 because the demo needs it")
    house.say("ada", "release T4-2")
    mine = text_of(house.say("ada", "mine"))
    assert "#1b T4-1 in vm-python, taken back by U4DANA: the demo needs it, comes out" in mine.replace("`", ""), mine
    assert "#1 T4-2 in vm-python, given back, comes out" in mine.replace("`", ""), mine
    assert "taken back by U4DANA" in text_of(house.say("bob", ""))


# ---- cards that sat there


def test_a_card_that_sits_there_is_adopted_by_its_machines_owner(house: House) -> None:
    lease = house.lend("vm-python", "T4-1", "T4-2", until="until fri 18:00")
    assert (lease.person, lease.slots, lease.state) == ("U1ADA", ("T4-1", "T4-2"), LeaseState.ACTIVE)
    assert lease.end is not None and lease.end.isoformat() == "2026-03-20T17:00:00+00:00"
    assert house.lab.calls == []


def test_an_admin_adopts_for_the_owner(house: House) -> None:
    house.lab.vms[uuid("vm-python")].cards = [house.books.cards["T4-1"].pci]
    house.store.keep_look(house.lab.look())
    assert "not yours" in text_of(house.say("bob", "adopt T4-1"))
    assert house.say("dana", "adopt T4-1").ok
    assert house.lease("1").person == "U1ADA"


def test_with_several_owners_an_admin_says_for_whom(house: House) -> None:
    house.say("dana", "machine owners vm-python @ada @carol")
    house.lab.vms[uuid("vm-python")].cards = [house.books.cards["T4-1"].pci]
    house.store.keep_look(house.lab.look())
    reply = house.say("dana", "adopt T4-1")
    assert not reply.ok and "@carol" in text_of(reply)
    assert house.say("dana", "adopt T4-1 @carol").ok
    assert house.lease("1").person == "U3CAROL"


def test_let_go_gives_it_a_number_and_back(house: House) -> None:
    house.lab.vms[uuid("vm-python")].cards = [house.books.cards["T4-1"].pci]
    house.store.keep_look(house.lab.look())
    reply = house.say("ada", "letgo T4-1 now")
    assert reply.ok, text_of(reply)
    house.forward(60, 0.5)
    assert house.card_of("vm-python") == []
    assert house.lease("1").state is LeaseState.ENDED


# ---- pause


def test_pause_says_that_also_a_machine_that_is_off_waits(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        house.forward(0.5, 0.5)
    text = text_of(house.say("dana", "pause because patching"))
    assert "vm-r" in text and "off" in text, "a machine that we put off is not started before resume: that is said"
    assert house.say("dana", "resume").ok


def test_pause_and_resume(house: House) -> None:
    reply = house.say("dana", "pause because patching")
    assert reply.ok and "patching" in text_of(reply)
    assert "patching" in house.books.paused
    assert "Paused" in text_of(house.say("bob", ""))
    assert house.say("dana", "resume").ok
    assert house.books.paused == ""


def test_done_without_anything_stuck_says_so(house: House) -> None:
    """``done`` is for a machine that could not be started; there is none."""
    reply = house.say("dana", "done")
    assert not reply.ok and "no machine waits" in text_of(reply)
    assert not house.say("bob", "done m1").ok
