"""What people are told when the bot's own database is the trouble. Used by the desk, and by wiring at such an end."""

from __future__ import annotations

from bot.service.ports import Bold, LineOf, Reply, Show, StoreTrouble, When

LATER = ("Please say it again in a few minutes.",)


def store_trouble(trouble: StoreTrouble) -> Reply:
    """The answer to a line that could not be kept; ``ok`` is False."""
    if trouble.since is not None:
        return Reply(
            (_lost(trouble), ("This was not kept either. An admin has to see to it; the bot's log says how.",)),
            ok=False,
        )
    cause, _, remedy = trouble.plain.partition("; ")
    lines: list[LineOf] = [("Nothing was changed: ", cause or "my database does not work", ".")]
    lines.append((f"For an admin: {remedy}. ", *LATER) if remedy else LATER)
    return Reply(tuple(lines), ok=False)


def store_lost(trouble: StoreTrouble, rescued: str) -> Reply:
    """To the admins, once, when the bot ends for it. ``rescued``: the name of the copy that was made of it; "" none was."""
    if rescued:
        what: LineOf = ("All of it is in a copy beside it, ", Bold(rescued), ": bring it back with gpubot db restore.")
    else:
        what = ("No copy of it could be made: bring the file back, or a backup with gpubot db restore.",)
    return Reply((_lost(trouble), what, ("I am off until I am started again.",)), ok=False)


def _lost(trouble: StoreTrouble) -> LineOf:
    assert trouble.since is not None
    cause = trouble.plain.partition(";")[0]
    since = When(trouble.since, Show.DAY_TIME)
    return (Bold("I have stopped"), f": {cause}, and nothing that was said since ", since, " is kept.")
