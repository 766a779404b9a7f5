"""Set the demo up as an admin would: by saying it in Slack, and by putting each machine's token into its guest."""

from __future__ import annotations

import re
from datetime import timedelta

from bot.local.demo.processes import DemoError
from bot.local.demo.stage import Stage

MACHINES = {"vm-python": "ada", "vm-python-2": "ada", "vm-r": "bob", "vm-train": "carol"}
"""The registered machines and their owners."""


SHARED = {"vm-notebook": "carol", "vm-shiny": "bob"}
"""Those of the second host, where there is one."""


def machines_of(shared: bool) -> dict[str, str]:
    """The machines and their owners. ``shared``: with the second host."""
    return MACHINES | SHARED if shared else dict(MACHINES)


def cast(shared: bool = False) -> str:
    """Who has which machines, in a few words."""
    machines = machines_of(shared)
    owned = {owner: [name for name, whose in machines.items() if whose == owner] for owner in machines.values()}
    return ", ".join(f"{owner} has {' and '.join(names)}" for owner, names in owned.items())


TOKEN = re.compile(r"[A-Za-z0-9_-]{30,}")


def set_up(stage: Stage, shared: bool = False) -> None:
    """Register the machines, and give each guest its token."""
    machines = machines_of(shared)
    for name in machines:
        if stage.vm(name)["power"] != "poweredOn":
            stage.vcenter("POST", f"vm/{name}/power", {"do": "on"})
    stage.clock.advance(timedelta(minutes=1))  # guests boot; machines are added by name from a look
    for name, owner in machines.items():
        answer = stage.quietly("dana", f"machine add {name} owners @{owner}")
        if name not in answer:
            raise DemoError(f"machine add {name}: {answer}")
        answer = stage.quietly("dana", f"machine token {name}")
        found = TOKEN.search(answer)
        if found is None:
            raise DemoError(f"machine token {name} gave no token")
        stage.vcenter("POST", f"vm/{name}/agent", {"url": f"{stage.rig.web}/v1/readings", "token": found.group(0)})
    for owner in dict.fromkeys(machines.values()):  # for the page's hints: the bot has its own list
        stage.slack.post("person", name=owner, machines=[name for name, whose in machines.items() if whose == owner])
    stage.clock.settle()
