"""Every noun in schemas is found without being listed."""

import sys

import schemas
from schemas.discover import lifecycles
from schemas.registry import declarations

NOUN = '''"""A noun for the test."""
import msgspec
from schemas.entity import Lifecycle
from schemas.registry import state

@state("lamp", "lit", owner="janitor")
class Lit(msgspec.Struct):
    """It gives light."""

LIFECYCLE = Lifecycle("lamp", {None: (Lit,)})
'''


def test_a_new_module_with_a_lifecycle_needs_no_list(own_registry, monkeypatch, tmp_path):
    (tmp_path / "lamp_for_test.py").write_text(NOUN)
    monkeypatch.setattr(schemas, "__path__", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "schemas.lamp_for_test", raising=False)
    (found,) = lifecycles()
    assert found.domain == "lamp"
    assert [it.type for it in declarations()] == ["dev.alate.lamp.lit"]
    del sys.modules["schemas.lamp_for_test"]


def test_no_two_nouns_claim_one_domain():
    domains = [lifecycle.domain for lifecycle in lifecycles()]
    assert len(domains) == len(set(domains))
