"""The stand-in Slack: a workspace on this machine that a real Bolt app connects to, and a page to use it in.

It speaks the Web API, Socket Mode, slash commands, block actions, modals and response_url, refuses what Slack refuses with
Slack's own names, and lets a test or the page do what a person does. Started by `python -m bot.local.slack` or
`start_in_thread`; imports nothing of the bot. It is not Slack: no search, no threads view, no Enterprise.
"""

from bot.local.slack.client import Drive, DriveError, LocalSlack, start_in_thread
from bot.local.slack.server import Setup, serving

__all__ = ["Drive", "DriveError", "LocalSlack", "Setup", "serving", "start_in_thread"]
