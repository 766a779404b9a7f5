"""What happened, in words: one sentence-maker for each :class:`NewsKind`.

Called when a transaction is recorded (``desk`` and ``rounds``). It looks up the sentence; the sentences stand in ``news_line``
(a place in line, an offer), ``news_cards`` (a card that somebody has), ``news_people`` (owners, and who acted for whom) ``news_machines`` (restarts, machines, the
world), ``news_idle`` (cards that do nothing), ``news_asked`` (what people ask holders, and the morning), ``by_hand`` (what admins do by hand) and ``news_inside`` (what else guests say of cards).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bot.domain.model import Books
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.service.ports import Reply
from bot.service.words import (
    by_hand,
    news_asked,
    news_cards,
    news_idle,
    news_inside,
    news_line,
    news_machines,
    news_people,
    news_renumbered,
    waits_moved,
)
from bot.service.words.levels import at_level
from bot.service.words.telling import Telling

SENTENCES: dict[NewsKind, Callable[[Telling], Reply]] = {
    NewsKind.OFFER: news_line.offer,
    NewsKind.OFFER_OVER: news_line.offer_over,
    NewsKind.STILL_WANTED: news_line.still_wanted,
    NewsKind.LEFT_LINE: news_line.left_line,
    NewsKind.WORK_RUNS: news_line.work_runs,
    NewsKind.WAIT_MOVED: waits_moved.moved,
    NewsKind.LEASED: news_line.leased,
    NewsKind.ASK_WINDOW: news_line.ask_window,
    NewsKind.ASK_OVER: news_line.ask_over,
    NewsKind.BACK_IN_LINE: news_line.back_in_line,
    NewsKind.FREE_UNUSED: news_line.free_unused,
    NewsKind.PERSON_LEFT: news_people.person_left,
    NewsKind.OWNERS: news_people.owners,
    NewsKind.ACTED: news_people.acted,
    NewsKind.GIVEN_FOR: news_people.given_for,
    NewsKind.UNAGREED: news_people.unagreed,
    NewsKind.HANDED_ON: news_cards.handed_on,
    NewsKind.ACTIVE: news_cards.active,
    NewsKind.ACTIVE_UNSEEN: news_cards.active_unseen,
    NewsKind.ACTIVE_OFF: news_cards.active_off,
    NewsKind.WAITS_POWER_ON: news_cards.waits_power_on,
    NewsKind.GUEST_WITHOUT: news_cards.guest_without,
    NewsKind.CARD_BROKEN: news_cards.card_broken,
    NewsKind.REMIND: news_cards.remind,
    NewsKind.OVER_TIME: news_cards.over_time,
    NewsKind.RETURNING: news_cards.returning,
    NewsKind.ENDED: news_cards.ended,
    NewsKind.FAILED: news_cards.failed,
    NewsKind.CARD_ASIDE: news_cards.card_aside,
    NewsKind.CARD_BACK: news_cards.card_back,
    NewsKind.CARD_CHANGED: news_cards.card_changed,
    NewsKind.DIFFERENCE: news_cards.difference,
    NewsKind.STRANGER: news_cards.stranger,
    NewsKind.STRANGER_OVER: news_cards.stranger_over,
    NewsKind.TAKEN_OVER: news_cards.taken_over,
    NewsKind.SHARED_SETTING: news_cards.shared_setting,
    NewsKind.SHARED_OVER: news_cards.shared_over,
    NewsKind.MACHINE_GONE: news_machines.machine_gone,
    NewsKind.MACHINE_BACK: news_machines.machine_back,
    NewsKind.RESTORED_OFF: news_machines.restored_off,
    NewsKind.LAST_CALL: news_machines.last_call,
    NewsKind.ANNOUNCED_OVER: news_machines.announced_over,
    NewsKind.NOT_NOW: news_machines.not_now,
    NewsKind.STARTED_AGAIN: news_machines.started_again,
    NewsKind.WINDOW_UNUSED: news_machines.window_unused,
    NewsKind.STANDING_SKIPPED: news_machines.standing_skipped,
    NewsKind.FIRM_WINDOW: news_machines.firm_window,
    NewsKind.BLOCKED: news_machines.blocked,
    NewsKind.UNBLOCKED: news_machines.unblocked,
    NewsKind.MOVE: news_machines.move,
    NewsKind.BY_HAND: by_hand.by_hand,
    NewsKind.UNDONE: news_machines.undone,
    NewsKind.GUEST_HANGS: news_machines.guest_hangs,
    NewsKind.STUCK: news_machines.stuck,
    NewsKind.STAYS_OFF: news_machines.stays_off,
    NewsKind.SEEN_TO: news_machines.seen_to,
    NewsKind.ON_AGAIN: news_machines.on_again,
    NewsKind.MOVED_AWAY: news_cards.moved_away,
    NewsKind.RENUMBERED: news_renumbered.renumbered,
    NewsKind.WHICH_CARD: news_renumbered.which_card,
    NewsKind.HOST_AWAY: news_machines.host_away,
    NewsKind.VCENTER_BACK: news_machines.vcenter_back,
    NewsKind.NOTE_REFUSED: news_machines.note_refused,
    NewsKind.CLOCK_JUMP: news_machines.clock_jump,
    NewsKind.NUDGE: news_idle.nudge,
    NewsKind.NUDGE_OVER: news_idle.nudge_over,
    NewsKind.TAKEN_BACK: news_idle.taken_back,
    NewsKind.CANNOT_SEE: news_inside.cannot_see,
    NewsKind.GUEST_FAULT: news_inside.guest_fault,
    NewsKind.OTHER_CARD: news_inside.other_card,
    NewsKind.TWO_SPEAKERS: news_inside.two_speakers,
    NewsKind.LEFT_SO: news_inside.left_so,
    NewsKind.DONE_INSIDE: news_inside.done_inside,
    NewsKind.ASKED: news_asked.asked,
    NewsKind.ASKED_OVER: news_asked.asked_over,
    NewsKind.ASK_ANSWERED: news_asked.ask_answered,
    NewsKind.MORNING: news_asked.morning,
    NewsKind.MORNING_OVER: news_asked.morning_over,
    NewsKind.FREE_NOW: news_asked.free_now,
    NewsKind.NUDGE_EVIDENCE: news_inside.nudge_evidence,
}
"""The sentence of each kind; a test asks that none is missing."""

OF_THEIR_OWN = frozenset({NewsKind.BY_HAND, NewsKind.MOVE})
"""They say at each step who does it."""


CLOSING = frozenset({NewsKind.ASK_OVER, NewsKind.OFFER_OVER})
"""They close a question that has said who restarts, and promise no restart themselves."""


def news(item: News, books: Books, now: datetime, policy: Policy) -> Reply:
    """The message of one piece of news for its audience (``item.to``). ``books`` as they are after the change."""
    reply = SENTENCES[item.kind](Telling(item, books, now, policy))
    return reply if item.kind in OF_THEIR_OWN else at_level(reply, policy, buttons_alone=item.kind in CLOSING)
