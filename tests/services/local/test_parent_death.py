import subprocess

from services.local.parent_death import GATE, Keeper

SLEEP = ("/bin/sleep", "600")


def test_what_is_behind_the_gate_never_begins_if_nobody_opens_it(tmp_path):
    done = tmp_path / "done"
    gated = subprocess.Popen((*GATE, "touch", str(done)), stdin=subprocess.PIPE)

    gated.communicate()

    assert not done.exists()


def test_what_is_behind_the_gate_begins_with_the_first_line_and_an_empty_input():
    gated = subprocess.Popen((*GATE, "cat"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    assert gated.communicate(b"\nnot for you\n")[0] == b""


def test_a_group_that_was_let_go_is_not_killed():
    kept = subprocess.Popen(SLEEP, start_new_session=True)
    keeper = Keeper()
    keeper.hold((kept.pid,))
    keeper.hold(())
    shell = keeper._shell
    shell.stdin.close()
    shell.wait()

    assert kept.poll() is None
    kept.kill()
    kept.wait()


def test_the_last_groups_named_end_with_the_pipe():
    held = subprocess.Popen(SLEEP, start_new_session=True)
    keeper = Keeper()
    keeper.hold((held.pid,))
    keeper._shell.stdin.close()
    keeper._shell.wait()

    assert held.wait(10) < 0


def test_a_keeper_that_was_killed_is_replaced():
    held = subprocess.Popen(SLEEP, start_new_session=True)
    keeper = Keeper()
    keeper.hold(())
    first = keeper._shell
    first.kill()
    first.wait()

    keeper.hold((held.pid,))
    keeper._shell.stdin.close()
    keeper._shell.wait()

    assert held.wait(10) < 0
