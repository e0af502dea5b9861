"""Plain YAML of a source: every manifest in the order of its name, within bounds, mistakes named by their file."""

import json
from itertools import pairwise

import pytest

from events.errors import Denied
from services.addons.render.options import RenderSettings

ALIASES = (f"{new}: &{new} [{','.join([f'*{old}'] * 20)}]" for old, new in pairwise("abcdefgh"))
BOMB = "\n".join(["a: &a [x,x]", *ALIASES])


ONE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}


def config(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"


def names(found) -> list[str]:
    return [each["metadata"]["name"] for each in found]


async def test_a_folder_is_read_in_the_order_of_its_names_and_hidden_folders_are_not(folder, render):
    files = {
        "b.yml": config("b"),
        "a/two.yaml": f"{config('a2')}---\n---\n{config('a3')}",
        "a/one.yaml": config("a1"),
        "c.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [ONE]}),
        ".github/workflows/x.yaml": "on: push",
        "empty.yaml": "# nothing\n",
        "README.md": "# not YAML: [",
    }  # fmt: skip
    assert names(await render(folder(files))) == ["a1", "a2", "a3", "b", "one"]
    assert names(await render(folder(files, "a/two.yaml"))) == ["a2", "a3"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "^x.yaml must be YAML, but at line 2: "),
        (
            f"{config('a')}---\nvalues: 1\n",
            "^x.yaml must hold Kubernetes objects, but document 2 has no apiVersion, kind",
        ),
        (BOMB, "^x.yaml must be YAML, but it comes to more than 1000000 values"),
        ("[" * 100_000, "^x.yaml must be YAML, but it is nested more than 100 deep"),
        ("", "^the source comes to no Kubernetes object$"),
    ],
    ids=["broken", "no object", "bomb", "brackets", "empty"],
)
async def test_a_mistake_is_one_sentence_with_the_file(folder, render, text, why):
    with pytest.raises(Denied, match=why) as refused:
        await render(folder({"x.yaml": text}))
    assert refused.value.reason == "InvalidManifests"


async def test_what_holds_no_yaml_or_no_text_is_refused(folder, render):
    with pytest.raises(Denied, match=r"^the source holds no YAML$"):
        await render(folder({"README.md": ""}))
    made = folder({"a.yaml": ""})
    (made.path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(Denied, match=r"^a.yaml is no text$"):
        await render(made)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (RenderSettings(text=100), "^the source has more than 100 bytes of YAML$"),
        (RenderSettings(objects=3), "^the source comes to 4 objects: at most 3 are taken$"),
    ],
)
async def test_size_and_number_are_bounded(folder, render, settings, why):
    with pytest.raises(Denied, match=why) as refused:
        await render(folder({f"{name}.yaml": config(name) for name in "abcd"}), settings)
    assert refused.value.reason == "TooLarge"
