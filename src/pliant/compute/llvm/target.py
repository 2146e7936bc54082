"""The processor that kernels are compiled for: this machine's own, or the one that `PLIANT_CPU` names.

LLVM only warns of a name that it does not know, and does not tell what a name stands for. But it inlines code for one
processor into code for another if, and only if, the second has every instruction of the first. All questions about
processors are asked in that form (`covers`).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pliant.compute.llvm import lanes
from pliant.compute.llvm.lanes import Lanes
from pliant.errors import ModelError

VARIABLE = "PLIANT_CPU"
BASELINE = "generic"
AGREEMENT = 1e-11
"""Largest difference of one evaluation between two processors, relative to its largest entry.

One fuses a product and a sum where the other rounds twice, or has another sine: the last bit, 1e-16, differs. Solving
with the inertia matrix M magnifies that by cond(M) at worst. The bundled arms have cond(M) of 1e2 ... 4e6 and differ by
up to 4e-12. For other arms the difference grows in proportion to cond(M).
"""
#: Features to pass to LLVM with a name: without `+64bit` an unknown name ends the process.
_COMPLETION = {"x86_64": "+64bit"}
#: A feature that LLVM gives to every processor of the architecture whose name it knows, and to no other.
_COMMON = {"x86_64": "cx8", "aarch64": "neon"}
#: Instructions of Arm that a compiler may choose; LLVM lists only those that this machine has.
_ARM_FEATURES = (
    *("bf16", "complxnum", "crc", "cssc", "dotprod", "flagm", "fptoint", "fullfp16", "i8mm", "jsconv", "ls64", "lse"),
    *("lse2", "mops", "rcpc", "rdm", "sme", "sve", "sve2"),
)
#: Features that determine how kernels are written.
_VECTOR_FEATURES = ("avx512f", "avx", "fma")
_QUESTION = """
declare void @outside()
define void @part() #1 {{
  call void @outside()
  ret void
}}
define void @whole() #0 {{
  call void @part()
  ret void
}}
attributes #0 = {{ "target-cpu"="{whole.cpu}" "target-features"="{whole.features}" }}
attributes #1 = {{ "target-cpu"="{part.cpu}" "target-features"="{part.features}" }}
"""


@dataclass(frozen=True)
class Processor:
    """A processor as LLVM names it.

    Attributes
    ----------
    triple : str
        Architecture, maker and system.
    cpu : str
        LLVM's name of the processor.
    features : str
        Features added (`+avx`) and removed (`-avx512f`), separated by commas; later ones win.
    """

    triple: str
    cpu: str
    features: str

    @property
    def architecture(self) -> str:
        """Architecture by its common name, `x86_64`, `aarch64` or another."""
        name = self.triple.split("-")[0]
        return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)

    def changed(self, *changes: str) -> Processor:
        """This processor with features added and removed."""
        return Processor(self.triple, self.cpu, ",".join(filter(None, (self.features, *changes))))

    def named(self, cpu: str) -> Processor:
        """Another processor of the same architecture and system."""
        return Processor(self.triple, cpu, _COMPLETION.get(self.architecture, ""))


@dataclass(frozen=True)
class Machine(Processor):
    """A processor, and how kernels are written for it.

    Attributes
    ----------
    width : int
        Doubles in one vector register.
    fma : bool
        Whether it multiplies and adds with one rounding.
    """

    width: int
    fma: bool

    @property
    def summary(self) -> str:
        """Short description of the processor, for measured numbers."""
        return f"{self.architecture} {self.cpu}, {self.width} doubles per vector"

    @property
    def code_model(self) -> str:
        return "small" if self.triple.startswith("aarch64") and "linux" in self.triple else "jitdefault"

    def pack(self, length: int) -> Lanes:
        """States that a tape of this length evaluates at once."""
        return lanes.pack(self.width, length)

    def target_machine(self, opt: int) -> Any:
        import llvmlite.binding as binding

        target = binding.Target.from_triple(self.triple)
        return target.create_target_machine(self.cpu, self.features, opt, codemodel=self.code_model, jit=True)

    @property
    def wide(self) -> str:
        """Attributes of functions that work on packs."""
        bits = 64 * self.width
        return f' "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"' if bits > 256 else ""

    @property
    def attributes(self) -> str:
        return f'\n!0 = !{{!"branch_weights", i32 1, i32 100000}}\nattributes #0 = {{ nounwind{self.wide} }}\n'


@functools.cache
def machine() -> Machine:
    """The processor that the kernels of this process are compiled for; `PLIANT_CPU` is read once."""
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features()
    host = Processor(binding.get_process_triple(), binding.get_host_cpu_name(), features.flatten())
    given = requested()
    if given is None:
        return Machine(host.triple, host.cpu, host.features, *vector_unit(host.architecture, dict(features)))
    with _without_warnings():
        return described(chosen(given, host, features))


def requested() -> str | None:
    """Value of `PLIANT_CPU`, or None."""
    return os.environ.get(VARIABLE, "").strip() or None


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence LLVM, which writes warnings to the file descriptor of standard error; our own messages say more."""
    try:
        kept = os.dup(2)
    except OSError:  # a process without standard error
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def described(processor: Processor) -> Machine:
    """Add the vector unit, as LLVM knows it, to a processor."""
    there = {name: has(processor, name) for name in _VECTOR_FEATURES} if processor.architecture == "x86_64" else {}
    vectors = vector_unit(processor.architecture, there)
    return Machine(processor.triple, processor.cpu, processor.features, *vectors)


def vector_unit(architecture: str, features: dict[str, bool]) -> tuple[int, bool]:
    """Doubles in a vector register, and whether multiply-adds are fused in hardware."""
    if architecture in ("x86_64", "amd64", "i686", "i386"):
        width = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
        return width, bool(features.get("fma"))
    return 2, architecture.startswith(("aarch64", "arm64", "powerpc64", "ppc64"))


def chosen(given: str, host: Processor, features: Iterable[str]) -> Processor:
    """The processor that `[name][,+feature|,-feature]...` stands for; `host` where no name is given.

    A name or feature that LLVM does not know, or instructions that `host` cannot execute, raise `ModelError`;
    `features` are names of features to check.
    """
    first, *changes = [word.strip() for word in given.split(",")]
    name = "" if first.startswith(("+", "-")) else first
    if not name:
        changes = [first, *changes]
    base = _known_processor(given, name, host) if name else host
    for change in changes:  # features beyond the baseline, parts of which cannot be taken away
        if not re.fullmatch(r"[+-][\w.-]+", change) or has(host.named(BASELINE), change[1:]):
            what = f"{change!r} is no feature beyond the baseline of {host.architecture} that LLVM knows"
            raise _refusal(given, what, host)
    target = base.changed(*changes)
    _refuse_missing(given, target, host, {*features, *(change[1:] for change in changes if change[0] == "+")})
    return target


def covers(whole: Processor, part: Processor) -> bool:
    """Whether `whole` has every instruction that code for `part` may use.

    On Arm, LLVM counts features of speed as well, and may deny it where only these differ.
    """
    import llvmlite.binding as binding

    target = binding.Target.from_triple(whole.triple).create_target_machine(whole.cpu, whole.features, 2)
    module = binding.parse_assembly(_QUESTION.format(whole=whole, part=part), binding.create_context())
    builder = binding.create_pass_builder(target, binding.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    return "call void @part()" not in str(module.get_function("whole"))


def has(processor: Processor, feature: str) -> bool:
    """Whether a processor has a feature, so that adding it changes nothing; one unknown to LLVM counts as there."""
    return covers(processor, processor.changed(f"+{feature}"))


def _known_processor(given: str, name: str, host: Processor) -> Processor:
    processor, common = host.named(name), _COMMON.get(host.architecture)
    if not re.fullmatch(r"[\w.-]+", name) or (common and not has(processor, common)):
        raise _refusal(given, f"LLVM knows no {host.architecture} processor {name!r}", host)
    return processor


def _refuse_missing(given: str, target: Processor, host: Processor, features: set[str]) -> None:
    """Raise an error for instructions that `host` has not: they would end the process with a signal."""
    if covers(host, target):
        return
    names = features | set(_ARM_FEATURES if host.architecture == "aarch64" else ())
    missing = [name for name in sorted(names) if not has(host, name) and has(target, name)]
    if missing:
        remedy = "" if "+" in given else f"; `{given},{','.join(f'-{name}' for name in missing)}` would do"
        raise _refusal(given, f"this machine's {host.cpu} has no {', '.join(missing)}{remedy}", host)


def _refusal(given: str, why: str, host: Processor) -> ModelError:
    example = {"x86_64": ("haswell", "-avx512f"), "aarch64": ("neoverse-n1", "-sve")}.get(host.architecture)
    name, change = (f" (`{word}`)" for word in example) if example else ("", "")
    return ModelError(
        f"{VARIABLE}: got {given!r}, expected `{BASELINE}`, LLVM's name of a processor{name}, or changes of "
        f"this machine's{change}, by commas: {why}."
    )
