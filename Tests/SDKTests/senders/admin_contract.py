"""The admin API of a contract in OpenAPI 3.0, which generators of clients understand better than 3.1. Prints it as YAML.

    python3 admin_contract.py api/openapi.yaml > openapi.yaml

What may be null is `nullable`, what has several types has any. The generator writes wrong Python for an enum of what counts as a boolean, and of a
schema that says which of its members there have to be, it loses the members: so enums keep their texts alone, and choices between objects
become one object with the members of all. Names, paths, types and bounds stay.
"""

import sys

import yaml


def references(part):
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref" and isinstance(value, str):
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


def is_null(schema):
    return isinstance(schema, dict) and schema.get("type") == "null"


def simple(schema, contract):
    """A schema in the words of 3.0."""
    if isinstance(schema, list):
        return [simple(part, contract) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: value for key, value in schema.items() if key not in ("unevaluatedProperties", "not", "example", "examples")}
    if isinstance(schema.get("type"), (str, list)):
        types = [name for name in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"]) if name != "null"]
        if "null" in schema["type"]:
            schema["nullable"] = True
        del schema["type"]
        if len(types) == 1:
            schema["type"] = types[0]
        elif types:
            # The bounds are each for one of the types.
            schema = {key: value for key, value in schema.items() if key in ("description", "nullable")}
    if isinstance(schema.get("enum"), list):
        values = schema.pop("enum")
        if None in values:
            schema["nullable"] = True
        if all(isinstance(value, str) for value in values if value is not None):
            schema.update(type="string", enum=[value for value in values if value is not None])
    if "const" in schema:
        schema["type"] = {bool: "boolean", str: "string", int: "integer"}[type(schema.pop("const"))]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            schema = chosen(schema, schema.pop(choice), contract)
    return {key: simple(value, contract) for key, value in schema.items()}


def chosen(schema, options, contract):
    """A schema without its choice."""
    if any(is_null(option) for option in options):
        schema["nullable"] = True
    options = [option for option in options if not is_null(option)]
    whole = [followed(contract, option["$ref"]) if "$ref" in option else option for option in options]
    if len(options) == 1:
        # Beside a reference, 3.0 reads nothing.
        schema = {**schema, "allOf": [*schema.get("allOf", []), options[0]]} if "$ref" in options[0] else {**options[0], **schema}
    elif all("properties" in option or "required" in option for option in whole):
        # Which members there have to be is the server's to judge.
        members = {name: part for option in whole for name, part in option.get("properties", {}).items()}
        schema.update(type="object", properties={**members, **schema.get("properties", {})})
    return schema


def spaced(part, path=""):
    """Names with a space, of which YAML has made a key because a text with a comma is not quoted."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key not in ("example", "examples"):
                yield from [f"{path}: {key}"] if " " in str(key) else spaced(value, f"{path}/{key}")
    elif isinstance(part, list):
        for value in part:
            yield from spaced(value, path)


def main(path):
    with open(path) as file:
        contract = yaml.safe_load(file)
    faults = list(spaced(contract))
    assert not faults, f"a text of the contract has to be quoted: {faults}"
    contract["paths"] = {path: part for path, part in contract["paths"].items() if path.startswith("/admin/v1/")}
    seen, waiting = set(), list(references(contract["paths"]))
    while waiting:
        reference = waiting.pop()
        if reference not in seen:
            seen.add(reference)
            waiting += references(followed(contract, reference))
    components = contract["components"]
    for kind, parts in components.items():
        if kind != "securitySchemes":
            components[kind] = {name: part for name, part in parts.items() if f"#/components/{kind}/{name}" in seen}
    components["schemas"]["LenientBoolean"] = {"type": "boolean"}
    contract["openapi"] = "3.0.3"
    yaml.safe_dump(simple(contract, contract), sys.stdout, sort_keys=False)


main(sys.argv[1])
