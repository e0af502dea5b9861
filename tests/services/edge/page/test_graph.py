from events.bus import Consumer
from events.jetstream.permissions import Role
from services.edge.page.brief import Lane
from services.edge.page.graph import graph

LANES = (Lane("cluster", "provisioning"), Lane("inventory.offers", "inventory"))
ROLES = (
    Role("addons", works=(Consumer("addons-events", "EVENTS", ("due.addon.*.*", "cluster.*.*.*")),)),
    Role("provisioning", works=(Consumer("provisioning-levels", "LEVELS", ("inventory.offers.*.*",)),)),
    Role("silent"),
)


def test_an_edge_goes_from_who_says_to_where_and_from_there_to_who_hears():
    found = graph(ROLES, LANES, {"cluster": 2.0})
    assert {(edge.source, edge.target, edge.mainstat) for edge in found.edges} == {
        ("provisioning", "lane:cluster", 2.0),
        ("lane:cluster", "addons", 2.0),
        ("inventory", "lane:inventory.offers", 0.0),
        ("lane:inventory.offers", "provisioning", 0.0),
    }


def test_a_node_is_everybody_who_says_or_hears_and_every_lane():
    found = graph(ROLES, LANES, {"cluster": 2.0})
    assert {node.id: node.mainstat for node in found.nodes} == {
        "provisioning": 2.0,
        "inventory": 0.0,
        "addons": 0.0,
        "lane:cluster": 2.0,
        "lane:inventory.offers": 0.0,
    }
