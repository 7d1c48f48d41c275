#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Open the page of `sluice web` in a headless Chromium, and judge it: by axe-core in light and dark, wide and as narrow as
a phone; by Tab, which must reach every link and every table that may be wider than the window. Leaves pictures.

    browse_page.py URL PICTURE [WORDS...]

PICTURE is the path of pictures, without the ending. Waits until the page shows each of WORDS. Prints what is wrong, and
fails if anything is.
"""
import os
import sys

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "netns-lab", "lib"))
from browser import browser, see, wait_for_words

AXE = "/usr/local/share/axe-core/axe.min.js"
VIEWS = (("light", 1200, 900), ("dark", 1200, 900), ("light", 390, 844))
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
# Every element that Tab stops at, in the page's order
STOPS = "return [...document.querySelectorAll('a[href], [tabindex=\"0\"]')].filter((e) => e.checkVisibility()).length"


def axe(driver):
    """What axe-core finds, as lines."""
    if not driver.execute_script("return typeof axe !== 'undefined'"):
        with open(AXE, encoding="utf-8") as file:
            driver.execute_script(file.read())
    found = driver.execute_async_script("axe.run(document, arguments[0]).then(arguments[1])", RULES)
    return [f"{rule['id']}: {rule['help']}: {rule['nodes'][0]['html'][:150]}" for rule in found["violations"]]


def tabbed(driver):
    """How many different elements Tab reaches before it comes back to the first one."""
    seen = []
    for _ in range(200):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        at = driver.execute_script("const e = document.activeElement; return (e.id || e.href || '') + e.ariaLabel + e.textContent.slice(0, 20)")
        if seen and at == seen[0]:
            break
        seen.append(at)
    return len(set(seen))


def overflow(driver):
    return driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def main(url, picture, *words):
    faults, driver = [], browser()
    try:
        driver.get(url)
        wait_for_words(driver, words)
        for scheme, width, height in VIEWS:
            see(driver, scheme, width, height)
            faults += [f"{scheme}, {width} wide: {fault}" for fault in axe(driver)]
            if overflow(driver) > 0:
                faults.append(f"{width} wide: the page is {overflow(driver)} pixels wider than the window")
            tall = driver.execute_script("return document.documentElement.scrollHeight")
            see(driver, scheme, width, min(tall, 4000))
            driver.save_screenshot(f"{picture}-{scheme}-{width}.png")
        see(driver, *VIEWS[0])
        stops = driver.execute_script(STOPS)
        if tabbed(driver) < stops:
            faults.append(f"Tab reaches {tabbed(driver)} of {stops} links and tables")
        faults += [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE" and "503" not in entry["message"]]
    finally:
        driver.quit()
    print("\n".join(faults))
    return bool(faults)


sys.exit(main(*sys.argv[1:]))
