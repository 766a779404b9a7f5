"""The kit for guests: one folder with all that a machine needs to tell the bot what it sees.

Called by ``gpubot guest-kit``; nothing of it runs in a guest. It writes single files that need Python 3.9 or newer and nothing else.
"""
