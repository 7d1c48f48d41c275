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


def wait_for_words(driver, words, within_s=30):
    from selenium.webdriver.support.ui import WebDriverWait
    WebDriverWait(driver, within_s, 0.2).until(
        lambda d: all(word in d.find_element("tag name", "body").text for word in words))


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
