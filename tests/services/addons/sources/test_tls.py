"""Servers with certificates of an authority of one's own are trusted by the Secret that names it, and not without."""

import datetime as dt
import ipaddress
import ssl

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from events.errors import Denied, TryLater
from events.http.addresses import LOOPBACK, Reach
from tests.services.addons.sources.repository import Repository, serve
from tests.services.addons.sources.world import CONFIG, spec


def certificate(folder) -> str:
    """A certificate of 127.0.0.1, signed by itself, with its key in files. Returns its PEM."""
    key, name = generate_private_key(SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = dt.datetime.now(dt.UTC)
    host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(host, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "both.pem").write_bytes(private + made.public_bytes(Encoding.PEM))
    return made.public_bytes(Encoding.PEM).decode()


@pytest.fixture
async def secure(server, tmp_path):
    """The server over TLS: its URL and certificate."""
    pem = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}", pem
    await runner.cleanup()


async def test_an_authority_of_ones_own_is_trusted_by_its_secret_alone(world, server, secure):
    url, pem = secure
    server.files["/x.yaml"] = CONFIG.encode()
    await world.secret("ca", ca__crt=pem, token="sesame")  # noqa: S106 - of a test
    found = await world.sources().fetch(spec(url=f"{url}/x.yaml", credentials={"name": "ca"}), "acme")
    assert found.path.joinpath("x.yaml").is_file()
    with pytest.raises(TryLater, match=r"/x.yaml shows a certificate that is not trusted"):
        await world.sources().fetch(spec(url=f"{url}/x.yaml"), "acme")


async def test_git_trusts_it_too(world, server, secure, tmp_path):
    url, pem = secure
    Repository(tmp_path / "served" / "addons").commit({"one.yaml": CONFIG})
    serve(server, tmp_path / "served")
    await world.secret("ca", ca__crt=pem)
    source = {"url": f"{url}/git/addons"}
    sources = world.sources(reach=Reach(frozenset({LOOPBACK})))
    assert (
        (await sources.fetch(spec(git=source, credentials={"name": "ca"}), "acme")).path.joinpath("one.yaml").is_file()
    )
    with pytest.raises(TryLater, match="/git/addons cannot be fetched: unable to access"):
        await sources.fetch(spec(git=source), "acme")


async def test_a_certificate_that_is_none_is_told(world, secure):
    await world.secret("ca", ca__crt="no certificate")
    with pytest.raises(Denied, match=r"ca.crt of the credentials holds no valid certificate"):
        await world.sources().fetch(spec(url=f"{secure[0]}/x.yaml", credentials={"name": "ca"}), "acme")


async def test_encryption_is_not_left_by_a_redirect(world, server, secure):
    async def leave(request):
        return web.Response(status=302, headers={"Location": f"{server.url}/plain.yaml"})

    url, pem = secure
    server.handlers["/x.yaml"] = leave
    await world.secret("ca", ca__crt=pem)
    with pytest.raises(Denied, match="which is not encrypted"):
        await world.sources().fetch(spec(url=f"{url}/x.yaml", credentials={"name": "ca"}), "acme")
