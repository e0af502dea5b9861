"""Histories are quiet, and what is waited for in them is looked at less often: looks are what a history takes."""

import logging

import pytest
import structlog

import services.addons.act
import services.teardown.act

LOOKS = 30.0
"""Seconds between two of them."""


@pytest.fixture(autouse=True)
def _quiet(caplog, monkeypatch):
    monkeypatch.setattr(services.teardown.act, "RECHECK", LOOKS)
    monkeypatch.setattr(services.addons.act, "RECHECK", LOOKS)
    caplog.set_level(logging.CRITICAL, "asyncio")  # tells of every task that died with its process
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)
