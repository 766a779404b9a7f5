"""The insides of simulated VMs: they boot, see their cards, run what people start, have logins, say so to the bot, and stop.

Called by the stand-in vCenter, which gives them the hardware (cards) and takes their events (Tools, off). They know no vSphere
and no bot: what they tell goes over HTTP to the address that they were given. Times are virtual.
"""

from bot.local.guests.activities import ACTIVITIES, Activity
from bot.local.guests.cards import Kind, address, card_uuid
from bot.local.guests.conditions import CONDITIONS, Habits
from bot.local.guests.guest import Guest, Hooks

__all__ = ["ACTIVITIES", "CONDITIONS", "Activity", "Guest", "Habits", "Hooks", "Kind", "address", "card_uuid"]
