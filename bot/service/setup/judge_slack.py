"""What Slack tells the two tokens: facts into findings. Pure."""

from __future__ import annotations

from bot.service.setup.facts import SlackFacts, Wanted
from bot.service.setup.findings import Finding, error, warning

PAGES = "https://api.slack.com/apps"
REINSTALL = f"on {PAGES}, your app: paste manifest.yml under App Manifest, then Install App, Reinstall to Workspace"
SWITCHED_OFF = frozenset({"link_disabled", "socket_mode_not_enabled", "forbidden_team"})
WHAT_BREAKS = {
    "commands": "the slash command",
    "chat:write": "every message",
    "im:write": "direct messages to people",
    "im:history": "what people write to it directly",
    "app_mentions:read": "what is said to it in a thread",
    "users:read": "names and time zones",
    "channels:read": "this check of a public channel",
    "groups:read": "this check of a private channel",
    "pins:write": "pinning the board",
    "dnd:read": "regard for do-not-disturb",
    "files:write": "pictures of reports",
}


def slack(facts: SlackFacts, wanted: Wanted, running: bool) -> list[Finding]:
    """All of it. ``running``: the bot runs, and one connection is its own."""
    if facts.trouble:
        return [
            error("slack.away", facts.trouble, "see that this machine may reach Slack (HTTPS to slack.com, and wss)")
        ]
    found = _tokens(facts) + _scopes(facts, wanted) + _channel(facts, wanted)
    found += [warning("slack.admin", line, "correct [site] admins in the settings") for line in facts.admins]
    others = (facts.connections or 0) - running
    if others > 0:
        n = "another connection" if others == 1 else f"{others} other connections"
        todo = "find and stop the other process (an old bot, a try on a laptop), or give it a Slack app of its own"
        found.append(
            warning("slack.connections", f"{n} of this Slack app: that process gets some of what people say", todo)
        )
    return found


def _tokens(facts: SlackFacts) -> list[Finding]:
    found = []
    if facts.bot_refused:
        todo = f"copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions of the app on {PAGES} into its file or variable"
        found.append(error("slack.bot-token", f"Slack does not take the bot token ({facts.bot_refused})", todo))
    if facts.app_refused in SWITCHED_OFF:
        what = f"Socket Mode is switched off for this app ({facts.app_refused})"
        found.append(error("slack.socket-mode", what, f"switch it on under Socket Mode of the app on {PAGES}"))
    elif facts.app_refused:
        todo = f"make an app-level token (xapp-…) with the scope connections:write under Basic Information of the app on {PAGES}"
        found.append(error("slack.app-token", f"Slack does not take the app token ({facts.app_refused})", todo))
    return found


def _scopes(facts: SlackFacts, wanted: Wanted) -> list[Finding]:
    lacking = sorted(wanted.scopes - facts.scopes) if facts.scopes is not None else []
    if not lacking:
        return []
    breaks = ", ".join(dict.fromkeys(WHAT_BREAKS.get(one, one) for one in lacking))
    return [error("slack.scopes", f"the app lacks {', '.join(lacking)}: without, no {breaks}", REINSTALL)]


def _channel(facts: SlackFacts, wanted: Wanted) -> list[Finding]:
    channel = wanted.channel
    if facts.channel_refused == "missing_scope":
        return []  # said with the scopes
    if facts.channel_refused:
        todo = "take the id (C…) from the end of About in the channel's details into [slack] channel; if it is private, /invite the bot first"
        return [error("slack.channel", f"no channel {channel} for the bot ({facts.channel_refused})", todo)]
    if facts.archived:
        return [error("slack.archived", f"the channel {channel} is archived", "name another one in [slack] channel")]
    if facts.member is False:
        return [
            error("slack.member", f"the bot is not in the channel {channel}", "write /invite @gpubot in that channel")
        ]
    return []
