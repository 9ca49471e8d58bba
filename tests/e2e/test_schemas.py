"""The keys of what we write: none goes away without a higher schema_version.

schema_keys.json holds, for each schema that states a version, that version and its keys. After a key was added, or the
version raised: RIDGELINE_UPDATE_SCHEMA_KEYS=1 with this test writes it anew; the change shows in the difference.
"""

import json
import os
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
KEPT = HERE / "schema_keys.json"
SCHEMAS = sorted((HERE.parent.parent / "data" / "schemas").glob("*.schema.json"))


def keys_of(schema, at=""):
    """Every property's path; items of a list are "[]", members of any name "*"."""
    found = set()
    for name, inner in schema.get("properties", {}).items():
        found.add(f"{at}.{name}")
        found |= keys_of(inner, f"{at}.{name}")
    for word, part in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(word), dict):
            found |= keys_of(schema[word], at + part)
    for word in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(word, []):
            found |= keys_of(inner, at)
    for name, inner in schema.get("definitions", {}).items():
        found |= keys_of(inner, f"#{name}")
    return found


def version_of(schema):
    """What `schema_version` must be, wherever the schema has it; None where the document has none."""
    stated = schema.get("properties", {}).get("schema_version", {}).get("const")
    inner = [*schema.get("definitions", {}).values(), *schema.get("anyOf", []), *schema.get("oneOf", [])]
    return next((found for found in [stated, *map(version_of, inner)] if found is not None), None)


def lost(kept, schema):
    """Keys of the same version that the schema has no more."""
    if kept["version"] != version_of(schema):
        return []
    return sorted(set(kept["keys"]) - keys_of(schema))


def versioned():
    for path in SCHEMAS:
        schema = json.loads(path.read_text(encoding="utf-8"))
        if version_of(schema) is not None:
            yield path.name.removesuffix(".schema.json"), schema


def test_no_key_goes_away_without_a_higher_version():
    if os.environ.get("RIDGELINE_UPDATE_SCHEMA_KEYS"):
        kept = {name: {"version": version_of(schema), "keys": sorted(keys_of(schema))} for name, schema in versioned()}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert sorted(kept) == sorted(name for name, _ in versioned())
    for name, schema in versioned():
        assert lost(kept[name], schema) == [], f"{name}: raise its schema_version, and name the keys in CHANGELOG.md"
        assert kept[name]["version"] <= version_of(schema)


@pytest.mark.parametrize("name, schema", list(versioned()))
def test_a_lost_key_is_seen(name, schema):
    keys = sorted(keys_of(schema))
    assert lost({"version": version_of(schema), "keys": [*keys, ".gone"]}, schema) == [".gone"]
    assert lost({"version": version_of(schema) - 1, "keys": [*keys, ".gone"]}, schema) == []
