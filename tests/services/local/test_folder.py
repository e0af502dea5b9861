import os
import stat

import pytest

from services.local.folder import Absent, Folder, LocalPorts, Taken


def test_the_folder_is_for_its_user_alone(tmp_path):
    folder = Folder(tmp_path / "new" / ".alate")
    folder.take()

    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700
    folder.leave()


def test_a_second_stack_in_the_folder_is_one_clear_sentence(tmp_path):
    first, second = Folder(tmp_path), Folder(tmp_path)
    first.take()
    first.announce("nats://127.0.0.1:1", first.kubeconfig)

    with pytest.raises(Taken, match=rf"^alate is already running in {tmp_path} .process \d+.: stop that first") as told:
        second.take()

    assert "\n" not in str(told.value)
    first.leave()


def test_other_commands_find_the_stack_while_it_runs_and_not_after(tmp_path):
    folder, other = Folder(tmp_path), Folder(tmp_path)
    with pytest.raises(Absent, match="start it with `alate up`"):
        other.address()
    folder.take()
    folder.announce("nats://127.0.0.1:1", folder.kubeconfig)

    found = other.address()
    assert (found.pid, found.nats_url, found.kubeconfig) == (os.getpid(), "nats://127.0.0.1:1", str(folder.kubeconfig))

    folder.leave()
    with pytest.raises(Absent):
        other.address()


def test_a_folder_left_by_a_killed_stack_can_be_taken(tmp_path):
    killed, again = Folder(tmp_path), Folder(tmp_path)
    killed.take()
    killed.announce("nats://127.0.0.1:1", killed.kubeconfig)
    killed._lock.close()

    with pytest.raises(Absent):
        again.address()
    again.take()
    again.leave()


def test_ports_are_remembered(tmp_path):
    folder = Folder(tmp_path)
    assert folder.ports() is None
    folder.keep_ports(LocalPorts(1, 2, 3, (4, 5)))

    assert folder.ports() == LocalPorts(1, 2, 3, (4, 5))


def test_ports_half_written_by_a_killed_stack_are_forgotten(tmp_path):
    (tmp_path / "ports.json").write_text('{"api": 1, "na')

    assert Folder(tmp_path).ports() is None


def test_lost_ports_are_one_sentence_and_none_where_there_was_no_stack(tmp_path):
    folder = Folder(tmp_path)
    assert folder.ports_lost() == ""
    folder.kubeconfig.write_text("of last time")
    assert folder.ports_lost().startswith(f"{tmp_path}/ports.json is gone: new ports are taken")
    (tmp_path / "ports.json").write_text('{"api": 1, "na')
    assert "ports.json cannot be read" in folder.ports_lost()
    folder.keep_ports(LocalPorts(1, 2, 3, (4, 5)))
    assert folder.ports_lost() == ""
