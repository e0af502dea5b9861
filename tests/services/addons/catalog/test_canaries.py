"""Each canary is an object that the definitions of its add-on take: nothing but a webhook can refuse it."""

from functools import cache

import jsonschema
import pytest
import yaml

from services.addons.catalog.files import recipes
from tests.services.addons.catalog.charts import CHARTS

CANARIES = [(name, one) for name, recipe in sorted(recipes().items()) for one in recipe.canary]


@cache
def definitions():
    """From apiVersion and kind to the schema, of the definitions of canaries beside this checkout."""
    found = {}
    for file in [
        *CHARTS.rglob("*crd*/**/*.yaml"),
        *CHARTS.rglob("*crd*.yaml"),
        *(CHARTS.parent / "crds").rglob("*.yaml"),
    ]:
        text = file.read_text()
        if any(f"    kind: {one['kind']}\n" in text for _, one in CANARIES):
            found.update(schemas(text))
    return found


def schemas(text):
    try:
        read = list(yaml.load_all(text, yaml.CSafeLoader))
    except yaml.YAMLError:  # a template of Helm
        return
    for each in read:
        if each and each["kind"] == "CustomResourceDefinition":
            for version in (one for one in each["spec"]["versions"] if "schema" in one):
                api = f"{each['spec']['group']}/{version['name']}"
                yield (api, each["spec"]["names"]["kind"]), version["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(("name", "one"), CANARIES, ids=[name for name, _ in CANARIES])
def test_a_canary_fits_its_definition(name, one):
    schema = definitions().get((one["apiVersion"], one["kind"]))
    if schema is None:
        pytest.skip(f"no definition of {one['kind']} ({one['apiVersion']}) beside this checkout")
    jsonschema.Draft202012Validator(schema).validate(one)
    assert set(one["spec"]) <= set(schema["properties"]["spec"]["properties"])
