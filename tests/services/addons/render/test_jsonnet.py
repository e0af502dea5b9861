"""Jsonnet is evaluated in a process that is ended when it takes too much, and imports from its source alone."""

import pytest

from events.errors import Denied
from services.addons.programs import MIB, ProgramBounds
from services.addons.render.options import RenderSettings

LIBRARY = "{config(name, data):: {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: name}, data: data}}"


async def test_objects_in_lists_and_mappings_are_found_with_imports_and_values(folder, render):
    main = """
local lib = import 'lib.libsonnet';
local vendored = import 'other/x.libsonnet';
{ one: lib.config('a', {n: std.toString(std.extVar('n'))}), more: [lib.config('b', {}), {deep: vendored}], none: null }
"""
    vendored = "(import '../../lib.libsonnet').config('c', {})"
    files = {"main.jsonnet": main, "lib.libsonnet": LIBRARY, "vendor/other/x.libsonnet": vendored}
    found = await render(folder(files), values={"n": {"x": [1, 2]}})
    assert sorted(each["metadata"]["name"] for each in found) == ["a", "b", "c"]
    assert next(each for each in found if each["metadata"]["name"] == "a")["data"] == {"n": '{"x": [1, 2]}'}


@pytest.mark.parametrize("name", ["/etc/hostname", "../../../../../../../etc/hostname", "nothing.libsonnet", "out"])
async def test_nothing_outside_the_source_is_imported(folder, render, name):
    made = folder({"main.jsonnet": f"importstr '{name}'"})
    (made.path / "out").symlink_to("/etc/hostname")
    with pytest.raises(Denied, match=f"there is no file {name} in the source") as refused:
        await render(made)
    assert refused.value.reason == "RenderFailed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{a: ", "^main.jsonnet cannot be evaluated: STATIC ERROR: main.jsonnet:1"),
        ("std.extVar('x')", "undefined external variable: x"),
        ("local f(x) = f(x + 1); f(0)", "max stack frames exceeded"),
        ("error 'mine'", "RUNTIME ERROR: mine"),
        ("7", "^main.jsonnet must hold Kubernetes objects, but document 1 has no"),
        ("{a: {kind: 'X'}}", "document 1 has no apiVersion, metadata.name"),
        ("{}", "comes to no Kubernetes object"),
    ],
)
async def test_a_mistake_is_one_sentence(folder, render, text, why):
    with pytest.raises(Denied, match=why) as refused:
        await render(folder({"main.jsonnet": text}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(60)",
        "std.length(std.makeArray(100000000, function(x) std.makeArray(100, function(y) 'x' * 100)))",
        "local f(n) = if n == 0 then 'x' else local s = f(n - 1); s + s; f(40)",
    ],
    ids=["time", "memory", "text"],
)
async def test_what_takes_too_much_is_ended(folder, render, text):
    with pytest.raises(Denied):
        await render(
            folder({"main.jsonnet": text}), RenderSettings(bounds=ProgramBounds(seconds=2.0, memory=512 * MIB))
        )


async def test_a_folder_with_several_files_needs_one_to_be_named(folder, render):
    files = {"a.jsonnet": LIBRARY.replace("::", ":"), "b.jsonnet": f"({LIBRARY}).config('b', {{}})"}
    with pytest.raises(Denied, match="has 2 files of Jsonnet: name one in path"):
        await render(folder(files))
    (found,) = await render(folder(files, "b.jsonnet"))
    assert found["metadata"]["name"] == "b"
