"""Whoever scrapes sees what clusters have, in as many series as there are models, not nodes."""

from events.meters import SERIES, Meters
from services.inventory.read.gauges import DEVICES, gauges
from services.process.otel_metrics import exposed


def test_amounts_are_told_by_model_and_devices_by_health(make):
    book = make.book(
        [make.node(f"n{n}", gpus="7", capacity={make.GPU: "8"}) for n in range(50)], [make.pod(on="n1", gpu=2)]
    )
    found = gauges("acme.train", make.whole(book), book.nodes.values())
    (labels,) = found["alate.inventory.available"]
    assert dict(labels) == {"cluster": "acme.train", "model": "H100", "freshness": "known"}
    assert found["alate.inventory.available"][labels] == 348
    by_health = {dict(labels)["health"]: value for labels, value in found[DEVICES].items()}
    assert by_health == {"healthy": 350, "unhealthy": 50}


def test_a_gauge_is_scraped_and_replaced_whole():
    meters = Meters()
    scrape = exposed("inventory", meters)
    meters.gauge("alate.inventory.available", "a", {(("cluster", "a"), ("model", "H100")): 8})
    meters.gauge("alate.inventory.available", "a", {(("cluster", "a"), ("model", "L4")): 2})
    text = scrape("")[0].decode()
    assert 'alate_inventory_available{cluster="a",model="L4"} 2.0' in text
    assert "H100" not in text


def test_series_have_a_bound():
    meters = Meters()
    meters.gauge("g", "a", {(("cluster", "a"), ("model", str(n))): n for n in range(2 * SERIES)})
    assert len(meters.gauges("g")) == SERIES
