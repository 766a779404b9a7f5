"""What runs inside virtual machines: the agent, the check that a card works, and the kit that brings both there.

Called by the command line and, from single files, by guests that have nothing but Python 3.9 or newer. It imports nothing
of the rest of ``bot``.
"""
