"""Expected beside got."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One quantity: `allowed` is the largest difference, in the unit of the quantity."""

    what: str
    expected: float
    got: float
    allowed: float
    source: str

    @property
    def met(self) -> bool:
        return abs(self.got - self.expected) <= self.allowed


def show(title: str, rows: list[Row]) -> None:
    """Print a table in Markdown."""
    print(
        f"\n{title}\n\n| quantity | expected | got | difference | allowed | expected from |\n|---|---|---|---|---|---|"
    )
    for row in rows:
        off = f"{row.got - row.expected:+.2g}"
        off += "" if row.met else " **missed**"
        print(f"| {row.what} | {row.expected:.6g} | {row.got:.6g} | {off} | {row.allowed:.2g} | {row.source} |")
