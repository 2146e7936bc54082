"""Draws the pictures of the documentation: runs arms and photographs their pages, and the studio, with Chromium.

python docs/images/make_images.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

import pliant
from pliant.control import PD, Quintic, natural_gains

HERE = Path(__file__).parent
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")


def crane() -> pliant.Result:
    """The crane arm slews and reaches out within a second, and rings."""
    model = pliant.load("crane-4dof").model()
    start, goal = [0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6], [1.2, 0.9, 0.6, 0.3]
    kp, kd = natural_gains(model, start, frequency=1.9)
    path = Quintic(start, goal, duration=0.9)
    return pliant.simulate(model, 2.5, model.equilibrium(start), controller=PD(kp, kd, path), output_step=0.002)


def falling() -> pliant.Result:
    """The two-link elastic arm falls from the horizontal."""
    return pliant.simulate(pliant.load("two-link").model(), 2.0)


def photograph(page: Page, run: pliant.Result, name: str, time: float, magnification: float) -> None:
    """Writes name.png."""
    with tempfile.TemporaryDirectory() as folder:
        page.goto(run.to_html(Path(folder) / "run.html").as_uri())
        page.evaluate(f"pliantView.magnify({magnification}); pliantView.seek({time})")
        page.wait_for_timeout(1500)
        page.screenshot(path=HERE / f"{name}.png")


def studio(page: Page) -> None:
    """A move under PD: the arm as it is, a softer one, and the rigid ghost."""
    from pliant.studio.studio import Studio, address

    with tempfile.TemporaryDirectory() as folder:
        shown = Studio(Path(folder), "two-link", port=8499)
        page.goto(address(shown.server))
        page.get_by_text("done").first.wait_for(timeout=120_000)
        (visit,) = shown.visits.values()
        visit.live.value = visit.stage.play.value = False
        visit.maneuver.maneuver.value, visit.maneuver.duration.value = "move", 3.0
        visit.collect_and_run()
        visit.wait()
        visit.keep_run()
        visit.arm.sliders["stiffness"].value = 0.45
        visit.collect_and_run()
        visit.wait()
        visit.stage.magnify.value, visit.stage.clock.value = 3.0, 0.62
        page.get_by_role("tab", name="results").click()
        page.wait_for_timeout(20_000)  # drawn in software, it fades in over many frames
        notice = page.locator(".mantine-Notification-closeButton")
        if notice.count():
            notice.first.click()
        page.wait_for_timeout(3000)
        page.screenshot(path=HERE / "studio.png", timeout=120_000)
        shown.close()


def main() -> None:
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", *SOFTWARE_GL])
        page = browser.new_page(viewport={"width": 1360, "height": 780})
        photograph(page, crane(), "page", 0.84, 6)
        photograph(page, falling(), "falling", 0.55, 20)
        studio(browser.new_page(viewport={"width": 1360, "height": 820}))
        browser.close()


if __name__ == "__main__":
    main()
