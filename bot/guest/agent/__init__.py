"""The agent of a guest: looks at its cards and at what runs, tells the bot, and does what its owner allowed it to be asked.

Started by ``gpubot agent``, or as a single file by systemd (``main:main``). ``loop`` ties the parts together: ``cards`` (NVML),
``machine`` (/proc and logins), ``post`` and ``spool`` (the way to the bot), ``orders`` and ``hooks`` (what comes back), ``door`` (the word of
people in the guest). Standard library and nvidia-ml-py only, Python 3.9; it judges nothing: the bot does.
"""
