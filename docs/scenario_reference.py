"""Writes the reference part of docs/scenarios.md from scenarios/scenario.schema.json.

    /usr/bin/python3 docs/scenario_reference.py            writes it
    /usr/bin/python3 docs/scenario_reference.py --check    exit status 1 when it is not up to date
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "scenarios" / "scenario.schema.json"
DOCUMENT = ROOT / "docs" / "scenarios.md"
BEGIN = "<!-- from scenarios/scenario.schema.json by docs/scenario_reference.py -->"
END = "<!-- end of what the program wrote -->"

# In the order of reading; the value is the heading.
SECTIONS = {
    "fabric": "Fabric",
    "link": "Link",
    "link_with_preset": "Link with preset",
    "switch": "Switch",
    "hosts": "Hosts",
    "explicit_fabric": "Explicit fabric",
    "explicit_switch": "Explicit switch",
    "explicit_link": "Explicit link",
    "explicit_link_with_preset": "Explicit link with preset",
    "collective": "Collective",
    "sizes": "Sizes by factor",
    "sizes_with_step": "Sizes by step",
    "traffic": "Traffic",
    "step": "Training step",
    "compute_phase": "Compute phase",
    "collective_phase": "Collective phase",
    "traffic_phase": "Traffic phase",
    "background_flow": "Background flow",
    "straggler": "Straggler",
    "link_down": "Link down",
    "lanes_lost": "Lanes lost",
    "bit_errors": "Bit errors",
    "receiver_fault": "Receiver fault",
    "switch_down": "Switch down",
    "live": "Live",
}
WORDS = {"time": "a time", "size": "a size", "rate": "a rate", "gpu": "a GPU"}


def anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def value_of(schema: dict) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name in WORDS:
            return f"[{WORDS[name]}](#values)"
        return f"[{SECTIONS[name].lower()}](#{anchor(SECTIONS[name])})"
    if "oneOf" in schema:
        return " or ".join(value_of(each) for each in schema["oneOf"])
    if "allOf" in schema:
        return value_of(schema["allOf"][0])
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema["type"]
    if isinstance(kind, list):
        return "number"
    if kind == "array":
        return f"list of: {value_of(schema['items'])}"
    if kind == "integer":
        return f"whole number, {schema['minimum']} to {schema['maximum']}"
    return {"string": "text", "boolean": "`true` or `false`", "number": "number"}[kind]


def table_of(schema: dict) -> list:
    required = set(schema.get("required", ()))
    lines = ["| key | value | meaning |", "|---|---|---|"]
    for key, field in schema["properties"].items():
        mark = " (required)" if key in required else ""
        lines.append(f"| `{key}`{mark} | {value_of(field)} | {field['description']} |")
    for each in schema.get("allOf", ()):
        if "oneOf" in each:
            keys = " and ".join(f"`{alternative['required'][0]}`" for alternative in each["oneOf"])
            lines += ["", f"Exactly one of {keys}."]
        elif "not" in each:
            keys = " and ".join(f"`{key}`" for key in each["not"]["required"])
            lines += ["", f"At most one of {keys}."]
    return lines


def reference(schema: dict) -> str:
    definitions = schema["definitions"]
    unknown = set(definitions) - set(SECTIONS) - set(WORDS)
    if unknown:
        sys.exit(f"docs/scenario_reference.py has no section for {', '.join(sorted(unknown))}")
    lines = [BEGIN, "", "### The file", ""] + table_of(schema)
    for name, heading in SECTIONS.items():
        lines += ["", f"### {heading}", ""] + table_of(definitions[name])
    lines += ["", "### Values", "", "| value | how it is written |", "|---|---|"]
    for name, words in WORDS.items():
        lines.append(f"| {words} | {definitions[name]['description']} |")
    return "\n".join(lines + ["", END])


def main() -> int:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = before + reference(json.loads(SCHEMA.read_text())) + after
    if "--check" not in sys.argv[1:]:
        DOCUMENT.write_text(new)
        return 0
    if new == text:
        return 0
    print("docs/scenarios.md: error: it is not what the schema says, use /usr/bin/python3 docs/scenario_reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
