"""A real browser without a display, and runs to show in it."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import pliant
from crooked import made_up_run

SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
PLAIN_PAGE = ("--disable-gpu-rasterization", "--disable-gpu-compositing")
"""Only WebGL goes through the software GL: text and the page as a whole are drawn sooner without."""
STILL: dict[str, Any] = {"viewport": {"width": 960, "height": 640}, "reduced_motion": "reduce"}
"""A window in which the page of a run does not play by itself."""
REBOUND = "rebound.example"
"""A name that leads to this machine, as whoever owns a name can make it do."""
FLAGS = [
    "--no-sandbox",
    "--disable-extensions",
    f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
    *SOFTWARE_GL,
    *PLAIN_PAGE,
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium, drawing WebGL in software."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the dev extra has it)")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A page of the browser, and everything that went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda m: self.troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    @classmethod
    @contextmanager
    def showing(cls, browser: Any, path: Path) -> Iterator[Self]:
        """The page of a run, once it has drawn."""
        page = browser.new_page(**STILL)
        tab = cls(page)
        page.goto(path.as_uri())
        tab.until("globalThis.pliantView && pliantView.ready")
        yield tab
        page.close()

    def until(self, condition: str, seconds: float = 60.0) -> None:
        """Wait for an expression to be true, by asking from outside: the page itself allows no evaluation."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}; troubles: {self.troubles}"
            self.page.wait_for_timeout(40)

    def picture(self, selector: str) -> Any:
        """(H, W, 3) pixels of an element."""
        from PIL import Image

        shot = self.page.locator(selector).screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), dtype=int)


@pytest.fixture(scope="module")
def tab(chromium: Any) -> Iterator[Tab]:
    """One page for the tests of a module: opening it is what takes long without a graphics card."""
    page = chromium.new_page(**STILL)
    yield Tab(page)
    page.close()


@pytest.fixture(scope="session")
def swing() -> pliant.Result:
    """Two seconds of the two-link arm, falling from the horizontal: it bends by centimetres."""
    robot = pliant.load("two-link").replace({"links.upper.beam.EI_z": 60.0, "links.fore.beam.EI_z": 20.0})
    return pliant.simulate(robot.model(), 2.0)


@pytest.fixture(scope="session")
def crooked() -> pliant.Result:
    """A made-up run of an asymmetric arm of five joints."""
    return made_up_run()


@pytest.fixture(scope="session")
def short_crooked() -> pliant.Result:
    """Of its first three joints: so few have axes of their own."""
    return made_up_run(3)
