"""gpubot: the desk for a team's GPUs in vSphere, in Slack.

The package of everything: the bot itself, the stand-ins it is tested and shown with, and the two helpers that run
inside virtual machines. `docs/architecture.md` says which room is for what. Nothing is imported here, so that
importing one room never loads another.
"""

__version__ = "0.1.0"
