"""Every way to log in that services need is shown to work against a server with TLS on loopback."""

import asyncio
import base64
import datetime as dt
import ssl
import subprocess
import sys
import textwrap
from ipaddress import ip_address
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kubernetes_asyncio.config import incluster_config

from events.errors import Denied, TryLater
from events.kube import auth
from events.kube.auth import TRUSTED, transport, transport_of
from events.kube.client import Kube
from events.kube.kubeconfig import chosen, unfolded

NOW = dt.datetime.now(dt.UTC)


class Authority:
    """A certificate authority that signs for loopback."""

    def __init__(self, name) -> None:
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.cert = self._sign(self.name, self.key, x509.BasicConstraints(ca=True, path_length=None))

    def _sign(self, subject, key, extension):
        builder = x509.CertificateBuilder(self.name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(NOW - dt.timedelta(days=1)).not_valid_after(NOW + dt.timedelta(days=1))
        return builder.add_extension(extension, critical=True).sign(self.key, hashes.SHA256())

    def pair(self, common_name):
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        cert = self._sign(subject, key, x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cert.public_bytes(serialization.Encoding.PEM), private

    @property
    def pem(self):
        return self.cert.public_bytes(serialization.Encoding.PEM)


@pytest.fixture(scope="module")
def authority():
    return Authority("the cluster's")


@pytest.fixture
async def secure(authority, tmp_path):
    """An API that tells who asks: by client certificate, or by the Authorization header."""
    for file, content in zip(("crt", "key"), authority.pair("server"), strict=True):
        (tmp_path / file).write_bytes(content)
    (tmp_path / "ca.crt").write_bytes(authority.pem)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.crt")
    tls.verify_mode = ssl.CERT_OPTIONAL
    tls.load_cert_chain(tmp_path / "crt", tmp_path / "key")

    async def whoami(request):
        peer = request.transport.get_extra_info("peercert") or {}
        names = dict(pair[0] for pair in peer.get("subject", ()))
        said = {"path": request.path, "token": request.headers.get("Authorization")}
        return web.json_response(said | {"cn": names.get("commonName")})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", whoami)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def config(server, user, **cluster):
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": server} | cluster}],
        "users": [{"name": "u", "user": user}],
    }


def b64(data):
    return base64.b64encode(data).decode()


async def ask(opened):
    kube = Kube(opened, random=lambda: 0.0)
    try:
        return await kube.read("/version")
    finally:
        await kube.close()


@pytest.fixture
def written(tmp_path):
    def write(document):
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return str(file)

    return write


async def test_a_token_and_an_inline_authority_reach_a_server_below_a_path(secure, authority, written):
    ca = {"certificate-authority-data": b64(authority.pem)}
    document = config(f"{secure}/clusters/x", {"token": "t1"}, **ca)
    said = await ask(await transport(written(document)))
    assert (said["token"], said["path"]) == ("Bearer t1", "/clusters/x/version")
    assert (await ask(await transport_of(yaml.safe_dump(document), allowed=TRUSTED)))["token"] == "Bearer t1"  # noqa: S105 - not one


async def test_a_client_certificate_is_shown_and_leaves_no_file(secure, authority, written):
    cert, key = authority.pair("alate")
    user = {"client-certificate-data": b64(cert), "client-key-data": b64(key)}
    document = config(secure, user, **{"certificate-authority-data": b64(authority.pem)})
    assert (await ask(await transport(written(document))))["cn"] == "alate"


async def test_files_are_named_relative_to_the_kubeconfig(secure, written):
    document = config(secure, {"tokenFile": "token"}, **{"certificate-authority": "ca.crt"})
    file = written(document)
    (token := Path(file).parent / "token").write_text("t1\n")
    clock = [NOW]
    kube = Kube(await transport(file, clock=lambda: clock[0]), random=lambda: 0.0)
    assert (await kube.read("/version"))["token"] == "Bearer t1"  # noqa: S105 - not one
    token.write_text("t2\n")
    assert (await kube.read("/version"))["token"] == "Bearer t1"  # noqa: S105 - not one
    clock[0] += dt.timedelta(seconds=61)
    assert (await kube.read("/version"))["token"] == "Bearer t2"  # noqa: S105 - not one
    await kube.close()


PLUGIN = """
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
file.write_text(file.read_text() + "x" if file.exists() else "x")
status = {"token": f"t{len(file.read_text())}", "expirationTimestamp": sys.argv[2]}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


async def test_a_plugin_is_run_again_before_its_token_ends(secure, authority, written, tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    until = (NOW + dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(tmp_path / "plugin.py"), str(tmp_path / "runs"), until],
    }
    file = written(config(secure, {"exec": run}, **{"certificate-authority-data": b64(authority.pem)}))
    clock = [NOW]
    kube = Kube(await transport(file, clock=lambda: clock[0]), random=lambda: 0.0)
    tokens = []
    for minutes in (0, 54, 2):
        clock[0] += dt.timedelta(minutes=minutes)
        tokens.append((await kube.read("/version"))["token"])
    assert tokens == ["Bearer t1", "Bearer t1", "Bearer t2"]
    await kube.close()


async def test_no_user_is_an_anonymous_one(secure, authority, written):
    document = config(secure, {}, **{"certificate-authority-data": b64(authority.pem)})
    del document["contexts"][0]["context"]["user"]
    assert (await ask(await transport(written(document))))["token"] is None


async def test_a_server_signed_by_another_authority_is_not_trusted(secure, written):
    document = config(secure, {}, **{"certificate-authority-data": b64(Authority("another").pem)})
    with pytest.raises(Denied, match="expected the cluster's own CA in certificate-authority-data") as caught:
        await ask(await transport(written(document)))
    assert caught.value.reason == "BadKubeconfig"


async def test_a_pod_uses_its_service_account_and_its_rotated_token(secure, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("sa1")
    host, port = secure.removeprefix("https://").split(":")
    for key, value in {"HOST": host, "PORT": port}.items():
        monkeypatch.setenv(f"KUBERNETES_SERVICE_{key}", value)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    clock = [NOW]
    kube = Kube(await transport(None, clock=lambda: clock[0]), random=lambda: 0.0)
    assert (await kube.read("/version"))["token"] == "Bearer sa1"  # noqa: S105 - not one
    (tmp_path / "token").write_text("sa2")
    clock[0] += dt.timedelta(seconds=61)
    assert (await kube.read("/version"))["token"] == "Bearer sa2"  # noqa: S105 - not one
    await kube.close()


async def test_neither_kubeconfig_nor_pod_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(Denied, match=r"none does not exist, and this is no pod.*name a kubeconfig that exists"):
        await transport(None)


async def test_a_plugin_that_fails_is_one_sentence(written):
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/false"}
    with pytest.raises(Denied, match=r"kubeconfig .*kubeconfig cannot be used: exec: process returned 1"):
        await transport(written(config("https://127.0.0.1:1", {"exec": run})))


async def test_an_authority_that_is_no_certificate_is_one_sentence(written):
    ca = {"certificate-authority-data": b64(b"nonsense")}
    with pytest.raises(Denied, match=r"kubeconfig .* cannot be used: "):
        await transport(written(config("https://127.0.0.1:1", {}, **ca)))


async def test_a_server_that_is_not_there_is_no_fault_of_the_kubeconfig(written, unused_tcp_port):
    opened = await transport(written(config(f"http://127.0.0.1:{unused_tcp_port}", {})))
    with pytest.raises(TryLater, match=f"127.0.0.1:{unused_tcp_port} cannot be reached"):
        await ask(opened)


async def test_many_clusters_opened_leave_no_descriptor_behind(secure, authority, written):
    cert, key = authority.pair("alate")
    user = {"client-certificate-data": b64(cert), "client-key-data": b64(key)}
    text = yaml.safe_dump(config(secure, user, **{"certificate-authority-data": b64(authority.pem)}))
    await transport_of(text, allowed=TRUSTED)
    before = await asyncio.to_thread(open_descriptors)
    for _ in range(20):
        await transport_of(text, allowed=TRUSTED)
    assert await asyncio.to_thread(open_descriptors) == before


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        ({}, {}),
        ({"token": "t1"}, {"tls-server-name": "k.example"}),
        ({"client-certificate-data": "crt", "client-key-data": "key"}, {"insecure-skip-tls-verify": True}),
        ({"token": "t1"}, {"proxy-url": "http://127.0.0.1:3128"}),
    ],
)
async def test_inline_credentials_are_read_as_kubernetes_asyncio_reads_them(authority, tmp_path, user, cluster):
    held = dict(zip(("crt", "key"), map(b64, authority.pair("alate")), strict=True))
    user = {key: held.get(value, value) for key, value in user.items()}
    document = config("https://127.0.0.1:1/k/", user, **{"certificate-authority-data": b64(authority.pem)} | cluster)
    files = unfolded(chosen(document, "the test's"), tmp_path)
    ours, (theirs, _) = auth._inline(files), await auth._login(files)
    for name in ("host", "verify_ssl", "ssl_ca_cert", "cert_file", "key_file", "tls_server_name", "proxy"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.api_key.get("BearerToken") == theirs.api_key.get("BearerToken")


def test_inline_credentials_load_no_kubernetes_asyncio():
    code = """
        import asyncio, sys
        from events.kube.auth import transport_of
        text = '''
        current-context: c
        contexts: [{name: c, context: {cluster: k, user: u}}]
        clusters: [{name: k, cluster: {server: "http://127.0.0.1:1/clusters/x"}}]
        users: [{name: u, user: {token: t}}]
        '''
        access = asyncio.run(transport_of(text)).credentials
        print(access._access.server, access._access.token, "kubernetes_asyncio" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["http://127.0.0.1:1/clusters/x", "Bearer", "t", "False"]
