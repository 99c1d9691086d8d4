import inspect

import pytest

from sardonyx_ep_cpu.older import older


def kernel(xp, x, y=None, *, alpha=1.0, beta=2.0, layout=0):
    """A kernel."""
    return x, y, alpha, beta, layout


def test_attributes_are_those_of_the_older_version():
    version = older(kernel, without=("layout",), ignored={"output_sequence": 0}, defaults={"beta": 5.0})
    assert str(inspect.signature(version)) == "(xp, x, y=None, *, alpha=1.0, beta=5.0, output_sequence=0)"
    assert version(None, 1) == (1, None, 1.0, 5.0, 0)
    assert version(None, 1, 2, alpha=3.0, beta=4.0, output_sequence=1) == (1, 2, 3.0, 4.0, 0)
    assert version.__doc__ == "A kernel."
    with pytest.raises(TypeError):
        version(None, 1, gamma=1)
