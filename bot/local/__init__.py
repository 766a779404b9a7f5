"""Stand-ins that speak the real protocols on this computer: a Slack, a vCenter, and guests.

Called by the command line and by tests. It imports nothing of the rest of ``bot``: a stand-in that shared
code with the bot would share its mistakes.
"""
