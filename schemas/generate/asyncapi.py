"""Writes the AsyncAPI 3 document of the bus, from which clients can be written."""

import re
from typing import Any

import msgspec

from schemas.generate.anything import anything
from schemas.generate.text import as_yaml
from schemas.registry import Declaration, Stream

CONTRACT = "1.0.0"
"""A message that means something else gets another type, so this moves when the conventions do."""

_SCHEMAS = "#/components/schemas/{name}"

_HEADERS = {
    "ce-specversion": {"const": "1.0"},
    "ce-id": {"type": "string", "description": "A message that is published again has the same id."},
    "ce-source": {"type": "string", "description": "The publisher."},
    "ce-type": {"type": "string", "description": "The type of the message."},
    "ce-time": {"type": "string", "format": "date-time", "description": "When it was decided (UTC)."},
    "ce-subject": {"type": "string", "description": "What it is about."},
    "ce-datacontenttype": {"const": "application/json"},
    "ce-dataschema": {"type": "string", "description": "The schema of the payload."},
    "ce-correlationid": {"type": "string", "description": "The id of the whole flow it belongs to."},
    "ce-causationid": {"type": "string", "description": "The id of the message that caused it."},
    "traceparent": {"type": "string", "description": "W3C trace context of this hop."},
}
"""CloudEvents 1.0 in the binary mode of its NATS binding: every attribute a header."""

_REQUIRED = ["ce-specversion", "ce-id", "ce-source", "ce-type"]


def files(declarations: tuple[Declaration, ...]) -> dict[str, str]:
    """``asyncapi.yaml``."""
    return {"asyncapi.yaml": as_yaml(document(declarations))}


def document(declarations: tuple[Declaration, ...]) -> dict[str, Any]:
    """The document, from alate's side: it sends what a service owns and receives what anyone may ask."""
    subjects = [(it, subject) for it in declarations for subject in it.subjects]
    references, schemas = msgspec.json.schema_components(
        [it.struct for it in declarations], ref_template=_SCHEMAS, schema_hook=anything
    )
    messages = {it.type: _message(it, payload) for it, payload in zip(declarations, references, strict=True)}
    headers = {"type": "object", "required": _REQUIRED, "properties": _HEADERS}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "alate", "version": CONTRACT, "license": {"name": "Apache-2.0"}},
        "defaultContentType": "application/json",
        "channels": {_channel_id(subject): _channel(it, subject) for it, subject in subjects},
        "operations": {f"{it.owner}.{_channel_id(s)}": _operation(it, s) for it, s in subjects},
        "components": {
            "messages": messages,
            "messageTraits": {"cloudevent": {"headers": headers}},
            "schemas": schemas,
        },
    }


def _channel_id(subject: str) -> str:
    return re.sub(r"[{}]", "", subject)


def _channel(declaration: Declaration, subject: str) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", subject)
    parameters = {name: {"description": f"The {name}, escaped to [A-Za-z0-9_-]."} for name in names}
    return {
        "address": subject,
        "messages": {declaration.type: {"$ref": f"#/components/messages/{declaration.type}"}},
        **({"parameters": parameters} if parameters else {}),
        "x-stream": declaration.stream.value,
    }


def _operation(declaration: Declaration, subject: str) -> dict[str, Any]:
    channel = f"#/channels/{_channel_id(subject)}"
    return {
        "action": "receive" if declaration.stream is Stream.INTAKE else "send",
        "channel": {"$ref": channel},
        "messages": [{"$ref": f"{channel}/messages/{declaration.type}"}],
        "tags": [{"name": declaration.owner}],
    }


def _message(declaration: Declaration, payload: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": declaration.type,
        "title": declaration.struct.__name__,
        "summary": declaration.doc,
        "contentType": "application/json",
        "headers": {"type": "object", "properties": {"ce-type": {"const": declaration.type}}},
        "payload": payload,
        "traits": [{"$ref": "#/components/messageTraits/cloudevent"}],
    }
