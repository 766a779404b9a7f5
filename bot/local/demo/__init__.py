"""The demo: a local Slack, a local vCenter and the bot itself, as processes on this machine, and stories played on them.

Called by the command line alone. It speaks to the bot only as people and machines do: over Slack, over vCenter, over ``/readyz``; it
imports nothing of the bot.
"""

from bot.local.demo.main import play

__all__ = ["play"]
