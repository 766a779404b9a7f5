"""The settings: ``gpubot.toml``, environment ``GPUBOT_…`` over it, secrets from environment or files alone.

Called by wiring and cli, which hand each room plain values and the rules a frozen ``Policy``. Every mistake is found in one
go and told as a sentence with the line to write instead. Machines, owners, tokens and agreements are no settings: they live
in the database.
"""

from bot.config.load import Settings, examine, load, named_by
from bot.config.mistakes import SettingsError
from bot.config.sections import Site, Slack, Store, VCenter, Web
from bot.config.values import is_host

__all__ = [
    "Settings",
    "SettingsError",
    "Site",
    "Slack",
    "Store",
    "VCenter",
    "Web",
    "examine",
    "is_host",
    "load",
    "named_by",
]
