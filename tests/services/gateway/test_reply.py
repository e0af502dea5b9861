import json

import pytest

from services.gateway.intake import REPLY_TO, RequestOutcome, reply_to


@pytest.mark.parametrize("inbox", ["_INBOX.abc", "_INBOX.abc.1", "_INBOX_ci.x-y.2", "_INBOX_alate-cli.Q"])
def test_an_inbox_is_answered(inbox):
    assert reply_to({REPLY_TO: inbox}) == inbox


@pytest.mark.parametrize(
    "named",
    [
        "",
        "cluster.ready.acme.x",
        "_INBOX",
        "_INBOXES.x",
        "_INBOX.>",
        "_INBOX.*",
        "_INBOX.a b",
        "$JS.API.x",
        "_INBOX..x",
    ],
)
def test_what_is_no_inbox_is_not_published_to(named):
    assert reply_to({REPLY_TO: named}) == ""
    assert reply_to({}) == ""


def test_a_verdict_is_plain_json():
    said = json.loads(RequestOutcome(id="run-1", accepted=False, reason="no").encoded())
    assert said == {"id": "run-1", "accepted": False, "colony": "", "reason": "no"}
