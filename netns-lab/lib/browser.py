#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, and pictures of pages.

usage: browser.py URL PICTURE WIDTH HEIGHT SECONDS [WORDS...]

Waits until the page shows each of WORDS, and SECONDS more, and writes PICTURE, a PNG of the page's first HEIGHT pixels.
"""
import importlib.util
import os
import sys
import time

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
PATIENCE = float(os.environ.get("LAB_PATIENCE", "1"))


def missing():
    """Debian's packages that a picture needs and this machine lacks."""
    return [package for package, there in (
        ("chromium", os.path.exists(CHROMIUM)), ("chromium-driver", os.path.exists(DRIVER)),
        ("python3-selenium", importlib.util.find_spec("selenium"))) if not there]


def browser():
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update"):
        options.add_argument(option)
    return webdriver.Chrome(options=options, service=webdriver.chrome.service.Service(DRIVER))


def see(driver, scheme, width, height):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def wait_for_words(driver, words, within_s=30 * PATIENCE):
    """Wait until the page shows all of them at once."""
    deadline = time.monotonic() + within_s
    while missing := [word for word in words if word not in driver.find_element("tag name", "body").text]:
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {within_s:.0f} s on the page: {missing}")
        time.sleep(0.2)


def main(url, picture, width, height, seconds, *words):
    driver = browser()
    try:
        see(driver, "light", int(width), int(height))
        driver.get(url)
        wait_for_words(driver, words)
        time.sleep(float(seconds))
        driver.save_screenshot(picture)
    finally:
        driver.quit()


if __name__ == "__main__":
    main(*sys.argv[1:])
