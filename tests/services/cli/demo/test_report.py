import json

import msgspec

from services.cli.demo.audit import CountResult
from services.cli.demo.proof import Proof
from services.cli.demo.report import made, summary
from services.cli.demo.story import Story

CLEAN = Proof({"machines": 0, "secrets": 0}, CountResult())


async def test_the_object_has_the_fields_that_were_promised(told):
    report = made(told(20), 17.456, CLEAN, "", None)

    assert json.loads(msgspec.json.encode(report)) == {
        "ok": True,
        "seconds": 17.46,
        "transitions": 13,
        "phases": {
            "pending": 1.0,
            "launching": 2.0,
            "provisioned": 1.0,
            "ready": 10.0,
            "releasing": 2.0,
            "teardown.armed": 8.0,
            "teardown.warned": 1.0,
            "teardown.draining": 4.0,
        },
        "offer": {
            "cloud": "aws",
            "region": "us-east-1",
            "instance": "p5.48xlarge",
            "pricePerHour": 28.5,
            "spot": True,
        },
        "costUsd": 0.5,
        "leftovers": {"machines": 0, "secrets": 0},
        "leftoversTotal": 0,
        "lost": 0,
        "duplicates": 0,
    }


async def test_a_single_thing_that_is_left_is_not_ok(told):
    report = made(told(20), 1.0, Proof({"machines": 1, "secrets": 0}, CountResult()), "", None)

    assert (report.ok, report.leftovers_total, report.problems) == (False, 1, ("leftover: 1 machines",))


async def test_what_is_lost_or_there_twice_is_not_ok(told):
    report = made(told(20), 1.0, Proof({}, CountResult(("a",), ("b", "c"))), "", None)

    assert (report.ok, report.lost, report.duplicates) == (False, 1, 2)


async def test_what_could_not_be_counted_is_not_ok(told):
    report = made(told(20), 1.0, "nobody answers", "", None)

    assert (report.ok, report.problems) == (False, ("nobody answers",))


def test_a_story_that_was_not_over_is_told_as_far_as_it_came():
    report = made(Story(), 1.0, CLEAN, "the story was not over", None)

    assert (report.ok, report.offer, report.problems) == (False, None, ("the story was not over",))


async def test_the_summary_says_what_was_counted(told):
    text = "\n".join(summary(made(told(20), 17.0, CLEAN, "", None)))

    assert "counted: machines 0, secrets 0" in text
    assert text.endswith("ok: nothing is left")
