"""Logs are shown to be one line per event, to know their entity, and to hold no secret."""

import io
import json
import logging
from typing import Any

import pytest
import structlog

from events.telemetry import Trace, working_on
from schemas.subjects import Key
from services.process import logs


@pytest.fixture
def log():
    """Sets logging up on a buffer; gives a function that reads what was logged."""
    out, root = io.StringIO(), logging.getLogger()
    before, rendered = (root.handlers[:], root.level), structlog.get_config()

    def _set_up(form="json", level="info"):
        logs.set_up("gateway", form=form, level=level, stream=out)
        return structlog.get_logger()

    set_up: Any = _set_up
    set_up.text = out.getvalue
    set_up.lines = lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    yield set_up
    structlog.configure(**rendered)
    structlog.contextvars.clear_contextvars()
    root.handlers[:], root.level = before


def test_an_event_is_one_json_line_with_its_fields(log):
    log().info("cluster.ready", tenant="acme", nodes=2)
    (line,) = log.lines()
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "cluster.ready", "tenant": "acme", "nodes": 2, "level": "info", "service": "gateway"}


def test_what_cannot_be_encoded_is_named_not_lost(log):
    log().info("x", thing=object)
    assert log.lines()[0]["thing"] == "<class 'object'>"


@pytest.mark.parametrize("form", ["json", "console"])
@pytest.mark.parametrize(
    "field",
    [
        {"token": "s3cr3t-value"},
        {"admin_password": "s3cr3t-value"},
        {"KUBECONFIG": "s3cr3t-value"},
        {"clientSecret": b"s3cr3t-value"},
        {"headers": {"Authorization": "s3cr3t-value"}},
        {"objects": [{"data": {"private-key": "s3cr3t-value"}}]},
        {"tokens": ["s3cr3t-value"]},
        {"reason": "refused: Authorization: Bearer s3cr3t-value"},
    ],
)
def test_a_secret_never_stands_in_a_log(log, form, field):
    log(form).info("http.refused", **field)
    assert "s3cr3t" not in log.text()
    assert logs.HIDDEN in log.text()


def test_a_secret_in_a_traceback_is_hidden(log):
    logger = log()
    logger.error("request.failed", exc_info=ValueError("sent Authorization: Bearer s3cr3t-value"))
    assert "ValueError" in log.lines()[0]["exception"]
    assert "s3cr3t" not in log.text()


def test_counts_of_secrets_are_no_secrets(log):
    log().info("teardown.gone", secrets=0, tokens=None, kubeconfig=True)
    assert (log.lines()[0]["secrets"], log.lines()[0]["kubeconfig"]) == (0, True)


def test_work_on_an_entity_is_logged_with_its_name_and_trace(log):
    logger = log()
    with working_on(Key("cluster", "acme", "train"), Trace("00-" + "a" * 32 + "-" + "b" * 16 + "-01")):
        logger.info("inside")
    logger.info("outside")
    inside, outside = log.lines()
    assert (inside["entity"], inside["trace_id"]) == ("cluster/acme/train", "a" * 32)
    assert "entity" not in outside


def test_a_correlation_bound_to_the_context_is_logged(log):
    logger = log()
    with structlog.contextvars.bound_contextvars(correlation="c-1"):
        logger.info("inside")
    assert log.lines()[0]["correlation"] == "c-1"


def test_libraries_are_heard_from_warning_on_in_the_same_form(log):
    log()
    logging.getLogger("nats.aio").info("chatter")
    logging.getLogger("aiohttp.client").warning("unclosed %s", "thing", extra={"token": "s3cr3t"})
    (line,) = log.lines()
    assert (line["event"], line["level"], line["logger"]) == ("unclosed thing", "warning", "aiohttp.client")


def test_the_level_is_kept(log):
    logger = log(level="warning")
    logger.info("quiet")
    logger.warning("loud")
    assert [line["event"] for line in log.lines()] == ["loud"]


def test_people_get_a_line_without_colours_when_it_is_no_terminal(log):
    log("console").info("cluster.ready", tenant="acme")
    assert "cluster.ready" in log.text()
    assert "\x1b" not in log.text()
