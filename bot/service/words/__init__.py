"""Every sentence that people read, as pure functions: values in, :class:`~bot.service.ports.Reply` out.

Who calls what
- ``news`` (a transaction is recorded), ``refusal`` (the desk), ``board`` (the teller), ``move_message`` (inside ``news``),
- one function an answer for commands, each taking a :class:`Scene` first: the books as they are *after* what was said,
- ``at_level`` (the desk: an answer that speaks of a restart says who makes it),
- ``terminal`` and ``flat`` (the command line, logs, notifications).

The rules of tone: the first line is the whole message; people's words (*in line, yours until, restart, give back, resting*), never those of
the code; what happens if nobody answers, with its time; at most three buttons, the cheapest first, each a command that can be
typed; a name where nobody must act, a ping where somebody must; what the bot cannot see, or got wrong, is said.
Nothing here decides anything, reads a clock, or knows a surface's markup.
"""

from bot.service.words.admin import (
    drained,
    forced,
    helped,
    helped_with,
    machine_added,
    machine_list,
    machine_owners,
    machine_removed,
    machine_token,
    paused,
    resumed,
    undrained,
)
from bot.service.words.answers import accepted, passed, requested
from bot.service.words.answers_cards import adopted, adopted_all, extended, kept, released
from bot.service.words.answers_windows import (
    agreed,
    asks_first,
    not_now,
    nothing_restarts,
    seen_to,
    started,
    stopped,
    unagreed,
    windows,
)
from bot.service.words.board import board
from bot.service.words.common import Scene
from bot.service.words.levels import at_level
from bot.service.words.mine import mine, queue, status
from bot.service.words.moves import move_message
from bot.service.words.news import news
from bot.service.words.news_renumbered import numbered
from bot.service.words.plain import flat, terminal
from bot.service.words.refusals import refusal
from bot.service.words.trouble import store_lost, store_trouble
from bot.service.words.why import why

__all__ = [
    "Scene",
    "accepted",
    "adopted",
    "adopted_all",
    "agreed",
    "asks_first",
    "at_level",
    "board",
    "drained",
    "extended",
    "flat",
    "forced",
    "helped",
    "helped_with",
    "kept",
    "machine_added",
    "machine_list",
    "machine_owners",
    "machine_removed",
    "machine_token",
    "mine",
    "move_message",
    "news",
    "not_now",
    "nothing_restarts",
    "numbered",
    "passed",
    "paused",
    "queue",
    "refusal",
    "released",
    "requested",
    "resumed",
    "seen_to",
    "started",
    "status",
    "stopped",
    "store_lost",
    "store_trouble",
    "terminal",
    "unagreed",
    "undrained",
    "why",
    "windows",
]
