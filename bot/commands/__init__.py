"""What can be said to gpubot: one verb a file, found by the folder.

A module here is a verb. It has

- a docstring whose first line is ``USAGE: what it does`` (the help prints it),
- ``WORDS``, how it is called, its name first (names of two words are allowed),
- ``ADMIN``, whether only admins may say it, ``WRITES``, whether it needs a writing transaction,
- ``RANK``, its place in the help (1 to 6 are shown first),
- ``EXAMPLES``, lines that work, each with what it means (``help VERB`` prints them, and a test says them),
- ``run(ctx: Context) -> Reply``, which reads the line (``ctx.clear`` refuses what its ``TAKES`` has no use for), calls the rules on
  ``ctx.draft`` and returns an answer of ``service.words``.

A verb makes the transitions of a *person* only and calls no vCenter. Refusals are raised. No verb imports another: what they share is in
``service.context``. A new verb is a new file; nothing else is to be told of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

from bot.domain.errors import Refusal
from bot.service.context import Context
from bot.service.ports import Reply
from bot.service.verbs import Verb, Verbs


def found() -> Verbs:
    """Every verb of this folder.

    :raises ValueError: a module that is no verb, or two that share a word
    """
    return Verbs(_verb(info.name) for info in pkgutil.iter_modules(__path__))


def _verb(name: str) -> Verb:
    module = importlib.import_module(f"{__name__}.{name}")
    usage, colon, help = (module.__doc__ or "").strip().split("\n")[0].partition(": ")
    if not colon:
        raise ValueError(f"the docstring of {module.__name__} begins with `USAGE: what it does`")
    return Verb(
        tuple(module.WORDS),
        usage,
        help,
        module.ADMIN,
        module.WRITES,
        module.RANK,
        _with_line(module.run),
        tuple(module.EXAMPLES),
    )


def _with_line(run: Callable[[Context], Reply]) -> Callable[[Context], Reply]:
    """The same, with the line in each refusal: what a button suggests keeps the other words of it."""

    def say(ctx: Context) -> Reply:
        try:
            return run(ctx)
        except Refusal as no:
            no.facts.setdefault("line", ctx.whole)
            raise

    return say
