"""A machine without an agent whose exporter is asked: from the settings to the reading, in the bot as it runs."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path

from bot.domain.model import Reading
from bot.edges.store import open_store
from bot.local.demo.processes import http_get
from tests.edges.exporters import U1, UTIL, dcgm, serving
from tests.story.rig import Yard, wait, yard


def latest(place: Yard) -> list[Reading]:
    store = open_store(f"sqlite:///{place.rig.folder / 'gpubot.db'}", now=place.clock.now)
    with contextlib.closing(store):
        return list(store.readings().values())


def test_what_an_exporter_shows_reaches_the_books(tmp_path: Path) -> None:
    with serving() as pages, yard(tmp_path) as place:
        url = pages.put("/metrics", dcgm(values={UTIL: 64}))
        nobody = "http://127.0.0.1:1/metrics"
        with place.rig.settings.open("a", encoding="utf-8") as file:
            file.write(f'\n[prometheus]\ntargets = {{"vm-python" = "{url}", "vm-r" = "{nobody}"}}\n')
            file.write('interval = "10 s"\nscrape = "5 s"\n')
        bot = place.start()
        place.stage.vcenter("POST", "vm/vm-python/power", {"do": "on"})
        place.clock.advance(timedelta(minutes=1))
        assert "vm-python" in place.stage.quietly("dana", "machine add vm-python owners @ada")
        (reading,) = wait(lambda: latest(place), 30)
        assert (reading.inside, reading.cards, reading.devices[0].uuid, reading.devices[0].util_max) == (
            False,
            1,
            U1,
            64.0,
        )
        numbers = http_get(f"{place.rig.web}/metrics")[1]
        assert 'gpubot_prometheus_call_seconds_count{method="scrape",outcome="ok"}' in numbers
        assert 'gpubot_prometheus_call_seconds_count{method="scrape",outcome="no_answer"}' in numbers
        assert "the exporter of vm-r gave no answer (ConnectError)" in place.log()
        place.stop(bot)
        assert bot.process.returncode == 0, place.log()
        assert "Traceback" not in place.log()
