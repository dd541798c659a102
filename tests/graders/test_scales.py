"""The scale of a grader version: what is on it, and what a value of it is from 0 to 1."""

import re
from math import inf, nan, nextafter
from sys import float_info

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from autotune.core import ids
from graders import versions
from graders.models import GraderVersion
from graders.scales import UNIT, Scale, ScaleError
from tests.factories import GraderFactory

TINY = 5e-324  # the smallest subnormal number
LEAST, MOST = -float_info.max, float_info.max
FINITE = st.floats(allow_nan=False, allow_infinity=False)
SCALES = st.tuples(FINITE, FINITE).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: Scale(*ends))


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(1.0, 1.0), (0.0, 0.0), (0.0, -0.0), (3.0, -3.0), (1e308, 1e308)])
def test_the_minimum_must_be_less_than_the_maximum(ends):
    with pytest.raises(ScaleError, match="must be less than its maximum"):
        Scale(*ends)


@pytest.mark.parametrize("ends", [(0.0, inf), (-inf, 0.0), (nan, 1.0), (0.0, nan)])
def test_ends_must_be_finite(ends):
    with pytest.raises(ScaleError, match="Enter two finite numbers"):
        Scale(*ends)


# --- from raw values to values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "raw_value", "value"),
    [
        ((-3, 3), -3, 0.0),
        ((-3, 3), 0, 0.5),
        ((-3, 3), 1.5, 0.75),
        ((-3, 3), 3, 1.0),
        ((0, 100), 72, 0.72),
        ((1, 5), 2, 0.25),
        ((0, 1e308), 1e308, 1.0),
        ((0, 1e308), 5e307, 0.5),
        ((LEAST, MOST), 0, 0.5),  # their difference is no float
        ((LEAST, MOST), MOST, 1.0),
        ((0, TINY), TINY, 1.0),
        ((-TINY, TINY), 0, 0.5),
        ((0, 1), TINY, TINY),
        ((0, 1), -0.0, 0.0),
    ],
)
def test_a_raw_value_is_rescaled(ends, raw_value, value):
    assert repr(Scale(*map(float, ends)).value_of(float(raw_value))) == repr(value)


@pytest.mark.parametrize(
    ("ends", "raw_value", "value"),
    [
        ((-3.0, 3.0), nextafter(3.0, inf), 1.0),
        ((-3.0, 3.0), nextafter(-3.0, -inf), 0.0),
        ((0.0, 1.0), 1.0 + 2.0**-52, 1.0),
        ((0.0, 1.0), 0.3 - 0.2 - 0.1, 0.0),  # -2.8e-17
        ((0.1, 0.3), 0.1 + 0.2, 1.0),  # 0.30000000000000004
        ((0.0, 0.3), 0.1 + 0.2, 1.0),
        ((1000.0, 1001.0), nextafter(1000.0, 0.0), 0.0),
    ],
)
def test_a_raw_value_that_leaves_the_scale_by_rounding_is_its_end(ends, raw_value, value):
    assert not ends[0] <= raw_value <= ends[1]
    assert Scale(*ends).value_of(raw_value) == value


@pytest.mark.parametrize(
    ("ends", "raw_value"),
    [
        ((-3, 3), 3.00001),
        ((-3, 3), -3.000000000000003),
        ((0, 1), 1 + 2.0**-51),
        ((0, 1), -1e-15),
        ((0, 100), 101),
        ((0, TINY), 2 * TINY),
        ((0, TINY), MOST),  # the quotient is no float
        ((0, 1e308), 1.1e308),
        ((-3, 3), nan),
        ((-3, 3), inf),
        ((-3, 3), -inf),
    ],
)
def test_any_other_raw_value_is_refused_with_the_ends_of_the_scale(ends, raw_value):
    scale = Scale(*map(float, ends))
    with pytest.raises(ScaleError, match=re.escape(f"must be from {scale.minimum:g} to {scale.maximum:g}")):
        scale.value_of(float(raw_value))


# --- from values to raw values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "value", "raw_value"),
    [
        ((-3, 3), 0.0, -3.0),
        ((-3, 3), 0.75, 1.5),
        ((0, 100), 0.25, 25.0),
        ((0.1, 0.3), 1.0, 0.3),  # 0.1 + (0.3 - 0.1) is greater
        ((LEAST, MOST), 1.0, MOST),
        ((LEAST, MOST), 0.5, 0.0),
        ((0, 1e308), 0.5, 5e307),
        ((0, TINY), 0.75, TINY),
        ((0, 1), TINY, TINY),
    ],
)
def test_a_value_has_a_raw_value(ends, value, raw_value):
    assert Scale(*map(float, ends)).raw_of(value) == raw_value


@pytest.mark.parametrize("value", [-TINY, 1.0000000000000002, nan, inf])
def test_a_value_outside_0_to_1_has_none(value):
    with pytest.raises(ScaleError, match="must be from 0 to 1"):
        Scale(-3.0, 3.0).raw_of(value)


@given(SCALES, st.floats(0, 1))
def test_the_raw_value_is_on_the_scale_and_leads_back_to_it(scale, value):
    raw_value = scale.raw_of(value)
    assert scale.minimum <= raw_value <= scale.maximum
    assert 0 <= scale.value_of(raw_value) <= 1
    assert (scale.raw_of(0.0), scale.raw_of(1.0)) == (scale.minimum, scale.maximum)


@given(SCALES, FINITE, FINITE)
def test_a_greater_raw_value_never_has_a_smaller_value(scale, first, second):
    values = []
    for raw_value in sorted((first, second)):
        clipped = min(max(raw_value, scale.minimum), scale.maximum)
        values.append(scale.value_of(clipped))
    assert values == sorted(values)


# --- versions ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def grader(db):
    return GraderFactory()


def test_a_version_that_a_grader_reports_has_the_scale_from_0_to_1(grader):
    version = versions.seen(grader, "2.0.0")
    assert (version.scale, versions.scale_of(version.pk)) == (UNIT, UNIT)


def test_a_new_version_with_impossible_ends_is_refused_with_what_to_enter(grader):
    with pytest.raises(ScaleError, match="Enter a greater maximum"):
        GraderVersion.objects.create(grader=grader, label="2", scale_min=5, scale_max=5)


@pytest.mark.parametrize("ends", [(5.0, 5.0), (3.0, -3.0), (0.0, inf)])
def test_the_database_refuses_them_too(grader, ends):
    with pytest.raises(IntegrityError), transaction.atomic():
        GraderVersion.objects.filter(pk=grader.version_id).update(scale_min=ends[0], scale_max=ends[1])


@pytest.mark.parametrize("ends", [(-3.0, 3.0), (0.0, 1e308), (0.0, TINY), (-1e308, 1e308)])
def test_odd_ends_are_kept_to_the_last_bit(grader, ends):
    version = GraderVersion.objects.create(grader=grader, label="2", scale_min=ends[0], scale_max=ends[1])
    assert versions.scale_of(version.pk) == Scale(*ends)


def test_the_scales_of_many_versions_are_one_query_and_are_read_once(grader, django_assert_num_queries):
    rows = [GraderVersion.objects.create(grader=grader, label=str(n), scale_max=n + 2) for n in range(5)]
    unknown = ids.new()
    with django_assert_num_queries(1):
        scales = versions.scales_of([*(row.pk for row in rows), rows[0].pk, unknown])
    assert scales == {row.pk: Scale(0.0, n + 2.0) for n, row in enumerate(rows)} | {unknown: UNIT}
    with django_assert_num_queries(0):
        assert versions.scale_of(rows[4].pk).maximum == 6.0
