import re
import stat
from asyncio import gather, start_server
from contextlib import AsyncExitStack
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, socket

import pytest

from events.bus import Unavailable
from events.jetstream import connection as jetstream_connection
from events.jetstream.bus import connect
from events.jetstream.credentials import NkeyCredentials
from events.streams import STREAMS
from services.compose import SERVICES as COMPOSED
from services.local.folder import Folder, LocalPorts
from services.local.probe import HOST, Busy
from services.local.programs import EDGE, NATS, OUTBOUND, SANDBOX, SERVICES, SHOWN, Wiring, choose_ports, stages
from services.local.supervisor import Supervisor
from services.outbound.targets import read_targets

PROCFILE = Path(__file__).parents[3] / "Procfile"
PORTS = LocalPorts(20_001, 20_002, 20_003, (20_004, 20_005, 20_006, 20_007, 20_008, 20_009, 20_011), 20_010)


def names(wiring: Wiring) -> list[list[str]]:
    return [[program.name for program in stage] for stage in stages(wiring)]


def test_the_procfile_has_one_line_per_service():
    lines = PROCFILE.read_text().splitlines()

    assert [re.fullmatch(r"(\w+): python -m services (\w+)", line).groups() for line in lines] == [
        (name, name) for name in COMPOSED
    ]


def test_the_stack_runs_every_service():
    assert tuple(COMPOSED) == SERVICES


def test_the_stack_is_nats_then_the_sandbox_then_the_services(tmp_path):
    assert names(Wiring(Folder(tmp_path), PORTS)) == [[NATS], [SANDBOX], list(SERVICES)]


def test_a_real_management_cluster_takes_the_sandboxs_place(tmp_path):
    wiring = Wiring(Folder(tmp_path), PORTS, kubeconfig=tmp_path / "real")

    assert names(wiring) == [[NATS], list(SERVICES)]
    assert {program.env["ALATE_KUBECONFIG"] for program in stages(wiring)[-1]} == {str(tmp_path / "real")}


def test_on_a_laptop_connections_may_lead_to_itself_unless_something_else_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("ALATE_CATALOG_ALLOW", raising=False)
    monkeypatch.setenv("ALATE_CLUSTERS_ALLOW", "none")
    (inventory, *_) = (each for each in stages(Wiring(Folder(tmp_path), PORTS))[-1] if each.name == "inventory")
    said = (inventory.env["ALATE_CATALOG_ALLOW"], inventory.env["ALATE_CLUSTERS_ALLOW"])
    assert said == ("private,loopback", "none")


def test_a_real_nats_takes_nats_servers_place(tmp_path):
    wiring = Wiring(Folder(tmp_path), PORTS, nats_url="nats://127.0.0.1:4222")

    assert names(wiring) == [[SANDBOX], list(SERVICES)]
    assert {program.env["ALATE_NATS_URL"] for program in stages(wiring)[-1]} == {"nats://127.0.0.1:4222"}


def test_every_service_has_a_health_address_of_its_own(tmp_path):
    services = stages(Wiring(Folder(tmp_path), PORTS))[-1]

    assert len({program.env["ALATE_HEALTH_ADDRESS"] for program in services}) == len(SERVICES)


KUBECONFIG = """
current-context: it
contexts: [{{name: it, context: {{cluster: it}}}}]
clusters: [{{name: it, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
"""
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
SAYS = {NATS: b"INFO {}\r\n", SANDBOX: GOOD} | dict.fromkeys(SERVICES, GOOD)


@pytest.mark.parametrize("hangs", [False, True])
async def test_of_each_program_it_is_known_whether_it_hangs(tmp_path, hangs):
    folder, ports = Folder(tmp_path), choose_ports(None, None)
    folder.kubeconfig.write_text(KUBECONFIG.format(port=ports.api))

    def saying(words):
        async def answer(reader, writer):
            if not hangs:
                writer.write(words)
            else:  # who is stopped is still connected to, by its kernel
                await reader.read()
            writer.close()

        return answer

    async with AsyncExitStack() as stack:
        for name, port in zip(SAYS, (ports.nats, ports.api, *ports.health), strict=True):
            await stack.enter_async_context(await start_server(saying(SAYS[name]), HOST, port))
        programs = [each for stage in stages(Wiring(folder, ports)) for each in stage]
        alive = await gather(*(each.alive() for each in programs))
        assert dict(zip((each.name for each in programs), alive, strict=True)) == dict.fromkeys(SAYS, not hangs)


def test_further_settings_reach_every_service(tmp_path):
    services = stages(Wiring(Folder(tmp_path), PORTS, settings={"ALATE_BACKEND": "k0rdent"}))[-1]

    assert {program.env["ALATE_BACKEND"] for program in services} == {"k0rdent"}


@pytest.fixture
def taken():
    with socket(AF_INET, SOCK_STREAM) as other:
        other.bind((HOST, 0))
        other.listen(1)
        yield other.getsockname()[1]


def test_a_port_that_is_asked_for_and_taken_is_one_clear_sentence(taken):
    with pytest.raises(Busy, match=rf"^port {taken} on 127.0.0.1 is taken by another program: name a free one"):
        choose_ports(None, taken)


def test_last_times_api_port_is_not_given_up_quietly(taken):
    free = choose_ports(None, None)
    with pytest.raises(Busy, match="the kubeconfigs of this folder point here"):
        choose_ports(LocalPorts(taken, free.nats, free.monitor, free.health), None)


def test_last_times_ports_are_taken_again():
    first = choose_ports(None, None)

    assert choose_ports(first, None) == first


def test_another_port_of_last_time_that_is_taken_is_replaced(taken):
    first = choose_ports(None, None)
    again = choose_ports(LocalPorts(first.api, taken, first.monitor, first.health), None)

    assert again.nats != taken
    assert (again.api, again.monitor, again.health) == (first.api, first.monitor, first.health)


def test_a_folder_of_a_release_with_fewer_services_keeps_its_ports():
    first = choose_ports(None, None)
    again = choose_ports(LocalPorts(first.api, first.nats, first.monitor, first.health[:-1]), None)

    assert (again.api, again.nats, again.monitor, again.health[:-1]) == first_of(first)
    assert len(again.health) == len(SERVICES)
    assert again.edge


def first_of(ports: LocalPorts) -> tuple[object, ...]:
    return ports.api, ports.nats, ports.monitor, ports.health[:-1]


def test_webhooks_have_a_door_and_a_folder_for_their_user_alone(tmp_path):
    (edge,) = (program for program in stages(Wiring(Folder(tmp_path), PORTS))[-1] if program.name == EDGE)

    assert edge.env["ALATE_EDGE_ADDRESS"] == f"{HOST}:{PORTS.edge}"
    assert stat.S_IMODE(Path(edge.env["ALATE_EDGE_SECRETS"]).stat().st_mode) == 0o700


def test_who_is_told_outside_is_a_file_for_its_user_alone_that_is_never_written_over(tmp_path):
    wiring = Wiring(Folder(tmp_path), PORTS)
    (outbound,) = (program for program in stages(wiring)[-1] if program.name == OUTBOUND)
    file = Path(outbound.env["ALATE_OUTBOUND_TARGETS"])

    assert stat.S_IMODE(Path(outbound.env["ALATE_OUTBOUND_SECRETS"]).stat().st_mode) == 0o700
    assert read_targets(file.read_text()) == {}
    file.write_text("targets: [] # mine")
    stages(wiring)
    assert file.read_text() == "targets: [] # mine"


def test_the_stack_makes_a_token_to_sign_in_with_once_and_for_its_owner_alone(tmp_path):
    wiring = Wiring(Folder(tmp_path), PORTS)
    stages(wiring)
    token = wiring.sign_in.read_bytes()
    stages(wiring)
    assert (wiring.sign_in.read_bytes(), len(token.strip())) == (token, 64)
    assert stat.S_IMODE(wiring.sign_in.stat().st_mode) == 0o600


def test_everybody_shows_a_key_of_its_own(tmp_path):
    nats, sandbox, services = stages(Wiring(Folder(tmp_path), PORTS))
    shown = {program.name: Path(program.env["ALATE_NATS_NKEY"]) for program in (*sandbox, *services)}

    assert {name: key.stem for name, key in shown.items()} == {name: name for name in (SANDBOX, *SERVICES)}
    assert all(key.exists() for key in shown.values())
    assert "ALATE_NATS_NKEY" not in nats[0].env


def test_another_nats_is_shown_what_the_environment_says(tmp_path):
    services = stages(Wiring(Folder(tmp_path), PORTS, nats_url="nats://127.0.0.1:4222"))[-1]

    assert not [name for program in services for name in program.env if name in SHOWN]
    assert not (tmp_path / "keys").exists()


def test_what_is_for_another_nats_is_not_shown_to_ours(tmp_path):
    services = stages(Wiring(Folder(tmp_path), PORTS))[-1]

    assert {program.env[name] for program in services for name in SHOWN if name != "ALATE_NATS_NKEY"} == {""}


async def test_nats_is_ready_when_it_has_the_streams_and_lets_in_who_has_a_key_and_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr(jetstream_connection, "CONNECT", 1.0)
    ports = choose_ports(None, None)
    wiring = Wiring(Folder(tmp_path), ports)
    ((program,), *_) = stages(wiring)
    async with Supervisor(((program,),)):
        operator = NkeyCredentials(nkey=wiring.key("operator"))
        bus = await connect(wiring.bus, name="operator", streams=(), credentials=operator)
        assert [await bus.count(spec.name, ">") for spec in STREAMS] == [0] * len(STREAMS)
        await bus.close()
        with pytest.raises(Unavailable, match="Authorization Violation"):
            await connect(wiring.bus, name="anybody")


def test_nats_shows_its_monitoring_page_only_where_it_is_asked_for(tmp_path):
    for monitored in (False, True):
        stages(Wiring(Folder(tmp_path), PORTS, monitored=monitored))
        assert ("http:" in (tmp_path / "nats" / "nats-server.conf").read_text()) is monitored


def test_the_shipped_prices_are_for_simulated_clouds_and_for_who_names_them(tmp_path, monkeypatch):
    def catalogs(**more):
        wiring = Wiring(Folder(tmp_path), PORTS, **more)
        return {each.name: each.env.get("ALATE_CATALOG") for each in stages(wiring)[-1]}

    monkeypatch.delenv("ALATE_CATALOG", raising=False)
    simulated = catalogs()
    assert {name for name, value in simulated.items() if value} == {"inventory", "provisioning"}
    assert not any(catalogs(kubeconfig=tmp_path / "real").values())
    assert catalogs(settings={"ALATE_CATALOG": "mine.csv"})["inventory"] == "mine.csv"
