# SPDX-License-Identifier: MIT
"""The pages of a server by the rules of axe-core, light and dark.  Not among the tests that are always run: `make check-web` runs it,
which fetches axe-core, and sets JOBMETER_AXE, the path of axe.min.js."""

import os
import pathlib

from serving import folder  # noqa: F401
from test_page import BOB, OF_MANY, PAGES, Tab, browser, job, make_token, server, with_cpu  # noqa: F401


def test_axe_finds_nothing_serious(server, browser):
    axe = pathlib.Path(os.environ["JOBMETER_AXE"]).read_text()
    server.push([with_cpu(job(i, node=f"node{i % 2}"), 4, lambda j: j % 5) for i in range(1, 9)] +
                [job(9, node="node1"), job(9, node="node2"), job(10, final=False), job(11, state="FAILED"), job(12, node="busy", final=False)])
    server.post(job(12, node="busy", final=False), **{"Jobmeter-Node": '{"node": "busy", "load": 3, "cpus": 4, "missing": 2, "not_measured": ["GPU: no driver"], "lost_events": 1}'})
    tab = Tab(browser, server)
    found = []
    tab.sign_in(make_token(server, BOB, "--scope", "operator"))
    try:
        for path in PAGES + OF_MANY + ["/jobs/9", "/jobs/404"]:
            for dark in (False, True):
                browser.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
                tab.open(path)
                tab.ask(axe + ";window.done = null; axe.run().then(r => { window.done = r.violations; })")
                tab.wait_for("return !!window.done")
                found += [(path, dark, one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"][:300])
                          for one in tab.ask("return window.done") if one["impact"] in ("serious", "critical")]
    finally:
        browser.tell("Emulation.setEmulatedMedia", features=[])
    assert not found
