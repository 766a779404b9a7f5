"""News of what guests say about their cards, besides that they are quiet: not seen, broken, another card, two speakers, left otherwise."""

from __future__ import annotations

from bot.domain.leases import keep_offered
from bot.service.ports import Code, LineOf, Reply, When
from bot.service.words.common import (
    MINE,
    Part,
    because,
    button,
    command,
    count_of,
    head,
    ln,
    said,
    say,
    typeable,
    why_tail,
)
from bot.service.words.levels import watching
from bot.service.words.news_idle import give_back
from bot.service.words.telling import Telling


def _lent(t: Telling) -> LineOf | None:
    return ln("Lent to ", t.holder, ".") if t.person else None


def cannot_see(t: Telling) -> Reply:
    """Nothing is seen of a lent card: to its holder once, later to the admins."""
    since: list[Part] = [" since ", When(t.item.until)] if t.item.until is not None else []
    them = "them" if t.many else "it"
    if t.public:
        return say(
            head(t.cards, f" in {t.vm}: nothing is seen of {them} from inside", since, "."),
            _lent(t),
            ln("I cannot tell whether anything works there, so nothing is asked and nothing taken back."),
            ln("Its agent may be stopped, or cannot reach me. A new token: ", command(t.policy, f"machine token{typeable(t.machine) or ' MACHINE'}"), ".")
            if t.machine is not None
            else None,
        )  # fmt: skip
    return say(
        head(f"I cannot see {'your cards' if t.many else 'your card'} ", t.cards, f" in {t.vm}", since, "."),
        _spoken(t)
        or ln(
            f"That is no reproach: perhaps you work on {them}. But the agent in {t.vm} is silent or does not see {them}. Please look: ",
            Code("systemctl status gpubot-agent"),
            ".",
        ),
        ln("Nothing happens to your card by that. If it lasts a day, the admins hear it too.")
        if not t.many
        else ln("Nothing happens to your cards by that. If it lasts a day, the admins hear it too."),
        buttons=(MINE, give_back(t, f"Give {them} back")),
    )


def _spoken(t: Telling) -> LineOf | None:
    """What an agent that speaks says of the driver, or why its word is not believed; None: it is silent, or nobody knows."""
    word = t.item.inside
    if word is None or abs(t.now - word.at) > t.policy.reading_stale:
        return None
    driver = _NO_DRIVER.get(word.no_driver, "").format(vm=t.vm)
    why = driver or t.item.reason  # which may hold words of the guest
    return ln("Its agent speaks, but ", said(why, 160), ".") if why and not why.startswith(SILENT) else None


SILENT = "no word"
"""How the reason begins if nothing at all was heard."""

_NO_DRIVER = {
    "mismatch": "the driver was updated while it ran: a restart of {vm} mends that",
    "not loaded": "the driver is not loaded in {vm}: a restart, or an installation anew, may mend that",
    "no library": "no driver is installed in {vm}",
}


def guest_fault(t: Telling) -> Reply:
    """A lent card is broken inside, or the driver there: that its owners hear too."""
    word = t.item.inside
    no_driver = word.no_driver if word is not None else ""
    if no_driver and not t.public:
        return _no_driver(t, no_driver)
    return say(
        head(
            t.cards,
            f" in {t.vm}: the guest says that something is out of order",
            why_tail(t.item.reason),
        ),
        _lent(t),
        ln(f"A driver that was updated while it ran works again after a restart of {t.vm}. Its owners are told.")
        if no_driver == "mismatch"
        else ln("Its owners are told.")
        if no_driver
        else None,
        ln("Nothing is asked of the holder about it, and nothing was touched."),
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )


def _no_driver(t: Telling, no_driver: str) -> Reply:
    """To an owner: the driver does not work any more, and only whoever may restart the guest mends it."""
    new = f"What has {'them' if t.many else 'it'} open may go on; nothing new can use {'them' if t.many else 'it'}."
    return say(
        head(t.cards, f" in {t.vm}", why_tail(t.item.reason)),
        ln(new) if no_driver == "mismatch" else None,
        ln("A restart of the guest mends it, when it suits you: ", Code("sudo reboot"), f" in {t.vm}. I do not restart it for that.")
        if no_driver == "mismatch"
        else ln("Often a new kernel came without the driver's module: install the driver anew there, or restart the guest; ", Code("nvidia-smi"), " tells when it works."),
        _lent(t),
        ln("Until then I cannot see what is done there, so nothing is asked and nothing taken back."),
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )  # fmt: skip


def other_card(t: Telling) -> Reply:
    """A guest names another card than the one that is known."""
    return say(
        head(f"{t.vm} sees another card than I know", " as " if t.slots else "", t.cards if t.slots else "", why_tail(t.item.reason)),
        _lent(t),
        ln("Was it exchanged in the host, or does another machine speak here (a clone)? Nothing was changed; what it reports is not counted for that card."),
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )  # fmt: skip


def two_speakers(t: Telling) -> Reply:
    """Two guests speak with one machine's token."""
    token = typeable(t.machine)
    return say(
        head(f"Two machines speak to me as {t.vm}. I believe neither until that is over."),
        because(t.item.reason, "What I saw: "),
        ln(f"Most likely a copy of {t.vm} took its token along. Nothing about cards or running work there counts meanwhile."),
        ln("An admin ends it with a new token for the right one: ", command(t.policy, f"machine token{token or ' MACHINE'}"), ". The old one stops at once."),
    )  # fmt: skip


def left_so(t: Telling) -> Reply:
    """A card came from its last holder otherwise than it should be."""
    return say(
        head(t.cards, f" in {t.vm} {'are' if t.many else 'is'} not as {'they' if t.many else 'it'} should be", why_tail(t.item.reason)),
        ln("So it was left by ", t.other, ".") if t.other_known else None,
        ln("Now lent to ", t.holder, ". Nothing was changed; somebody who may in that machine can set it right.") if t.person else None,
        buttons=(button("What do you know?", f"why {t.slots[0]}"),) if t.slots else (),
    )  # fmt: skip


def done_inside(t: Telling) -> Reply:
    """``gpu done`` was said in the guest."""
    by: list[Part] = [" (said there by ", said(t.item.reason, 40), ")"] if t.item.reason.strip() else []
    goes = f"{'go' if t.many else 'goes'} back when nothing runs there any more"
    keeps = (
        t.ref != "" and t.lease is not None and keep_offered(t.books, t.books.leases.get(t.lease.label, t.lease), t.now)
    )
    if not t.to_holder:
        return say(head(t.cards, f" {goes}: gpu done in {t.vm}", by, "."), _lent(t))
    return say(
        head(t.cards, f" {goes}: gpu done in {t.vm}", by, "."),
        watching(t.policy) or ln(f"{t.vm} then restarts once ({t.usual}). I say so before."),
        ln("Not what you meant? Then keep ", "them" if t.many else "it", ".") if keeps else None,
        buttons=(
            button("Keep them after all" if t.many else "Keep it after all", f"keep{t.ref}") if keeps else None,
            MINE,
        ),
    )


def nudge_evidence(t: Telling) -> Reply:
    """What would have been asked in the last working days, and the line that switches the questions on."""
    counts = dict(t.item.counts)
    would = next((counts[name] for name in ("would nudge", "would", "asked", "nudges") if name in counts), 0)
    wrong = counts.get("busy again", counts.get("wrong"))
    days = counts.get("days", t.policy.idle.evidence_days)
    times = "once" if would == 1 else f"{would} times"
    return say(
        head(f"In {count_of(days, 'working day')} I would have asked {times} about quiet cards. Shall I?"),
        ln(f"{wrong} of them were busy again soon after: these questions would have been wrong.") if wrong is not None and would else None,
        ln("Nobody was asked anything: questions are off. On, with these lines in gpubot.toml and a restart of the bot: ", Code("[idle]"), " and below it ", Code("nudge = true"), "."),
        ln("Then holders are asked, first after ", _hours(t), " of quiet while somebody waits. Nothing is taken back by that alone."),
    )  # fmt: skip


def _hours(t: Telling) -> str:
    minutes = int(t.policy.idle.first.total_seconds() // 60)
    return f"{minutes} min"
