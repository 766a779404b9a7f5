"""A stand-in vCenter: a vSphere SOAP server over TLS with one R740 and four Tesla T4, API 8.0.3.0.

It speaks the real protocol to any vSphere client, enforces the rules of fixed passthrough, simulates the guests, keeps a
journal of every change with the user who made it, and is steered over a plain HTTP side (``drive``). Called by the
command line and by tests; imports nothing of the bot.

Who does what: ``wire`` XML; ``server`` HTTPS; ``sessions``, ``collector`` and ``api`` what a client may say; ``world`` the
state and its operations; ``reconfigure`` and ``power`` the rules; ``tasks``; ``rig`` and ``hardware`` the founding case;
``hands`` what admins and fate do; ``holds`` counting and holding of calls; ``drive`` and ``shown`` the control side;
``start`` puts them together.
"""
