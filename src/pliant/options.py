"""Names of options. Each set is defined here once.

Editors complete these annotations, `mypy` checks them, and `@checked` compares arguments with them at run time.
`typing.get_args` returns the names for code that needs them.
"""

from typing import Literal

# Models
FormulationName = Literal["denoc", "dual-screw", "gibbs-appell", "lagrange", "recursive-lagrange"]
RotationName = Literal["exact", "linear"]
StiffeningName = Literal["off", "second-order", "third-order"]
BodyStiffeningName = Literal["off", "second-order"]
StiffeningChoice = Literal["auto", "off", "second-order", "third-order"]
ShapesName = Literal["exact", "nominal"]
DerivativesName = Literal["compiled", "traced"]
JointsName = Literal["locked", "free"]
HeldName = Literal["joints", "motors"]
FunctionName = Literal[
    "mass_matrix", "bias", "forward_dynamics", "inverse_dynamics", "energy", "tip_pose", "jacobian", "stiffness",
    "linearize", "matrices", "denoc_matrices", "momentum", "center_of_mass", "mass_matrix_inverse",
    "forward_dynamics_derivatives", "forward_dynamics_jvp", "forward_dynamics_vjp", "forward_dynamics_hvp",
    "inverse_dynamics_derivatives", "inverse_dynamics_jvp", "inverse_dynamics_vjp", "inverse_dynamics_hvp",
    "multipliers", "gaps", "driven_dynamics",
]  # fmt: skip

# Descriptions of robots
JointType = Literal[
    "revolute", "prismatic", "fixed", "universal", "cylindrical", "planar", "spherical", "free",
]  # fmt: skip
LoopJointType = Literal["revolute", "spherical", "universal", "prismatic", "fixed", "distance"]
SurfaceName = Literal["plane", "sphere", "capsule", "box"]
PlaceName = Literal["tip", "root"]
BaseType = Literal["fixed", "free"]
FrictionLaw = Literal["bristle", "dahl", "lugre"]
CommandName = Literal["torque", "current", "voltage"]
DHConvention = Literal["modified", "standard"]
SectionShape = Literal["rod", "tube", "rectangle", "box", "i", "channel", "tee", "angle", "polygon"]
FieldName = Literal["bending_y", "bending_z", "torsion", "axial"]
ShapeMethod = Literal["modes", "elements", "auto"]
BoundaryName = Literal["clamped-free", "clamped-mass", "pinned"]
Normalization = Literal["unit", "tip"]

# Places of loads and sensors
Station = Literal["tip", "middle"]
AxesName = Literal["base", "link", "section"]
WrenchAxesName = Literal["base", "link", "section", "frame"]
DriveSide = Literal["motor", "link"]
PlaneName = Literal["bending_y", "bending_z"]
BridgeName = Literal["quarter", "half", "full"]

# Links from finite elements
InterfaceKind = Literal["rigid", "average"]
LengthUnit = Literal["m", "cm", "mm", "in"]
MassUnit = Literal["kg", "g", "t", "lbf s2/in"]

# Computation of a run
PackedName = Literal["rk4", "dopri5"]
ExplicitName = Literal[PackedName, "dop853"]
StepMethodName = Literal[ExplicitName, "rodas5p", "midpoint"]
MethodName = Literal["auto", StepMethodName, "adams", "bdf"]
BatchMethodName = Literal["auto", PackedName]
CheckpointsName = Literal["auto", "all", "fewest"]
DeviceName = Literal["cpu", "cuda"]
PrecisionName = Literal["double", "single"]
Interpolation = Literal["linear", "cubic", "hold"]

# Control
KalmanName = Literal["extended", "unscented"]
GravityName = Literal["reference", "measured", "equilibrium", "none"]
InnerName = Literal["torque", "decoupling"]
ObjectiveName = Literal["effort", "time"]
PulseName = Literal["half-sine", "rectangle"]
ShaperName = Literal["zv", "zvd", "ei"]
LineLaw = Literal["cycloidal", "quintic"]

# Around a run
LossName = Literal["linear", "soft_l1", "huber", "cauchy"]
ClocksName = Literal["check", "ignore"]
SaturationName = Literal["auto", "refuse", "warn"]
ScaleName = Literal["linear", "log"]
SamplingName = Literal["grid", "random", "sobol", "latin-hypercube"]
EngineName = Literal["auto", "points", "batch"]
ExportName = Literal["c", "python", "latex", "casadi", "cuda", "fmu", "urdf", "mjcf"]
FmiVersion = Literal["3.0", "2.0"]
TaskName = Literal["reach", "track", "rest-to-rest"]
RenderName = Literal["rgb_array"]
AutoresetName = Literal["next-step", "same-step"]
FigureName = Literal[
    "joints", "deflections", "path", "tip", "attitude", "energy", "torques", "spectrum", "spectrogram", "error",
    "sensors",
]  # fmt: skip
FigureFormat = Literal["png", "svg", "pdf"]
