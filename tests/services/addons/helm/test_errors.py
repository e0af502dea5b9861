"""Helm's messages, as version 4.2 wrote them on a real API server, say what to do next."""

import pytest

from services.addons.helm.errors import LONGEST, fault_from
from services.addons.helm.protocol import FaultKind

DENIED, MISSING, LATER = FaultKind.DENIED, FaultKind.MISSING, FaultKind.TRY_LATER
RELEASE = "HelmReleaseError"


@pytest.mark.parametrize(
    ("kind", "text", "expected", "reason"),
    [
        (
            RELEASE,
            'c/templates/a.yaml:4:20\n  executing "c/templates/a.yaml" at <.Values.x.y>:\n    nil pointer evaluating',
            DENIED,
            "RenderFailed",
        ),
        (RELEASE, "execution error at (c/templates/a.yaml:4:13): want x", DENIED, "RenderFailed"),
        (RELEASE, "parse error at (c/templates/a.yaml:1): missing value for if", DENIED, "RenderFailed"),
        (RELEASE, "YAML parse error on c/templates/a.yaml: error converting YAML to JSON", DENIED, "RenderFailed"),
        (
            RELEASE,
            "values don't meet the specifications of the schema(s) in the following chart(s):\nc:\n- at '': missing",
            DENIED,
            "InvalidValues",
        ),
        ("HelmChartLoadError", "cannot load values.yaml: cannot unmarshal yaml document", DENIED, "InvalidValues"),
        ("HelmChartLoadError", "Chart.yaml file is missing", DENIED, "InvalidChart"),
        (
            RELEASE,
            "server-side apply failed for object x2/z /v1, Kind=ConfigMap: .spec: field not declared in schema",
            DENIED,
            "Invalid",
        ),
        (RELEASE, 'server-side apply failed: Service "z" is invalid: [spec.ports[0].port: Invalid', DENIED, "Invalid"),
        (RELEASE, 'configmaps "z" is forbidden: User "x" cannot get resource', DENIED, "Forbidden"),
        (
            RELEASE,
            'ConfigMap "z" in namespace "x" exists and cannot be imported: invalid ownership metadata',
            DENIED,
            "OwnedByAnother",
        ),
        (RELEASE, 'no matches for kind "Foo" in version "foo.io/v1"\nensure CRDs are installed first', MISSING, ""),
        (RELEASE, 'server-side apply failed for object nowhere/x: namespaces "nowhere" not found', MISSING, ""),
        ("HelmCancelledError", "failed pre-install: resource Job/x2/j not ready. status: InProgress", LATER, ""),
        (RELEASE, "another operation (install/upgrade/rollback) is in progress", LATER, ""),
        ("HelmKubeError", "kubernetes cluster unreachable: dial tcp: connection refused", LATER, ""),
        (RELEASE, 'Internal error occurred: failed calling webhook "a": x is invalid', LATER, ""),
    ],
)
def test_a_message_of_helm_is_understood(kind, text, expected, reason):
    fault = fault_from(kind, text)
    assert (fault.kind, fault.reason) == (expected, reason)
    assert "\n" not in fault.message


def test_a_long_message_is_cut():
    assert len(fault_from(RELEASE, "word " * 1000).message) == LONGEST
