from events.bus import Consumer
from events.jetstream.permissions import Role
from services.edge.page.graph import graph
from services.edge.page.summary import SubjectGroup

GROUPS = (SubjectGroup("cluster", "provisioning"), SubjectGroup("inventory.offers", "inventory"))
ROLES = (
    Role("addons", works=(Consumer("addons-events", "EVENTS", ("due.addon.*.*", "cluster.*.*.*")),)),
    Role("provisioning", works=(Consumer("provisioning-levels", "LEVELS", ("inventory.offers.*.*",)),)),
    Role("silent"),
)


def test_edges_go_from_publishers_to_subjects_and_from_there_to_consumers():
    found = graph(ROLES, GROUPS, {"cluster": 2.0})
    assert {(edge.source, edge.target, edge.mainstat) for edge in found.edges} == {
        ("provisioning", "subject:cluster", 2.0),
        ("subject:cluster", "addons", 2.0),
        ("inventory", "subject:inventory.offers", 0.0),
        ("subject:inventory.offers", "provisioning", 0.0),
    }


def test_nodes_are_publishers_consumers_and_subject_groups():
    found = graph(ROLES, GROUPS, {"cluster": 2.0})
    assert {node.id: node.mainstat for node in found.nodes} == {
        "provisioning": 2.0,
        "inventory": 0.0,
        "addons": 0.0,
        "subject:cluster": 2.0,
        "subject:inventory.offers": 0.0,
    }
