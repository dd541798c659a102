"""Response schemas: their form is checked; nothing is fetched."""

import time

import jsonschema
import pytest

from tasks import schemas

GOOD = [
    {},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.org/answer"},
    {"type": ["object", "null"], "required": ["a"], "properties": {"a": True, "$ref": {"type": "string"}}},
    {
        "$defs": {"x": {"$anchor": "x"}},
        "allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#x"}, {"$dynamicRef": "#x"}, {"$ref": "#"}],
    },
    {"const": {"$ref": "http://data.example"}, "enum": [{"$ref": "file:///x"}], "default": {"$ref": "http://x"}},
    {"items": False, "prefixItems": [{}], "minItems": 0, "maxItems": 2.0, "uniqueItems": True},
    {"pattern": "(a+)+$", "minimum": -1.5, "multipleOf": 0.1, "dependentRequired": {"a": ["b"]}},
    {"if": {}, "then": {}, "else": {}, "x-unknown": {"anything": [1, {"$ref": 3}]}},
]

BAD = [
    ({"type": "text"}, "/type"),
    ({"type": []}, "/type"),
    ({"type": ["string", "string"]}, "/type"),
    ({"properties": []}, "/properties"),
    ({"properties": {"a/b": 1}}, "/properties/a~1b"),
    ({"required": "a"}, "/required"),
    ({"required": ["a", "a"]}, "/required"),
    ({"allOf": []}, "/allOf"),
    ({"anyOf": [{}, {"not": []}]}, "/anyOf/1/not"),
    ({"items": [{}]}, "/items"),
    ({"minLength": -1}, "/minLength"),
    ({"maxItems": 1.5}, "/maxItems"),
    ({"minimum": True}, "/minimum"),
    ({"multipleOf": 0}, "/multipleOf"),
    ({"uniqueItems": 1}, "/uniqueItems"),
    ({"enum": {}}, "/enum"),
    ({"pattern": 1}, "/pattern"),
    ({"dependentRequired": {"a": "b"}}, "/dependentRequired"),
    ({"$defs": {"x": {"type": 1}}}, "/$defs/x/type"),
]


@pytest.mark.parametrize("schema", GOOD, ids=str)
def test_a_good_schema_passes(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schemas.check(schema, "/s") == []


@pytest.mark.parametrize(("schema", "pointer"), BAD, ids=str)
def test_a_wrong_keyword_is_named(schema, pointer):
    with pytest.raises(jsonschema.SchemaError):
        jsonschema.Draft202012Validator.check_schema(schema)
    assert [(error.pointer, error.code) for error in schemas.check(schema, "/s")] == [
        (f"/s{pointer}", "invalid_schema")
    ]


@pytest.mark.parametrize(
    "target", ["http://x.example/s", "https://x.example/s#/a", "file:///etc/passwd", "other.json", "//x", ""]
)
@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        (lambda ref: {"$ref": ref}, "/$ref"),
        (lambda ref: {"$dynamicRef": ref}, "/$dynamicRef"),
        (lambda ref: {"properties": {"a": {"items": {"$ref": ref}}}}, "/properties/a/items/$ref"),
        (lambda ref: {"$ref": "#/x-parts/0", "x-parts": [{"$ref": ref}]}, "/x-parts/0/$ref"),
    ],
)
def test_a_reference_that_leaves_the_schema_is_refused(target, place, pointer):
    errors = schemas.check(place(target), "")
    assert [(error.pointer, error.code) for error in errors] == [(pointer, "remote_reference")]


def test_another_draft_is_refused():
    assert schemas.check({"$schema": "http://json-schema.org/draft-07/schema#"}, "")[0].pointer == "/$schema"


def nested(levels):
    schema = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def test_depth_and_size_are_bounded():
    assert schemas.check(nested(31), "") == []
    assert [error.code for error in schemas.check(nested(32), "")] == ["too_deep"]
    assert schemas.check({"title": "x" * (256 * 1024 - 12)}, "") == []
    assert [error.code for error in schemas.check({"title": "x" * (256 * 1024 - 11)}, "")] == ["too_long"]


def test_the_largest_schema_is_checked_quickly_with_a_limit_of_reported_errors():
    started = time.perf_counter()
    assert len(schemas.check({"allOf": [{"not": 1}] * 20_000}, "")) == 100
    assert schemas.check({"allOf": [{"not": {}}] * 20_000}, "") == []
    assert time.perf_counter() - started < 2
