"""What can be said to gpubot: one verb a file, found by the folder.

A module here is a verb. It has

- a docstring whose first line is ``USAGE: what it does`` (the help prints it),
- ``WORDS``, how it is called, its name first (names of two words are allowed),
- ``ADMIN``, whether only admins may say it, ``WRITES``, whether it needs a writing transaction,
- ``RANK``, its place in the help: verbs of everybody by it, then admins' verbs by it, equal ones by name; 1 to 6 are the short help,
- ``EXAMPLES``, lines that work, each with what it means (``help VERB`` prints them, and a test says them),
- ``run(ctx: Context) -> Reply``, which reads the line (``ctx.clear`` refuses what its ``TAKES`` has no use for), calls the rules on
  ``ctx.draft``, and after that returns an answer of ``service.words`` with ``ctx.scene()``: the books as they are then.

A verb makes the transitions of a *person* only and calls no vCenter. Refusals are raised. No verb imports another: what they share is in
``service.context``. No word may be in the ``WORDS`` of two.

A new verb is three files, and nothing else is to be told of it:

- this one, called as its first word is (``machine add``: ``machine_add.py``; a word of Python gets a ``_``: ``pass_.py``);
- its sentences, ``service/words/answers_<verb>.py``, imported from there (``from bot.service.words.answers_hello import hello``). Only what
  several verbs say, or a file beside it says already, is in a file by its subject, and those are gathered in ``words/__init__.py``;
- its test, ``tests/commands/test_<verb>.py``. ``tests/commands/test_verbs.py`` finds the verb itself: it says the ``EXAMPLES``, holds each
  answer to the rules of tone, sees that nobody but an admin may say what is ``ADMIN``, and that nothing is changed without ``WRITES``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import ModuleType

from bot.domain.errors import Fact, Refusal
from bot.service.context import Context, Takes
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
        _with_line(module.run, _facts(module)),
        tuple(module.EXAMPLES),
        f"bot/commands/{name}.py",
    )


def _facts(module: ModuleType) -> dict[str, Fact]:
    """What every refusal of a verb knows of it: its name, lines that work, and whether it counts cards and has a use for an end."""
    takes: Takes | None = getattr(module, "TAKES", None)
    works = getattr(module, "HINT", "") or ", ".join(line for line, _ in module.EXAMPLES[:3])
    uses = {"counts": takes is not None and takes.count, "lengths": takes is not None and takes.length}
    return {"verb": module.WORDS[0], "works_here": works, **uses}


def _with_line(run: Callable[[Context], Reply], facts: Mapping[str, Fact]) -> Callable[[Context], Reply]:
    """The same, with the line and the verb in each refusal: what a button suggests keeps the other words of it, and no other verb is suggested."""

    def say(ctx: Context) -> Reply:
        try:
            return run(ctx)
        except Refusal as no:
            no.facts.setdefault("line", ctx.whole)
            for name, fact in facts.items():
                no.facts.setdefault(name, fact)
            raise

    return say
