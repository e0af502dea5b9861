"""Every mistake in a kubeconfig is shown to be one sentence: what, where, and what would be right."""

from pathlib import Path

import pytest
import yaml

from events.errors import Denied
from events.kube.kubeconfig import chosen, merged, parsed, sealed, unfolded

GOOD = """
current-context: one
contexts:
- {name: one, context: {cluster: k, user: u}}
- {name: two, context: {cluster: k, user: u}}
clusters:
- {name: k, cluster: {server: "https://127.0.0.1:6443"}}
users:
- {name: u, user: {token: t}}
"""


def changed(change, context=None):
    document = parsed(GOOD, "kubeconfig F")
    change(document)
    return chosen(document, "kubeconfig F", context)


MISTAKES = {
    "is not YAML .at line \\d+: .*: expected clusters, contexts and users": lambda: parsed("{", "kubeconfig F"),
    "kubeconfig F holds no mapping: expected": lambda: parsed("", "kubeconfig F"),
    "kubeconfig F holds no mapping: ": lambda: parsed("just text", "kubeconfig F"),
    "contexts in kubeconfig F is no list: expected entries with a name and a context": lambda: parsed(
        "contexts: {a: b}", "kubeconfig F"
    ),
    "kubeconfig F has no context 'three': it has 'one', 'two'": lambda: changed(lambda _: None, "three"),
    "kubeconfig F names no current-context: choose one of 'one', 'two'": lambda: changed(
        lambda d: d.pop("current-context")
    ),
    "kubeconfig F has no cluster 'k': it has none": lambda: changed(lambda d: d.pop("clusters")),
    "kubeconfig F has no user 'u': it has none": lambda: changed(lambda d: d.pop("users")),
    "server of cluster 'k' in kubeconfig F is '': expected an https:// URL": lambda: changed(
        lambda d: d["clusters"][0].update(cluster={})
    ),
    "certificate-authority in kubeconfig F is /none/ca.crt, and there is no such file: name one": lambda: unfolded(
        changed(lambda d: d["clusters"][0]["cluster"].update({"certificate-authority": "/none/ca.crt"})), Path()
    ),
    "client-key-data in kubeconfig F is not base64: expected a PEM file": lambda: unfolded(
        changed(lambda d: d["users"][0]["user"].update({"client-key-data": "%%"})), Path()
    ),
    "kubeconfig /none/config: there is no such file; name one that exists": lambda: merged([Path("/none/config")]),
    "kubeconfig F asks for exec: out of a Secret only inline data": lambda: sealed(
        changed(lambda d: d["users"][0]["user"].update(exec={"command": "rm"}))
    ),
    "kubeconfig F asks for tokenFile: out of a Secret": lambda: sealed(
        changed(lambda d: d["users"][0]["user"].update(tokenFile="/etc/passwd"))
    ),
    "kubeconfig F asks for certificate-authority: out of a Secret": lambda: sealed(
        changed(lambda d: d["clusters"][0]["cluster"].update({"certificate-authority": "/etc/passwd"}))
    ),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_one_sentence(sentence):
    with pytest.raises(Denied, match=sentence) as caught:
        MISTAKES[sentence]()
    assert caught.value.reason == "BadKubeconfig"
    assert "\n" not in str(caught.value)


def test_a_kubeconfig_that_is_a_folder_is_not_there(tmp_path):
    with pytest.raises(Denied, match="there is no such file"):
        merged([tmp_path])


def test_a_kubeconfig_that_is_no_text_says_so(tmp_path):
    (tmp_path / "c").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Denied, match=r"c cannot be read .*: expected a text file"):
        merged([tmp_path / "c"])


def test_of_several_files_the_first_to_say_something_wins(tmp_path):
    (tmp_path / "a").write_text(GOOD)
    (tmp_path / "b").write_text(GOOD.replace("current-context: one", "current-context: two").replace("6443", "1"))
    document, source = merged([tmp_path / "none", tmp_path / "a", tmp_path / "b"])
    choice = chosen(document, source)
    assert choice.cluster["server"].endswith("6443")
    assert document["current-context"] == "one"
    assert source == f"kubeconfig {tmp_path / 'a'}, {tmp_path / 'b'}"


def test_inline_certificates_become_files_that_only_the_folder_keeps(tmp_path):
    choice = chosen(parsed(GOOD, "F"), "F")
    choice.cluster["certificate-authority-data"] = "cGVt"
    flat = unfolded(choice, tmp_path)
    assert flat.cluster["certificate-authority"] == str(tmp_path / "certificate-authority")
    assert (tmp_path / "certificate-authority").read_text() == "pem"
    assert "certificate-authority-data" not in yaml.safe_dump(flat.document)
