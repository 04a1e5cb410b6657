"""Hold a JSON Schema validator against the loader: both must accept and reject alike.

usage: validate_against_schema.py WORK SHIPPED BROKEN

WORK     has scenario.schema.json, and one scenario a line in schema_accepts.txt and schema_rejects.txt
SHIPPED  has scenarios that are valid
BROKEN   has scenarios with the loader's words on them in NAME.expected

Needs python3-jsonschema and python3-yaml.
"""

import json
import pathlib
import re
import sys

import jsonschema
import yaml

# What the loader finds by form alone, and a schema can therefore find too.
MISTAKES_OF_FORM = re.compile(
    r"error: (unknown (key|collective|link preset|operator|element type|topology)|missing key|.* has no unit$"
    r"|unknown unit|.* has no value$|.* takes .*, and this is)",
    re.MULTILINE,
)


def main(work, shipped, broken):
    schema = json.loads((work / "scenario.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    complaints = []

    def expect(valid, document, where):
        errors = [f"{'/'.join(map(str, e.path))}: {e.message[:300]}" for e in validator.iter_errors(document)]
        if valid and errors:
            complaints.append(f"{where}: the schema rejects it: {errors[0]}")
        elif not valid and not errors:
            complaints.append(f"{where}: the schema accepts it")

    for name, valid in (("schema_accepts.txt", True), ("schema_rejects.txt", False)):
        for number, line in enumerate((work / name).read_text().splitlines(), 1):
            expect(valid, yaml.safe_load(line), f"{name}:{number}")

    for path in sorted(shipped.glob("*.yaml")):
        expect(True, yaml.safe_load(path.read_bytes()), path)

    compared = 0
    for path in sorted(broken.glob("*.yaml")):
        expected = path.with_suffix(".expected").read_text()
        of_form = MISTAKES_OF_FORM.search(expected)
        # How a number is spelled is lost before a schema sees it.
        spelling = "write it in decimal digits only" in expected
        if spelling or ("error:" in expected and not of_form):
            continue
        try:
            document = yaml.safe_load(path.read_bytes())
        except yaml.YAMLError:
            continue
        expect(not of_form, document, path)
        compared += 1

    print("\n".join(complaints) or f"schema and loader agree; {compared} broken files compared")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:4])))
