"""Learn what a model lacks: a neural residual torque on a flexible arm, trained through its dynamics (extra [torch]).

The "real" arm has friction that nobody wrote down: a Stribeck-like brake at both joints. A small network learns a
torque tau_r(qd) of each joint from one recorded motion, by gradients through steps of the flexible model. It is
judged by a motion that it has not seen.
"""

from collections.abc import Callable
from typing import Any

import torch

import pliant
import pliant.torch

torch.manual_seed(0)
robot = pliant.load("two-link").replace({f"links.{link}.shapes.damping": 0.02 for link in ("upper", "fore")})
model = robot.model()
H, STEPS = 1e-3, 1500


def brake(qd: torch.Tensor) -> torch.Tensor:
    """What the real joints do and the model does not know, N m."""
    joints = qd[..., :2]
    return -torch.tensor([3.0, 1.5]) * torch.tanh(joints / 0.2) * (1 + 0.8 * torch.exp(-((joints / 0.4) ** 2)))


def drive(phase: float) -> torch.Tensor:
    t = torch.arange(STEPS, dtype=torch.float64) * H
    gravity = torch.tensor(model.holding_torque(model.state()), dtype=torch.float64)
    swing = torch.stack([12 * torch.sin(5 * t + phase), 5 * torch.sin(8 * t + 2 * phase)], dim=1)
    return gravity + swing


step = pliant.torch.step(model, H)


@torch.no_grad()
def run(torque: torch.Tensor, residual: Callable[[torch.Tensor], Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """States along a motion; the residual is held over a step, as the torque is."""
    q, qd = torch.from_numpy(model.state()), torch.zeros(model.n, dtype=torch.float64)
    history = []
    for tau in torque:
        history.append((q, qd))
        q, qd = step(q, qd, tau + residual(qd))
    return torch.stack([q for q, _ in history]), torch.stack([qd for _, qd in history])


torque = drive(0.3)
q, qd = run(torque, brake)  # what the encoders and strain gauges of the real arm recorded
measured = torch.diff(qd, dim=0) / H  # mean acceleration of each step

network = torch.nn.Sequential(torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 2)).double()
residual = lambda qd: 5.0 * network(qd[..., :2] / 0.5)  # noqa: E731
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
scale = measured.std(dim=0)
losses = []
for _ in range(400):
    _, later = step(q[:-1], qd[:-1], torque[:-1] + residual(qd[:-1]))  # all steps of the recording, one batch
    loss = (((later - qd[1:]) / H / scale) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

unseen = drive(1.7)
truth = run(unseen, brake)[0][:, :2]
without = run(unseen, lambda qd: 0.0)[0][:, :2]
error = lambda q: torch.rad2deg((q - truth).abs().max()).item()  # noqa: E731
before, after = error(without), error(run(unseen, residual)[0][:, :2])
print(f"loss {losses[0]:.3f} -> {losses[-1]:.5f}; largest joint error on a motion that was not seen, {STEPS * H} s:")
print(f"{before:.2f} degrees without the residual, {after:.3f} with it")
assert after < 0.1 * before


def picture(ax):
    ax.semilogy(losses)
    ax.set(xlabel="step of the training", ylabel="loss", title="Learning the friction of an arm")
