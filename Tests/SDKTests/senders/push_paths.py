"""The part of a contract that sends pushes: two paths, and what they refer to. Prints it as YAML.

The generator knows no schema whose only type is null, which PCF's answers have, so it gets what a sender needs; and it writes wrong Python
for the enum of what counts as a boolean, which becomes one. Of schemas that say which of their members there have to be, it loses the
members: a message and a target become objects of any shape.
"""

import sys

import yaml

PATHS = ["/admin/v1/apps/{app_uuid}/pushes", "/admin/v1/pushes/{receipt_id}"]


def references(part):
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def followed(contract, reference):
    part = contract
    for step in reference[2:].split("/"):
        part = part[step.replace("~1", "/")]
    return part


def main(path):
    with open(path) as file:
        contract = yaml.safe_load(file)
    contract["paths"] = {path: contract["paths"][path] for path in PATHS}
    seen, waiting = set(), list(references(contract["paths"]))
    while waiting:
        reference = waiting.pop()
        if reference not in seen:
            seen.add(reference)
            waiting += references(followed(contract, reference))
    for kind, parts in contract["components"].items():
        if kind != "securitySchemes":
            contract["components"][kind] = {
                name: part for name, part in parts.items() if f"#/components/{kind}/{name}" in seen}
    schemas = contract["components"]["schemas"]
    schemas["LenientBoolean"] = {"type": ["boolean", "null"]}
    for name in ("AdminMessage", "AdminTarget"):
        schemas[name] = {"type": "object", "additionalProperties": True}
    yaml.safe_dump(contract, sys.stdout, sort_keys=False)


main(sys.argv[1])
