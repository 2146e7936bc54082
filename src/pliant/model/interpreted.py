"""Functions of a model that are asked seldom: they are interpreted, and the next process knows them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from pliant.compute.llvm.kernel import Kernel
from pliant.compute.tape.trace_cache import Recorded

if TYPE_CHECKING:
    import casadi as ca

    from pliant.model.model import Model


def interpreted(
    model: Model, name: str, trace: Callable[[], ca.Function], key: Hashable = (), known: str | None = ""
) -> Kernel:
    """Return a function of the equations of a model.

    Parameters
    ----------
    model : Model
    name : str
        Name of the function, in the plural.
    trace : function without arguments
        Makes it from expressions. Values of parameters are one of its inputs.
    key : hashable
        What it depends on besides the equations.
    known : str, optional
        The same as text, by which the next process finds it; None if that is not known.
    """
    recipe = None if model.form is None or known is None else f"{model.form} {name} {known}"
    recorded = Recorded(trace, recipe, title=f"{name} of {model.robot.name}")
    return model.first.derived(name, key, lambda: Kernel(recorded, "vm"))
