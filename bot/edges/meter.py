"""Numbers about the bot itself, in Prometheus's format. The only home of prometheus-client.

Wiring makes one, hands its small callables to those who count, and its :meth:`Meter.text` to the web server. It must not
carry anything about a person.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Upper bounds of the buckets of durations."""


class Meter:
    """The numbers; each in a registry of its own, so that two bots in one process do not meet."""

    def __init__(self) -> None:
        """All zero."""
        r = self.registry = CollectorRegistry()
        self.rounds = Counter("gpubot_rounds", "Rounds that ended, by how", ["result"], registry=r)
        self.round_seconds = Histogram("gpubot_round_seconds", "Real seconds of a round", buckets=SECONDS, registry=r)
        self.commands = Counter("gpubot_commands", "Things that people said, by verb", ["verb"], registry=r)
        self.command_seconds = Histogram(
            "gpubot_command_seconds", "Real seconds of an answer", buckets=SECONDS, registry=r
        )
        self.calls = Counter("gpubot_calls", "Calls to vCenter that change something", ["kind", "outcome"], registry=r)
        self.readings = Counter("gpubot_readings", "Readings of guests, by what became of them", ["result"], registry=r)
        self.outbox = Gauge("gpubot_outbox_waiting", "Messages that wait", registry=r)
        self.waiting = Gauge("gpubot_requests_waiting", "Requests in line", registry=r)
        self.cards = Gauge("gpubot_cards", "Cards, by state", ["state"], registry=r)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
