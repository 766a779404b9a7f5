"""The push of guests: ``POST /v1/readings`` with a machine's token.

Wiring hands the :func:`router` to the web server. ``wire`` is what is sent, ``told`` makes a reading of it, ``intake`` knows who speaks
and keeps it, ``router`` is the way in.
"""

from __future__ import annotations

from bot.edges.telemetry.push.intake import digest_of
from bot.edges.telemetry.push.router import router

__all__ = ["digest_of", "router"]
