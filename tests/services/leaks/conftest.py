"""Histories are quiet, and what is waited for in them is looked at less often: looks are what a history takes."""

import logging

import pytest
import structlog

import services.addons.act
import services.teardown.act
from services.addons.objects.watch import ObjectWatches

LOOKS = 30.0
"""Seconds between two of them."""


@pytest.fixture(autouse=True)
def _quiet(caplog, monkeypatch):
    monkeypatch.setattr(services.teardown.act, "RECHECK", LOOKS)
    monkeypatch.setattr(services.addons.act, "AGAIN", LOOKS)
    # A watch wakes for its bookmarks through weeks of virtual time: here add-ons are looked at from time to time alone.
    monkeypatch.setattr(ObjectWatches, "follow", lambda *_, **__: None)
    caplog.set_level(logging.CRITICAL, "asyncio")  # tells of every task that died with its process
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)
