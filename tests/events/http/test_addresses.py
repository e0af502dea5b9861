"""An address is told for what it is, however it is written; a name leads where its addresses lead, at that moment."""

import socket
from ipaddress import ip_network
from typing import Any

import pytest
from aiohttp import web

from events.errors import Denied, TryLater
from events.http.addresses import INTERNAL, LINK_LOCAL, LOOPBACK, PRIVATE, Reach, own, ranges
from events.http.fetch import fetch
from events.kube.auth import FOREIGN, TRUSTED, transport_of
from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS
from services.sandbox.api.server.kubeconfig import kubeconfig

STRICT = Reach(frozenset({PRIVATE}), "ALATE_X_ALLOW", ranges("10.96.0.0/16,fd96::/108"))
REFUSED = {
    "127.0.0.1": "this host itself",
    "127.9.9.9": "this host itself",
    "0.0.0.0": "this host itself",  # noqa: S104 - refused
    "::1": "this host itself",
    "[::1]": "this host itself",
    "::": "this host itself",
    "::ffff:127.0.0.1": "this host itself",
    "localhost": "this host itself",
    "a.LOCALHOST.": "this host itself",
    "169.254.169.254": "the link, where clouds keep",
    "fe80::1%eth0": "the link",
    "::ffff:169.254.169.254": "the link",
    "64:ff9b::a9fe:a9fe": "the link",
    "2002:a9fe:a9fe::1": "the link",
    "fd00:ec2::254": "the link",
    "168.63.129.16": "the link",
    "10.96.0.1": "the cluster that alate runs in",
    "10.96.7.7": "the cluster that alate runs in",
    "::ffff:10.96.0.1": "the cluster that alate runs in",
    "64:ff9b::10.96.0.1": "the cluster that alate runs in",
    "fd96::1": "the cluster that alate runs in",
    "64:ff9b:1::169.254.169.254": "the link",
    "::ffff:0:169.254.169.254": "the link",
    "::127.0.0.1": "this host itself",
    "kubernetes.default.svc": "the cluster that alate runs in",
    "kubernetes": "the cluster that alate runs in",
    "x.y.svc.cluster.local.": "the cluster that alate runs in",
    "224.0.0.1": "no address that anybody can have",
    "255.255.255.255": "no address that anybody can have",
}


@pytest.mark.parametrize("host", REFUSED)
def test_what_only_we_can_reach_is_refused(host):
    why = STRICT.refusal(host)
    assert REFUSED[host] in why
    assert "ALATE_X_ALLOW" in why or "name another" in why


@pytest.mark.parametrize("host", ["10.0.0.7", "192.168.1.1", "172.31.0.1", "100.64.0.1", "fd12::1", "8.8.8.8", "k.io"])
def test_what_a_cluster_on_premises_or_in_a_cloud_has_is_not(host):
    assert STRICT.refusal(host) == ""


def test_each_place_is_allowed_by_its_own_word():
    for place, host in ((LOOPBACK, "::1"), (LINK_LOCAL, "169.254.1.1"), (INTERNAL, "10.96.0.1"), (PRIVATE, "10.0.0.1")):
        assert Reach(frozenset({place}), own=STRICT.own).refusal(host) == ""
        assert Reach(own=STRICT.own).refusal(host).startswith(f"{host} is of")


def test_a_pod_is_told_of_its_own_api_server_and_its_operator_tells_the_rest():
    assert own("10.96.0.1", "10.244.0.0/16, fd00::/64") == {
        ip_network(each) for each in ("10.96.0.1", "10.244.0.0/16", "fd00::/64")
    }
    assert own() == frozenset()


def test_an_api_server_that_a_pod_is_told_of_by_its_name_is_refused_by_that():
    named = Reach(own=own("Api.example.COM"))
    assert "the cluster that alate runs in" in named.refusal("api.example.com.")
    assert (named.refusal("k.io"), named.refusal("8.8.8.8")) == ("", "")


@pytest.fixture
def looked_up(monkeypatch):
    """Names and what they lead to; as often as it is asked, the last one again."""
    told: dict[Any, Any] = {}
    real = socket.getaddrinfo

    def look_up(host, *args, **more):
        return real(told.get(host, host), *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return told


async def test_a_kubeconfig_that_leads_to_this_host_is_refused_unless_that_is_allowed(api):
    for allowed, refused in ((FOREIGN, True), (TRUSTED, False)):
        kube = Kube(
            await transport_of(kubeconfig(api.url, "x", "").replace("/clusters/x", ""), allowed=allowed),
            random=lambda: 0.5,
        )
        try:
            if refused:
                with pytest.raises(Denied, match=r"host itself.* loopback in ALATE_CLUSTERS_ALLOW") as no:
                    await kube.list(CONFIGMAPS)
                assert (no.value.reason, api.asked) == ("AddressRefused", [])
            else:
                await kube.list(CONFIGMAPS)
        finally:
            await kube.close()


@pytest.mark.parametrize("passed_by", ["", "https://127.0.0.1:9", "wss://127.0.0.1:9"], ids=["none", "https", "wss"])
async def test_a_name_that_leads_to_this_host_is_refused_whatever_proxy_is_passed_by(
    api, looked_up, monkeypatch, passed_by
):
    monkeypatch.setenv("http_proxy", passed_by)
    looked_up["innocent.example"] = "127.0.0.1"
    text = kubeconfig(api.url.replace("127.0.0.1", "innocent.example"), "x", "").replace("/clusters/x", "")
    kube = Kube(await transport_of(text), random=lambda: 0.5)
    try:
        with pytest.raises(Denied, match=r"127\.0\.0\.1 is of this host itself"):
            await kube.list(CONFIGMAPS)
    finally:
        await kube.close()
    assert api.asked == []


async def test_a_catalog_is_not_fetched_from_where_only_we_reach(api, looked_up):
    looked_up["innocent.example"] = "127.0.0.1"
    for url in (api.url, api.url.replace("127.0.0.1", "innocent.example"), "http://169.254.169.254/latest/meta-data"):
        with pytest.raises(TryLater, match="must not be spoken to"):
            await fetch(url, reach=STRICT)
    assert api.asked == []


async def test_no_redirect_of_a_catalog_is_followed(api):
    async def moved(_):
        raise web.HTTPFound("http://169.254.169.254/latest/meta-data")

    api.scripted.append(moved)
    with pytest.raises(TryLater, match=r"answers 302, a redirect to http://169.254.169.254/\S+: name that address"):
        await fetch(api.url)
