"""Reads the SVGs that cnuas-sim draws as a strict XML parser does, hostile names included.

    /usr/bin/python3 tests/graph/well_formed.py PROGRAM ROOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["<script>alert(1)</script>", '"/><svg onload="x', "]]>", "&amp;&#0;", "--><!--", "\u202e\ufffe\uffff", "\x1b[31m\x07", "a\nb", "名前🚀"]


def check(program, scenario):
    drawn = subprocess.run([program, "graph", str(scenario)], check=True, capture_output=True).stdout
    root = ElementTree.fromstring(drawn)
    assert root.tag == SVG + "svg", root.tag
    assert root.find(SVG + "title").text and root.find(SVG + "desc").text, scenario
    allowed = {SVG + name for name in ("svg", "title", "desc", "style", "rect", "text", "g", "polyline", "path")}
    for element in root.iter():
        assert element.tag in allowed, element.tag
        assert not any(name.lower().startswith("on") for name in element.attrib), element.attrib
    return root


def hostile(name):
    # JSON's strings are YAML's double-quoted ones, but for characters written as two halves.
    text = json.dumps(name, ensure_ascii=False)
    return f"""
scenario: {text}
fabric:
  topology: explicit
  link: nvlink4
  switches:
    - {{name: {text}, rack: 1, gpus: 2}}
    - {{name: spine}}
  links:
    - {{between: [{text}, spine], bandwidth: 1 GB/s, latency: 1 us}}
workload:
  - {{collective: all_reduce, algorithm: ring, size: 4 KiB}}
"""


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    scenarios = sorted((root / "scenarios").glob("*.yaml"))
    assert scenarios
    for scenario in scenarios:
        check(program, scenario)
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            path = pathlib.Path(folder) / "hostile.yaml"
            path.write_text(hostile(name), encoding="utf-8")
            texts = [element.text or "" for element in check(program, path).iter()]
            shown = "".join(c if ord(c) >= 32 and c not in "\ufffe\uffff" else "?" for c in name)
            assert any(shown in text for text in texts), (name, texts)


if __name__ == "__main__":
    main()
