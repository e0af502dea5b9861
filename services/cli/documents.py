"""Reads the YAML files that people pass to commands."""

import sys
from pathlib import Path

from events.kube.client import Object
from events.kube.resources import COLONIES
from schemas import documents as read
from schemas.documents import InvalidYaml
from services.errors import BadInput

STANDARD_INPUT = Path("-")


def documents(file: Path, kind: str, api: str = COLONIES.api_version) -> list[Object]:
    """The objects of a kind in a file, or on standard input for `-`, in their order. Raises BadInput."""
    called = "standard input" if file == STANDARD_INPUT else str(file)
    try:
        found = [each for document in read.documents(_text(file)) for each in objects_of(document)]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{called} cannot be read ({why}): name a file with a {kind} in it") from error
    except InvalidYaml as error:
        raise BadInput(f"{called} is not YAML ({error}): must be a {kind}, as in the README") from error
    if not found:
        raise BadInput(f"{called} is empty: must hold a {kind}, as in the README")
    return [_of_kind(each, called, kind, api) for each in found]


def _text(file: Path) -> str:
    return sys.stdin.read() if file == STANDARD_INPUT else file.read_text("utf-8")


def objects_of(document: object) -> list[object]:
    """The objects of a document; what `kubectl get -o yaml` writes of several is one List."""
    if isinstance(document, dict) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        return list(document["items"])
    return [] if document is None else [document]


def _of_kind(document: object, called: str, kind: str, api: str) -> Object:
    if not isinstance(document, dict) or document.get("kind") != kind:
        raise BadInput(f"{called} holds {_called(document)}: must be a {kind} (apiVersion {api})")
    if document.get("apiVersion") != api:
        raise BadInput(f"{called} holds a {kind} of apiVersion {document.get('apiVersion')}: must be of {api}")
    return document


def _called(document: object) -> str:
    """What a document is, for people."""
    if isinstance(document, dict):
        return f"a {document['kind']}" if document.get("kind") else "an object without a kind"
    return "a text" if isinstance(document, str) else "a list" if isinstance(document, list) else "a single value"
