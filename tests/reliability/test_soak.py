"""Many visitors of one studio for a long time: each gets the runs that it asked for, and memory does not grow.

PLIANT_SOAK_SECONDS=3600 pytest -m long tests/reliability/test_soak.py      # an hour instead of ten minutes
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant

SECONDS = float(os.environ.get("PLIANT_SOAK_SECONDS", "600"))
GROWTH = 0.02
EVERY = 2.0
"""Seconds between two looks at the memory."""
SERVER = """
import sys, time
from pathlib import Path
from pliant.studio.studio import Studio, address
studio = Studio(Path(sys.argv[1]), "two-link", port=8600)
print(address(studio.server), flush=True)
while sys.stdin.readline():
    print(len(studio.visits), flush=True)
studio.close()
"""
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (0.0, 0.0, 5.0), "fov": 0.6, "near": 0.1,
    "far": 100.0, "image_height": 400, "image_width": 600, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip


class Client:
    """Speaks as a browser does: moves the slider of the stiffness, and reads the numbers of its own runs."""

    def __init__(self, url: str, number: int, first: float) -> None:
        self.url, self.number, self.first = url, number, first
        self.rng = np.random.default_rng(number)
        self.runs = self.visits = 0

    async def stay(self, until: float) -> None:
        """Come, and come again, until the time is over."""
        import viser
        from websockets.asyncio.client import connect

        while time.monotonic() < until:
            self.visits += 1
            protocol: Any = f"viser-v{viser.__version__}"
            async with connect(self.url, subprotocols=[protocol], max_size=None, ping_timeout=120) as self.socket:
                self.uuids: dict[str, str] = {}
                self.texts: dict[str, str] = {}
                await self._send(CAMERA)
                reader = asyncio.create_task(self._read())
                try:
                    await self._use(until)
                finally:
                    reader.cancel()

    async def _use(self, until: float) -> None:
        await self._until(lambda: "stiffness ×" in self.uuids and self._shown()[0] == 1)
        if self.number > 1:  # two watch the arm move, the others look at the numbers
            await self._set("play", False)
        before = 1.0
        for count in range(2, 2 + int(self.rng.integers(15, 40))):
            if time.monotonic() > until and self.runs:
                return
            value = before
            while value == before:
                value = round(0.05 * int(self.rng.integers(4, 100)), 2)
            await self._set("stiffness ×", value)
            await self._until(lambda count=count: self._shown()[0] >= count)
            run, frequency = self._shown()
            assert run == count, f"client {self.number}: run {run} where {count} was due"
            assert frequency == pytest.approx(self.first * np.sqrt(value), rel=1e-3), f"client {self.number}"
            self.runs, before = self.runs + 1, value
            await asyncio.sleep(float(self.rng.uniform(0.5, 2.0)))

    def _shown(self) -> tuple[int, float]:
        for text in self.texts.values():
            found = re.search(r"run (\d+): tip.*frequencies: \*\*([\d.e+-]+)", text, re.DOTALL)
            if found:
                return int(found[1]), float(found[2])
        return 0, 0.0

    async def _until(self, condition: Any) -> None:
        end = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < end, f"client {self.number} waits since 120 s: {self.texts}"
            await asyncio.sleep(0.05)

    async def _set(self, label: str, value: Any) -> None:
        await self._send({"type": "GuiUpdateMessage", "uuid": self.uuids[label], "updates": {"value": value}})

    async def _send(self, message: dict[str, Any]) -> None:
        import msgspec

        await self.socket.send(msgspec.msgpack.encode(message))

    async def _read(self) -> None:
        import msgspec
        import zstandard

        unpack = zstandard.ZstdDecompressor()
        async for raw in self.socket:
            assert isinstance(raw, bytes)
            plain, packed = (int.from_bytes(raw[k : k + 8], "little") for k in (0, 8))
            content = unpack.decompress(raw[16 : 16 + packed], max_output_size=plain)
            for message in msgspec.msgpack.decode(content)["messages"]:
                self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        props = message.get("props") or message.get("updates") or {}
        if "label" in props:
            self.uuids[props["label"]] = message["uuid"]
        if message["type"] == "GuiMarkdownMessage" or message.get("uuid") in self.texts:
            text = props.get("content", props.get("_markdown"))
            if text is not None:
                self.texts[message["uuid"]] = text


def _resident(process: int) -> int:
    """Kilobytes."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS")))


async def _crowd(clients: list[Client], seconds: float, process: int) -> list[int]:
    until, sizes = time.monotonic() + seconds, []
    crowd = [asyncio.create_task(client.stay(until)) for client in clients]
    while time.monotonic() < until:
        sizes.append(_resident(process))
        done, _ = await asyncio.wait(crowd, timeout=EVERY, return_when=asyncio.FIRST_EXCEPTION)
        if any(task.exception() for task in done):
            break
    await asyncio.gather(*crowd)
    return sizes


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the process tables of Linux")
@pytest.mark.parametrize(
    ("visitors", "seconds"),
    [
        pytest.param(4, 15.0, marks=pytest.mark.full, id="short"),
        pytest.param(20, SECONDS, marks=pytest.mark.long, id="long"),
    ],
)
def test_visitors_get_their_own_runs_and_memory_stays(
    visitors: int, seconds: float, tmp_path: Path, record_property: Any
) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the studio extra has it)")
    first = float(pliant.load("two-link").model().frequencies(np.zeros(4))[0])
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdin is not None
        url = server.stdout.readline().strip().replace("http", "ws", 1)
        clients = [Client(url, k, first) for k in range(visitors)]
        sizes = asyncio.run(_crowd(clients, seconds, server.pid))
        time.sleep(3.0)
        server.stdin.write("\n")
        server.stdin.flush()
        assert server.stdout.readline() == "0\n", "visits that nobody makes any more"
    finally:
        server.kill()
        server.wait()
    runs, visits = sum(client.runs for client in clients), sum(client.visits for client in clients)
    half, tenth = len(sizes) // 2, max(1, len(sizes) // 10)
    before, after = np.median(sizes[half : half + tenth]), np.median(sizes[-tenth:])
    growth = after / before - 1
    said = f"{visits} visits, {runs} runs in {seconds:g} s; {before / 1e3:.0f} MB, growth {100 * growth:.2f} %"
    print(said)
    record_property("measured", said)
    assert all(client.runs for client in clients)
    if seconds >= 300:  # before that, models and kernels are still being gathered
        assert growth < GROWTH, said
