"""`alate trigger test` shows what an event would do, and asks for nothing."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schemas.crds import InvalidResource
from services.cli.app import app
from services.cli.trigger.dry_run import tried
from services.errors import BadInput
from tests.services.edge.test_senders import MERGE

TRIGGER = Path(__file__).parents[4] / "deploy" / "triggers" / "github-workflow.yaml"
RUN = {
    "workflow_run": {"id": 4711, "run_attempt": 1, "name": "train", "head_sha": "0" * 40},
    "repository": {"full_name": "acme/models"},
}


@pytest.fixture
def event(tmp_path):
    def written(step: str) -> Path:
        file = tmp_path / "event.json"
        kind = f"com.github.workflow_run.{step}"
        file.write_text(json.dumps({"specversion": "1.0", "id": "1", "source": "/s", "type": kind, "data": RUN}))
        return file

    return written


def alate(*words):
    return CliRunner().invoke(app, ["trigger", "test", "-f", str(TRIGGER), *map(str, words)])


def test_it_shows_every_rule_with_its_reason_and_what_would_be_said(event):
    shown = alate("-e", event("requested"))
    assert shown.exit_code == 0
    start, end, *rest = shown.output.splitlines()
    assert start.split(None, 2) == ["default/github-workflow", "start", "asks for Colony ci-4711-1"]
    assert end.split(None, 2) == ["default/github-workflow", "end", "does not hold: when is false"]
    assert "subject: cluster.requested.default" in rest


def test_it_says_the_same_to_programs(event):
    _, end = json.loads(alate("-e", event("completed"), "-o", "json").output)["rules"]
    assert end["publishes"]["subject"] == "colony.release.default.ci-4711-1"
    assert end["publishes"]["data"]["origin"] == "trigger-github-workflow"


def test_an_event_that_would_do_nothing_has_an_exit_code_of_its_own(event):
    assert alate("-e", event("in_progress")).exit_code == 1


def test_an_event_that_is_none_is_bad_input(tmp_path, event):
    file = tmp_path / "odd.json"
    file.write_text("{}")
    with pytest.raises(BadInput, match=r"odd\.json is nothing that github posts: X-GitHub-Event"):
        tried(TRIGGER, file)
    with pytest.raises(BadInput, match="cannot be read"):
        tried(TRIGGER, tmp_path / "absent.json")


def test_a_trigger_that_cannot_be_read_is_bad_input(tmp_path, event):
    file = tmp_path / "rule.yaml"
    file.write_text(TRIGGER.read_text().replace("then: Release", "then: Explode"))
    with pytest.raises(
        InvalidResource, match=r"spec\.rules\[1\]\.then is \"Explode\": must be 'Request', 'Release', 'Deploy'"
    ):
        tried(file, event("requested"))
    file.write_text("kind: Colony")
    with pytest.raises(BadInput, match="holds a Colony: must be a Trigger"):
        tried(file, event("requested"))


POSTED = TRIGGER.parent / "events" / "github-workflow.json"


def test_a_body_as_github_posts_it_is_taken_with_the_events_name():
    shown = alate("-e", POSTED, "--event", "workflow_run")
    assert shown.exit_code == 0
    assert "asks for Colony ci-4711-1" in shown.output


def test_a_body_without_its_events_name_says_what_is_missing_and_shows_no_python():
    with pytest.raises(
        BadInput, match=r"X-GitHub-Event must name an event, such as workflow_run: say it with --event$"
    ):
        tried(TRIGGER, POSTED)


def test_a_body_of_a_sender_that_names_the_event_in_it_needs_no_name(tmp_path):
    file = tmp_path / "body.json"
    file.write_text(json.dumps(MERGE))
    assert tried(TRIGGER.parent / "gitlab-merge-request.yaml", file)


def recorded(folder: Path, tenant: str = "default") -> Path:
    event = {"specversion": "1.0", "id": "1", "source": "/alate", "type": "dev.alate.cluster.ready", "data": {}}
    file = folder / "ready.json"
    file.write_text(json.dumps({"subject": f"cluster.ready.{tenant}.train-gpu", "event": event}))
    return file


def test_a_recorded_event_shows_the_profile_that_it_would_deploy(tmp_path):
    deploy, withdraw = tried(TRIGGER.parent / "cluster-tools.yaml", recorded(tmp_path))
    assert deploy.result.why == "deploys AddonProfile tools-train-gpu on train-gpu"
    assert deploy.message is not None
    assert deploy.message.subject == "profile.requested.default"
    assert json.loads(deploy.message.data)["expiresAfter"] == "168h"
    assert (withdraw.message, withdraw.result.why) == (None, "does not hold: when is false")


def test_a_recorded_event_of_another_namespace_is_not_heard(tmp_path):
    for trial in tried(TRIGGER.parent / "cluster-tools.yaml", recorded(tmp_path, "acme")):
        assert trial.message is None
        assert trial.result.why.startswith("does not hear cluster.ready.acme.train-gpu")
