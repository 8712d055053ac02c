"""What is in a release? A software bill of materials in CycloneDX's format, from the wheels themselves.

python -m release.sbom dist/wheelhouse dist/fairview.cdx.json

Names, versions, licences and requirements come from each wheel's metadata, hashes from its bytes. The same wheels give
the same document.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any

ROOT_NAME = "fairview"


def document(wheelhouse: Path) -> dict[str, Any]:
    """The bill of materials of a folder of wheels, one of which is fairview's."""
    wheels = {
        normal(about["Name"]): (about, path) for path in sorted(wheelhouse.glob("*.whl")) for about in [read(path)]
    }
    if ROOT_NAME not in wheels:
        raise SystemExit(f"{wheelhouse}: no wheel of {ROOT_NAME} in it. Make it with `make wheel`.")
    components = {name: component(about, path) for name, (about, path) in wheels.items()}
    root = components.pop(ROOT_NAME) | {"type": "application"}
    hashes = "".join(each["hashes"][0]["content"] for each in [root, *components.values()])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, hashes)}",
        "version": 1,
        "metadata": {"component": root},
        "components": list(components.values()),
        "dependencies": [
            {
                "ref": reference(about),
                "dependsOn": sorted(reference(wheels[other][0]) for other in needs(about, {*wheels})),
            }
            for about, _ in wheels.values()
        ],
    }


def read(path: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return BytesParser().parsebytes(archive.read(name), headersonly=True)


def component(about: Message, path: Path) -> dict[str, Any]:
    """One package."""
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(about),
        "name": about["Name"],
        "version": about["Version"],
        "purl": reference(about),
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
    }
    if about["License-Expression"]:
        made["licenses"] = [{"expression": about["License-Expression"]}]
    elif about["License"]:
        made["licenses"] = [{"license": {"name": about["License"].splitlines()[0][:200]}}]
    return made


def reference(about: Message) -> str:
    """The package's URL in the form that tools for bills of materials share.

    Example:
        >>> about = Message()
        >>> about["Name"], about["Version"] = "typing_extensions", "4.1"
        >>> reference(about)
        'pkg:pypi/typing-extensions@4.1'
    """
    return f"pkg:pypi/{normal(about['Name'])}@{about['Version'].replace('+', '%2B')}"


def needs(about: Message, known: set[str]) -> set[str]:
    """The packages of the release that a package names as requirements; those of extras are left out but for ours."""
    found = set()
    for line in about.get_all("Requires-Dist") or []:
        name = normal(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0])
        if "extra ==" not in line or normal(about["Name"]) == ROOT_NAME:
            found.add(name)
    return (found & known) - {normal(about["Name"])}


def normal(name: str) -> str:
    """A package's name as it is compared.

    Example:
        >>> normal("Jinja2"), normal("typing_extensions")
        ('jinja2', 'typing-extensions')
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> int:
    """Write the document."""
    wheelhouse, target = map(Path, sys.argv[1:3])
    made = document(wheelhouse)
    target.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{target}: {1 + len(made['components'])} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
