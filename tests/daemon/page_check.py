#!/usr/bin/env python3
"""Looks at a page of `thermocline report` in a headless Chromium.

    page_check.py PAGE [JSON] [--shots DIRECTORY]

JSON: what `thermocline report --json` printed of the same traces. Says what is
wrong, a line each, and fails if anything is.
"""

import argparse
import json
import os
import shutil
import sys

from browser import PROGRAM, Browser

wrong = []


def check(what, holds):
    if not holds:
        wrong.append(what)


def same(a, b, where=""):
    """Equal but for how long decisions took, which differs from run to run."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            if not key.startswith("decision_"):
                same(a.get(key), b.get(key), f"{where}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]")
    else:
        check(f"data{where}: {a!r} on the page, {b!r} by --json", a == b)


def quiet(browser):
    for told in browser.said:
        text = told.get("text") or json.dumps(told.get("args"))
        check(f"the console says: {text}", False)
    for thrown in browser.thrown:
        check(f"a script fails: {thrown.get('exception', thrown)}", False)
    for url in browser.requests:
        check(f"the page asks for {url}", url.startswith(("file:", "data:")))


def figure(browser, name):
    return browser.run(f"(() => {{ const d = document.getElementById({name!r});"
                       " return d && [+d.value, d.textContent]; })()")


def check_figure(browser, name, value):
    shown = figure(browser, name)
    check(f"#{name} shows {shown}, not {value}",
          shown is not None and shown[0] == value
          and shown[1] == browser.run(f"Words.time({value})"))


def check_what_if(browser, data):
    what_if = data["what_if"]
    share = browser.run("WhatIf.share")
    policy = browser.run("WhatIf.policy")

    def row():
        return next(row for row in what_if["shares"][share]["policies"]
                    if row["policy"] == policy)

    check_figure(browser, "chosen", row()["time_ns"])
    check_figure(browser, "all-fast", what_if["all_fast_ns"])
    check_figure(browser, "all-slow", what_if["all_slow_ns"])
    if row()["error_ns"]:
        check_figure(browser, "chosen-error", row()["error_ns"])
        bars = sum(1 for s in what_if["shares"] for r in s["policies"]
                   if r["policy"] == policy and r.get("error_ns"))
        drawn = browser.run("document.querySelectorAll('.error-bar').length")
        check(f"{drawn} error bars, not {bars}", drawn == bars)
    # By keys alone: another size, another policy.
    browser.run("document.getElementById('what-if').focus()")
    if share + 1 < len(what_if["shares"]):
        browser.key("ArrowRight")
        share += 1
        check("an arrow key changes the size", browser.run("WhatIf.share") == share)
        check_figure(browser, "chosen", row()["time_ns"])
    browser.key("ArrowDown")
    policy = browser.run("WhatIf.policy")
    check_figure(browser, "chosen", row()["time_ns"])
    check("the list shows the policy",
          browser.run("document.getElementById('policy').value") == policy)
    check_points(browser, what_if)
    looks = browser.run("[...Array(WhatIf.names().length).keys()].map((i) =>"
                        " Chart.dash(i) + Chart.symbol(i))")
    check("two policies differ by colour alone", len(set(looks)) == len(looks))


# Where points are drawn, against the two lines whose times are known.
def check_points(browser, what_if):
    got = browser.run("""(() => {
      const place = (node) => +/,([-0-9.e]+)/.exec(node.getAttribute('transform'))[1];
      return {
        lines: [...document.querySelectorAll('#what-if .reference')]
            .map((line) => +line.getAttribute('y1')),
        drawn: [...document.querySelectorAll('#what-if [data-policy]')].map((g) =>
            [g.dataset.policy, [...g.querySelectorAll('.point')].map((p) =>
                [+p.dataset.ns, place(p)])]),
        shown: [...WhatIf.shown],
      }; })()""")
    slow, fast = got["lines"]
    span = what_if["all_slow_ns"] - what_if["all_fast_ns"]
    check("a line for each policy that is on",
          sorted(name for name, _ in got["drawn"]) == sorted(got["shown"]))
    for name, points in got["drawn"]:
        wanted = [row["time_ns"] for s in what_if["shares"] for row in s["policies"]
                  if row["policy"] == name and "error" not in row]
        check(f"{name}: drawn are other times than in the data",
              [ns for ns, _ in points] == wanted)
        for ns, y in points:
            at = slow + (fast - slow) * (what_if["all_slow_ns"] - ns) / span
            check(f"{name}: {ns} ns is drawn at {y}, not {at}", abs(at - y) < 0.5)


def check_heat(browser, data):
    for by in ("address", "tensor"):
        heat = data["timeline"]["heat"][by]
        if not heat["rows"]:
            continue
        browser.run(f"(() => {{ const s = document.getElementById('heat-by');"
                    f" s.value = {by!r}; s.dispatchEvent(new Event('change')); }})()")
        row = max(range(len(heat["rows"])), key=lambda r: max(heat["rows"][r]["loads"]))
        cells = heat["rows"][row]["loads"]
        column = cells.index(max(cells))
        told = browser.run(f"Heat.told({row}, {column})")
        count = browser.run(f"Words.count({cells[column] * heat['unit']})")
        check(f"the hottest cell by {by} says {told!r}", f"loads {count}," in told)
        x, y, width, height = browser.box("#heat canvas")
        left = browser.run("document.getElementById('heat').clientWidth > 640 ? 170 : 16")
        at = (x + left + (column + 0.5) * (width - left - 16) / heat["columns"],
              y + (row + 0.5) * height / len(heat["rows"]))
        if 0 <= at[1] < 900:
            browser.mouse("mouseMoved", *at)
            browser.settle()
            tip = browser.run("document.getElementById('tip').textContent")
            check(f"over the hottest cell by {by} the tip says {tip!r}", tip == told)
        painted = browser.run(f"""(() => {{
          const canvas = document.querySelector('#heat canvas');
          const pen = canvas.getContext('2d');
          const at = (r, c) => [...pen.getImageData(
              {left} + (c + 0.5) * (canvas.width - {left} - 16) / {heat['columns']},
              (r + 0.5) * canvas.height / {len(heat['rows'])}, 1, 1).data].join();
          return at({row}, {column}); }})()""")
        check("the hottest cell is painted as empty", painted != "238,241,244,255")
    if not browser.run("Heat.rows.length"):
        return
    browser.run("document.getElementById('heat').focus()")
    browser.key("ArrowRight")
    check("the heat map is silent to the keyboard",
          browser.run("document.getElementById('heat-said').textContent") != "")


def check_zoom(browser, data):
    bins = data["timeline"]["bins"]
    if bins < 20 or not browser.run("!!document.querySelector('#memory svg')"):
        return
    browser.run("document.getElementById('memory').focus()")
    browser.key("+")
    check("+ zooms in", browser.run("Timeline.zoom[1] - Timeline.zoom[0]") == round(bins / 2))
    browser.key("0")
    check("0 shows all", browser.run("Timeline.zoom.join()") == f"0,{bins}")
    x, y, width, height = browser.box("#memory svg")
    for kind, share in (("mousePressed", 0.4), ("mouseMoved", 0.5), ("mouseReleased", 0.5)):
        browser.mouse(kind, x + width * share, y + height / 2, buttons=1)
    browser.settle()
    check("dragging zooms", browser.run("Timeline.zoom[1] - Timeline.zoom[0]") < bins / 4)
    browser.run("document.getElementById('whole').click()")


def check_keyboard(browser):
    wanted = set(browser.run(
        "[...document.querySelectorAll('input, select, .controls button, .chart,"
        " .scroll[tabindex]')].filter((n) => n.offsetParent && !n.disabled &&"
        " !n.closest('details:not([open])')).map((n) => n.id)"))
    browser.run("document.activeElement.blur()")
    met = set()
    for _ in range(150):
        browser.key("Tab")
        met.add(browser.run("document.activeElement.id"))
        if wanted <= met:
            break
    check(f"Tab does not reach {sorted(wanted - met)}", wanted <= met)
    unnamed = browser.run(
        "[...document.querySelectorAll('input, select')].filter((n) =>"
        " !n.labels.length).map((n) => n.id)")
    check(f"without a label: {unnamed}", not unnamed)


# Text at 4.5:1, lines at 3:1 (WCAG 2.1, 1.4.3 and 1.4.11).
def check_contrast(browser, scheme):
    ratios = browser.run("""(() => {
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        let hex = style.getPropertyValue(name).trim().slice(1);
        if (hex.length === 3) hex = [...hex].map((c) => c + c).join('');
        const [r, g, b] = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
            .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
      };
      const names = ['--text', '--quiet', '--accent', '--mark',
                     ...[...Array(8).keys()].map((i) => `--s${i}`)];
      const ground = light('--ground');
      return names.map((n) => [n, Math.max(light(n), ground) / Math.min(light(n), ground)]);
    })()""")
    for name, ratio in ratios:
        least = 3 if name.startswith("--s") else 4.5
        check(f"{scheme}: {name} has contrast {ratio:.2f}", ratio >= least)


def look(browser, given):
    browser.view(1400, 900)
    browser.open(given.page)
    check("the page does not draw itself",
          browser.run("document.documentElement.dataset.ready") == "yes")
    quiet(browser)
    data = browser.run("Page.data")
    if data is None:
        return
    if given.json:
        with open(given.json, encoding="utf-8") as text:
            same(data, json.load(text))
    check_figure(browser, "run-time", data["runs"][0]["run_ns"])
    check("markup in a name took effect", not browser.run("window.evil"))
    if "missing" in data["what_if"]:
        said = browser.run("document.getElementById('headline').textContent")
        check("the page does not say why nothing is gained", data["what_if"]["missing"] in said)
    else:
        check_what_if(browser, data)
    check_heat(browser, data)
    check_zoom(browser, data)
    check_keyboard(browser)
    for width in (1400, 420):
        for dark in (False, True):
            scheme = "dark" if dark else "light"
            browser.view(width, 900, dark)
            check_contrast(browser, scheme)
            full = browser.run("document.documentElement.scrollWidth")
            check(f"{full} pixels wide in a window of {width}", full <= width)
            if given.shots:
                browser.shot(os.path.join(given.shots, f"{width}-{scheme}.png"))
    quiet(browser)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("page")
    words.add_argument("json", nargs="?")
    words.add_argument("--shots")
    given = words.parse_args()
    if not shutil.which(PROGRAM):
        sys.exit(f"{PROGRAM} is not installed, so nothing was looked at;"
                 " ./bootstrap setup installs it")
    browser = Browser()
    try:
        look(browser, given)
    finally:
        browser.close()
    for one in wrong[:20]:
        print("page_check: " + one)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
