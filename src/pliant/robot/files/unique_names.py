"""Names of elements of a file: unique, and those of the robot itself first."""

from __future__ import annotations

from collections.abc import Iterable


class UniqueNames:
    """Names of one kind of element, with `dot` for dots; `kept` are those that the robot itself has, and no element
    gets those that are `taken` by the format."""

    def __init__(self, kept: Iterable[str] = (), dot: str = "_", taken: Iterable[str] = ()) -> None:
        self._dot, self._kept, self._used = dot, {name.replace(".", dot) for name in kept}, set(taken)

    def give(self, wanted: str, own: bool = False) -> str:
        """Return a name that no other element has or will get; `own` marks a name of the robot itself."""
        name = wanted = wanted.replace(".", self._dot)
        number = 2
        while name in self._used or (name in self._kept and not own):
            name, number = f"{wanted}_{number}", number + 1
        self._used.add(name)
        return name
