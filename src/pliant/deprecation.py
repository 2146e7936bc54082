"""Public names that go away: they warn, name what replaces them and the version that removes them.

`docs/extend.md` has the policy. `tests/test_deprecation.py` fails as soon as the version of removal has been reached.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def deprecated(replacement: str, *, removed: str) -> Callable[[F], F]:
    """Decorator of a function, method or class that goes away.

    Parameters
    ----------
    replacement : str
        What to use instead, as the user writes it: `"Measurement.add_noise"`.
    removed : str
        Version that no longer has the name, such as "0.3".

    Returns
    -------
    callable
        The decorator. What it returns warns at each call.

    Examples
    --------
    >>> import warnings
    >>> @deprecated("pliant.load", removed="9.0")
    ... def read(name):
    ...     return name
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("default")
    ...     read("two-link")
    'two-link'
    >>> print(caught[0].message)
    read is deprecated and goes away with pliant 9.0; use pliant.load
    """

    def mark(target: F) -> F:
        call: Any = vars(target)["__init__"] if isinstance(target, type) else target

        @functools.wraps(call)
        def warned(*given: Any, **named: Any) -> Any:
            warn_deprecated(target.__name__, replacement, removed=removed)
            return call(*given, **named)

        if isinstance(target, type):
            target.__init__ = warned  # type: ignore[misc]
            return target
        return warned  # type: ignore[return-value]

    return mark


def warn_deprecated(name: str, replacement: str, *, removed: str, stacklevel: int = 2) -> None:
    """Warn that a name, an argument or a file entry goes away; for what is not a whole function or class.

    The warning points at the line of the caller, so that Python shows it once per call site (where its filters show
    `DeprecationWarning`: in scripts, in notebooks and in tests).

    Parameters
    ----------
    name : str
        What goes away, as the user writes it.
    replacement : str
        What to use instead.
    removed : str
        Version that no longer has it.
    stacklevel : int
        Frames between the user and this function, as in `warnings.warn`.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("default")
    ...     warn_deprecated("simulate(tol=)", "rtol", removed="9.0")
    >>> print(caught[0].message)
    simulate(tol=) is deprecated and goes away with pliant 9.0; use rtol
    """
    text = f"{name} is deprecated and goes away with pliant {removed}; use {replacement}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)
