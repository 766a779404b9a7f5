"""keep [#n / CARD] [2h / until TIME] [because …]: do not ask about a quiet card before then; or keep one that is to go back

Of a card that works it stops the questions for a while (2 hours if you say no time), and makes its time no longer. Of a card on its
way back it takes that back, if nobody was promised it; once its time is over and somebody waits, only `extend` does. A reason is public: who
waits may read it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain import idle, leases, promises
from bot.domain.errors import NotPossible
from bot.domain.grammar import Bare, Heard, RefKind
from bot.domain.model import Lease, LeaseState
from bot.service import quiet, words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.words.answers_keep import kept_quiet

WORDS = ("keep",)
ADMIN = False
WRITES = True
RANK = 14

EXAMPLES = (
    ("keep", "your only card that is on its way back, or that I asked about"),
    ("keep T4-1", "this one"),
    ("keep T4-2 4h because the demo is at three", "no question about it for 4 hours; the reason is public"),
    ("keep #12 until fri 18:00", "until then; one on its way back is yours for longer, too"),
)

HINT = "keep, keep T4-1, keep T4-1 4h because the demo is at three, keep #12 until fri 18:00"
TAKES = Takes(length=True, refs=frozenset({RefKind.LABEL, RefKind.CARD}))

SNOOZE = timedelta(hours=2)
"""For which nothing is asked if no time is said."""


def run(ctx: Context) -> Reply:
    """Take a return back (with a time, longer as well), or ask nothing about a working card for a while."""
    heard = ctx.hear(Bare.LENGTH)
    ctx.clear(heard, HINT, TAKES)
    lease = ctx.lease_meant(heard, _choices(ctx))
    named = _named(ctx, heard)
    if any(x.state is LeaseState.RETURNING for x in named):
        lease = ctx.only(named, "card")  # each return is taken back for itself, and no other word is dropped
    if lease is None:
        raise NotPossible(what="keep", why="no card of yours is on its way back, and none works")
    return _take_back(ctx, lease, heard) if lease.state is LeaseState.RETURNING else _snooze(ctx, heard)


def _named(ctx: Context, heard: Heard) -> list[Lease]:
    """All that the line names, each once."""
    things = [
        *(ctx.numbered(label) for label in ctx.labels(heard)),
        *(ctx.lease_on(slot) for slot in ctx.devices(heard)),
    ]
    return list({x.label: x for x in things if isinstance(x, Lease)}.values())


def _choices(ctx: Context) -> list[Lease]:
    """What a bare ``keep`` can mean: what goes back and what was asked about; else whatever works."""
    own = ctx.own_leases()
    pressing = [x for x in own if x.state is LeaseState.RETURNING or (x.nudge is not None and not x.nudge.over)]
    return pressing or [x for x in own if x.state is LeaseState.ACTIVE]


def _take_back(ctx: Context, lease: Lease, heard: Heard) -> Reply:
    was = promises.likely_of_others(ctx.draft, lease, ctx.scene().promises)
    longer = heard.length is not None and leases.is_later(ctx.draft, lease, heard.length, ctx.person, ctx.policy)
    lease = leases.keep(ctx.draft, lease, ctx.person.id, ctx.policy, ctx.zone_of, longer=longer)
    if heard.length is not None and longer:
        lease = leases.extend(ctx.draft, lease, heard.length, ctx.person, ctx.policy, ctx.zone_of)
    scene = ctx.scene()
    return words.kept(scene, lease, ctx.person.id, promises.tell_delayed(ctx.draft, lease, was, scene.promises))


def _snooze(ctx: Context, heard: Heard) -> Reply:
    asked, until = quiet.meant(ctx, heard, "keep"), _until(ctx, heard)
    for lease, slots in asked:
        idle.keep(ctx.draft, lease, slots, until, heard.because, ctx.person.id, ctx.policy)
        quiet.tell_holder(ctx, lease, slots, "kept quiet", until)
    scene = ctx.scene()
    now = [(scene.books.leases[lease.label], slots) for lease, slots in asked]
    return kept_quiet(scene, now, ctx.person, until, heard.because)


def _until(ctx: Context, heard: Heard) -> datetime:
    if heard.length is None or (heard.length.lasting is None and heard.length.until is None):
        return ctx.now + SNOOZE
    return heard.length.until or ctx.now + (heard.length.lasting or SNOOZE)
