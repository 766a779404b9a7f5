"""The Prometheus source of readings: exporters in guests, asked directly or through a Prometheus server.

``page`` reads what they send, ``names`` knows what their numbers mean, ``cards`` finds the device behind the labels, ``exporter``
remembers one exporter from answer to answer, ``ask`` is the bounded HTTP request, ``source`` is the thread that puts readings into the
store. It sees cards alone: no logins, no jobs. It must not judge whether a card is used.
"""

from bot.edges.telemetry.prometheus.source import PrometheusSettings, PrometheusSource

__all__ = ["PrometheusSettings", "PrometheusSource"]
