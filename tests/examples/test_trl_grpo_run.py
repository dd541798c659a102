"""The GRPO example requires a rise of the mean reward only from a run of all steps."""

import pytest

from examples.trl_grpo.run import LEAST_RISE, STEPS, rise_fault


@pytest.mark.parametrize("steps", [1, 50, STEPS - 1])
def test_c25_a_short_run_need_not_rise(steps, capsys):
    assert rise_fault(steps, 0.3, 0.3) is None
    assert f"{steps} steps are too few" in capsys.readouterr().out


def test_a_whole_run_must_rise():
    assert rise_fault(STEPS, 0.3, 0.31 + LEAST_RISE) is None
    assert "did not rise" in rise_fault(STEPS, 0.3, 0.3 + LEAST_RISE / 2)
