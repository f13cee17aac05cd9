#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py SCHEMA FILE...: each file is a document of hx-bench share by the schema, and holds nothing that says whose
machine it was. Prints what is wrong, with its place; exit status 1 if anything is. Understands the words of JSON Schema
that schema.json uses, and refuses others, so that none is ignored."""

import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float),
         "integer": int}
KNOWN = {"$schema", "title", "type", "required", "additionalProperties", "properties", "items", "minItems", "const", "enum",
         "pattern"}
# What a member must not be called, and what no text may contain.
PRIVATE_NAMES = {"host", "hostname", "nodename", "user", "username", "login", "serial", "serial_number", "uuid",
                 "machine_id", "mac", "address"}
PRIVATE_TEXTS = {
    "a path": re.compile(r"(^|[\s=:;,('\"])~?/[A-Za-z]"),
    "a mail address": re.compile(r"[\w.+-]+@[\w-]+\.[A-Za-z]"),
    "a hardware address": re.compile(r"\b([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b"),
    "a UUID": re.compile(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    "a serial number": re.compile(r"serial (number|no)", re.IGNORECASE),
}


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def by_schema(value, schema, place):
    """Yields what is wrong with the value."""
    for word in schema.keys() - KNOWN:
        yield f"{place}: the schema's word {word} is not known to check.py"
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(has_type(value, name) for name in names):
        yield f"{place}: is no {' or '.join(names)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place}: is {value!r}, not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: is {value!r}, none of {schema['enum']}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{place}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place}: has {len(value)} elements, at least {schema['minItems']} are needed"
        for i, item in enumerate(value):
            yield from by_schema(item, schema.get("items", {}), f"{place}[{i}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                yield f"{place}: has no {name}"
        for name, member in value.items():
            if name in properties:
                yield from by_schema(member, properties[name], f"{place}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{place}: has an unknown {name}"


def private(value, place):
    if isinstance(value, dict):
        for name, member in value.items():
            if name.lower() in PRIVATE_NAMES:
                yield f"{place}: has a {name}"
            yield from private(name, place)
            yield from private(member, f"{place}.{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from private(item, f"{place}[{i}]")
    elif isinstance(value, str):
        for what, pattern in PRIVATE_TEXTS.items():
            if pattern.search(value):
                yield f"{place}: {value!r} contains {what}"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    wrong = 0
    for path in sys.argv[2:]:
        try:
            with open(path, encoding="utf-8") as f:
                document = json.load(f)
            faults = list(by_schema(document, schema, "document")) + list(private(document, "document"))
        except (OSError, ValueError) as error:
            faults = [str(error)]
        for fault in faults[:20]:
            print(f"{path}: {fault}")
        wrong += bool(faults)
    print(f"{len(sys.argv) - 2} result files, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
