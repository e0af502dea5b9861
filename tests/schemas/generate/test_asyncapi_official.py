"""The generated document is valid by AsyncAPI's own schema, which comes from its npm package, pinned by its hash."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from tests.kube.places import home

ROOT = Path(__file__).parents[3]
PACKAGE, SHA256 = "@asyncapi/specs@6.11.1", "01af8744dc33c0c7eb2e908f6a955319ee58b70ecadc9387d1aeb16c0cd28928"
FOLDER = home().parents[1] / "asyncapi"
FILE = FOLDER / "asyncapi-specs-6.11.1.tgz"


@pytest.fixture(scope="module")
def official() -> Draft7Validator:
    """The validator of AsyncAPI 3.0.0; fetched once, then from the cache."""
    npm = shutil.which("npm")
    if not FILE.exists():
        if npm is None:
            pytest.skip("no npm to fetch AsyncAPI's schema with")
        FOLDER.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run((npm, "pack", PACKAGE), cwd=FOLDER, capture_output=True, timeout=120, check=False)
        if packed.returncode:
            pytest.skip(f"npm cannot fetch {PACKAGE} here")
    assert hashlib.sha256(FILE.read_bytes()).hexdigest() == SHA256
    with tarfile.open(FILE) as package:
        return Draft7Validator(json.load(package.extractfile("package/schemas/3.0.0.json")))


@pytest.fixture
def document() -> dict:
    return yaml.safe_load((ROOT / "schemas" / "generated" / "asyncapi.yaml").read_text())


def test_the_document_is_valid_by_asyncapis_own_schema(official, document):
    assert [f"{list(wrong.path)}: {wrong.message[:200]}" for wrong in official.iter_errors(document)] == []


@pytest.mark.parametrize("part", ["info", "asyncapi"])
def test_a_document_without_one_of_its_parts_is_not(official, document, part):
    del document[part]
    assert not official.is_valid(document)


def test_an_operation_of_an_unknown_action_is_not(official, document):
    next(iter(document["operations"].values()))["action"] = "shout"
    assert not official.is_valid(document)
