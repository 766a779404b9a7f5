"""Numbers about the bot itself, in Prometheus's format: the port ``Meter``. The only home of prometheus-client.

Wiring makes one, hands it to those who count, and its :meth:`Meter.text` to the web server. It must not carry anything about a
person. Every number is explained in docs/operations.md.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, generate_latest

from bot import __version__
from bot.service.ports import Facts

SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Upper bounds of the buckets of durations: an answer takes milliseconds, a guest's shutdown minutes."""


class Meter:
    """The numbers; each in a registry of its own, so that two bots in one process do not meet. Safe for threads."""

    def __init__(self) -> None:
        """All zero."""
        r = self.registry = CollectorRegistry()
        ProcessCollector(registry=r)
        Info("gpubot", "Which gpubot this is", registry=r).info({"version": __version__})

        def seconds(what: str, says: str, *labels: str) -> Histogram:
            return Histogram(f"gpubot_{what}_seconds", says, labels, buckets=SECONDS, registry=r)

        self._calls = {
            "slack": seconds("slack_call", "Real seconds of a call to Slack", "method", "outcome"),
            "vcenter": seconds("vcenter_call", "Real seconds of a call to vCenter", "method", "outcome"),
            "prometheus": seconds(
                "prometheus_call", "Real seconds of a request to an exporter or its server", "method", "outcome"
            ),
        }
        self._commands = seconds("command", "Real seconds until the answer to a line", "verb", "outcome")
        self._rounds = seconds("round", "Real seconds of a round", "outcome")
        self._readings = Counter(
            "gpubot_readings", "Readings that guests sent, by what became of them", ["outcome"], registry=r
        )
        self._good_ago = Gauge("gpubot_good_round_age_seconds", "Real seconds since the last good round", registry=r)
        self._slack = Gauge("gpubot_slack_connected", "1: connected to Slack", registry=r)
        self._vcenters = Gauge("gpubot_vcenter_up", "1: answered the last look", ["vcenter"], registry=r)
        self._store = Gauge("gpubot_database_up", "1: the database works", registry=r)
        self._outbox = Gauge("gpubot_outbox_waiting", "Messages that wait to be sent", registry=r)
        self._requests = Gauge("gpubot_requests", "Requests that have no card yet, by state", ["state"], registry=r)
        self._cards = Gauge("gpubot_cards", "Cards, by state", ["state"], registry=r)
        self._moves = Gauge("gpubot_moves_under_way", "Restarts that have begun and are not over", registry=r)

    def called(self, system: str, method: str, outcome: str, seconds: float) -> None:
        """A call to ``slack``, ``vcenter`` or ``prometheus`` ended."""
        self._calls[system].labels(method, outcome).observe(seconds)

    def heard(self, verb: str, outcome: str, seconds: float) -> None:
        """A line was answered."""
        self._commands.labels(verb, outcome).observe(seconds)

    def went_round(self, outcome: str, seconds: float) -> None:
        """A round ended."""
        self._rounds.labels(outcome).observe(seconds)

    def read(self, outcome: str) -> None:
        """A guest sent a reading."""
        self._readings.labels(outcome).inc()

    def stands(self, facts: Facts) -> None:
        """How things stand. What is not known is NaN: it must not look like a zero."""
        unknown = float("nan")
        self._good_ago.set(unknown if facts.good_ago is None else facts.good_ago)
        self._slack.set(facts.slack)
        for name, up in facts.vcenters.items():
            self._vcenters.labels(name).set(up)
        self._store.set(facts.store)
        self._outbox.set(facts.outbox if facts.store else unknown)
        self._requests.labels("waiting").set(facts.waiting if facts.store else unknown)
        self._requests.labels("offered").set(facts.offered if facts.store else unknown)
        self._moves.set(facts.moves if facts.store else unknown)
        if not facts.store:
            self._cards.clear()
        for state, count in facts.cards.items():
            self._cards.labels(state).set(count if facts.store else unknown)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
