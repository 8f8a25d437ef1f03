# SPDX-License-Identifier: MIT
"""The pages that the server shows in a browser: who sees what, what a browser makes of them, and what no text can do to them."""

import json
import re
import time
import urllib.parse

import pytest

import made_site
from made_records import line, record
from serving import Serving, folder, server, serving_either  # noqa: F401
from serving import serving_a_file as serving  # noqa: F401
from serving import server_on_either as either  # noqa: F401
from strict_page import StrictPage
from waiting import until

ALICE, BOB = 61001, 61002
NAMES = {ALICE: "made-alice", BOB: "made-bob"}
EVIL = "\"><img src=x onerror=alert(1)><script>alert('x')</script><!-- & ]]> </style> javascript:alert(1) \N{RIGHT-TO-LEFT OVERRIDE} é"
PAGES = ["/jobs", "/jobs/1", "/jobs?state=FAILED", "/jobs?sort=energy.joules&order=asc", "/usage", "/files", "/files?mount=%2Fscratch&days=36500",
         "/jobs?node=made-node1&cpu_above=1&sort=wait_seconds"]
OF_MANY = ["/spread?days=36500", "/nodes?days=36500", "/nodes?days=36500&node=node1"]  # of operators, and the first of coordinators


def job(number, uid=ALICE, facts=(), **more):
    made = record(number, uid=uid, user=NAMES[uid], **more)
    made["job"] |= {"account": "made-account", "partition": "made-partition", **dict(facts)}
    return line(made)


def make_token(server, user, *options):
    done = server.run("token", "create", "--user", user, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def cookies_of(answer):
    """{name: its text with attributes} of what is set."""
    found = {}
    for header in answer.headers.get_all("Set-Cookie") or []:
        found[header.partition("=")[0]] = header
    return found


def value_of(cookie):
    return cookie.partition(";")[0].partition("=")[2]


def key_of(text):
    return re.search(r'name="key" value="([0-9a-f]{64})"', text)[1]


def post_form(server, path, cookie, **fields):
    return server.get(path, "POST", urllib.parse.urlencode(fields), Cookie=cookie, **{"Content-Type": "application/x-www-form-urlencoded"})


def sign_in(server, token, to="/jobs"):
    """What the answer to the form is."""
    asked = server.get(to)
    form = cookies_of(asked)["jobmeter-form"]
    action = re.search(r'action="(/login[^"]*)"', asked.text)[1].replace("&amp;", "&")
    return post_form(server, action, f"jobmeter-form={value_of(form)}", key=key_of(asked.text), token=token)


class Visitor:
    """Somebody who has signed in."""

    def __init__(self, server, token):
        self.server = server
        answer = sign_in(server, token)
        assert (answer.status, answer.headers["Location"]) == (303, "/jobs"), answer.text
        self.cookie = f"jobmeter={value_of(cookies_of(answer)['jobmeter'])}"

    def get(self, path, **headers):
        return self.server.get(path, Cookie=self.cookie, **headers)

    def text(self, path):
        answer = self.get(path)
        assert answer.status == 200, (path, answer.text)
        return answer.text


class Page(StrictPage):
    """Nothing leads or loads from elsewhere."""

    def __init__(self, text):
        assert text.startswith("<!DOCTYPE html>\n")
        self.links = []
        super().__init__(text)

    def handle_element(self, tag, given):
        assert tag not in ("img", "iframe", "object", "embed", "base", "style")
        assert not any(name == "style" or name.startswith("on") for name in given)
        for name in ("src", "href", "action"):
            if name in given and not (tag == "link" and given[name].startswith("data:image/svg+xml,")):
                assert re.match(r"[/#](?!/)", given[name]), given
                self.links.append(given[name])
        assert tag != "script" or given["src"].startswith("/assets/")


# ---- who ----

def test_a_page_asks_who_it_is_and_shows_nothing_before(server):
    server.push([job(1, name="secret-name")])
    for path in PAGES + ["/", "/login", "/login/", "/login/" + "0" * 64, "/jobs/1/x", "/jobs/%00"]:
        answer = server.get(path)
        assert "secret-name" not in answer.text and NAMES[ALICE] not in answer.text, path
        if path != "/":
            assert answer.status in (200, 400) and "Sign in" in Page(answer.text).text, path


def test_a_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(server):
    server.push([job(1)])
    token = make_token(server, ALICE)
    asked = server.get("/jobs?state=ENDED")
    form = cookies_of(asked)["jobmeter-form"]
    answer = post_form(server, "/login?to=%2Fjobs%3Fstate%3DENDED", f"jobmeter-form={value_of(form)}", key=key_of(asked.text), token=token)
    assert (answer.status, answer.headers["Location"]) == (303, "/jobs?state=ENDED")
    for cookie in (form, cookies_of(answer)["jobmeter"]):
        assert set(cookie.split("; ")[1:]) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    visitor = Visitor(server, token)
    assert Page(visitor.text("/jobs")).text.count("made-1") == 1
    assert visitor.get("/login").headers["Location"] == visitor.get("/").headers["Location"] == "/jobs"
    assert server.get("/api/v1/jobs", Cookie=visitor.cookie).status == 401  # of pages alone
    assert server.run("token", "revoke", 1).returncode == 0
    answer = visitor.get("/jobs")
    assert "revoked" in answer.text and "made-1" not in answer.text


def test_signing_in_leads_nowhere_else(server):
    token = make_token(server, ALICE)
    for to in ("//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "/jobs\r\nX-Injected: 1", "", "x"):
        asked = server.get("/jobs")
        form = value_of(cookies_of(asked)["jobmeter-form"])
        answer = post_form(server, "/login?to=" + urllib.parse.quote(to), f"jobmeter-form={form}", key=key_of(asked.text), token=token)
        assert (answer.status, answer.headers["Location"]) == (303, "/jobs") and "X-Injected" not in answer.headers, to


def test_a_form_of_another_site_does_nothing(server):
    token = make_token(server, ALICE)
    asked = server.get("/jobs")
    form, key = value_of(cookies_of(asked)["jobmeter-form"]), key_of(asked.text)
    other = key_of(server.get("/jobs").text)
    for cookie, given in (("", key), (f"jobmeter-form={form}", ""), (f"jobmeter-form={form}", other), ("jobmeter-form=", key)):
        answer = post_form(server, "/login", cookie, key=given, token=token)
        assert answer.status == 200 and "jobmeter" not in cookies_of(answer), (cookie, given)
    for header in ({"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        answer = server.get("/login", "POST", urllib.parse.urlencode({"key": key, "token": token}), Cookie=f"jobmeter-form={form}", **header)
        assert "jobmeter" not in cookies_of(answer), header
    visitor = Visitor(server, token)
    key = key_of(visitor.text("/jobs"))
    for given in ("", other):
        assert not cookies_of(post_form(server, "/logout", visitor.cookie, key=given))
    answer = post_form(server, "/logout", visitor.cookie, key=key)
    assert answer.status == 303 and "Max-Age=0" in cookies_of(answer)["jobmeter"]


def test_a_wrong_token_is_said_to_be_one(server):
    for token in ("", "x", "jm_1_" + "0" * 64, "a" * 5000, EVIL):
        answer = sign_in(server, token)
        assert answer.status == 200 and "no valid token" in Page(answer.text).text and "jobmeter" not in cookies_of(answer), token


def test_a_link_from_another_site_is_opened_again_from_here(server):
    server.push([job(1)])
    visitor = Visitor(server, make_token(server, ALICE))
    for site in ("cross-site", "same-site"):
        answer = visitor.get("/jobs?state=ENDED", **{"Sec-Fetch-Site": site})
        assert 'http-equiv="refresh"' in answer.text and "made-1" not in answer.text
        assert "/jobs?state=ENDED" in Page(answer.text).links


def test_each_answer_forbids_what_a_page_does_not_need(server):
    server.push([job(1)])
    visitor = Visitor(server, make_token(server, ALICE))
    for path in PAGES + ["/jobs/404", "/jobs?x=1"]:
        answer = visitor.get(path)
        policy = dict(one.strip().partition(" ")[::2] for one in answer.headers["Content-Security-Policy"].split(";"))
        assert policy == {"default-src": "'none'", "style-src": "'self'", "script-src": "'self'", "img-src": "data:", "connect-src": "'self'",
                          "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'"}
        assert answer.headers["Cache-Control"] == "no-store" and answer.headers["X-Content-Type-Options"] == "nosniff"
    assert [visitor.get(one).status for one in ("/jobs/404", "/jobs?x=1", "/jobs?sort=name", "/jobs?after=x")] == [404, 400, 400, 400]


def test_style_and_script_are_kept_by_their_contents(server):
    page = Page(Visitor(server, make_token(server, ALICE)).text("/jobs"))
    assets = [one for one in page.links if one.startswith("/assets/")]
    assert len(assets) == 2
    for asset in assets:
        answer = server.get(asset)
        assert answer.status == 200 and "immutable" in answer.headers["Cache-Control"]
        assert server.get(asset.replace("/assets/", "/assets/0")).status == 404


# ---- whose jobs ----

def test_nobody_sees_a_row_of_another_user(server):
    server.push([job(i) for i in range(1, 8)] +
                [job(i, BOB, name="bobs-job", node="bobs-node", started=1, facts={"account": "bobs-account"}) for i in range(1, 14)])
    alice, operator = Visitor(server, make_token(server, ALICE)), Visitor(server, make_token(server, BOB, "--scope", "operator"))
    seen, left = set(), ["/jobs", "/usage", "/usage?days=36500", "/files?days=36500", "/jobs/13", "/jobs?user=made-bob", f"/jobs?user={BOB}", "/jobs?id=13", "/jobs?text=bobs", "/jobs?name=bobs-job", "/jobs?node=bobs-node", "/nodes?node=bobs-node"]
    while left:
        path = left.pop()
        seen.add(path)
        answer = alice.get(path)
        asked_for = urllib.parse.unquote(path)  # is said again
        assert not [one for one in ("bobs-job", "bobs-node", "bobs-account", "made-bob") if one in answer.text and one not in asked_for], path
        assert answer.status != 200 or "name=bobs" not in path or "No job matches" in answer.text
        if answer.status == 200 and len(seen) < 120:
            left += [one for one in Page(answer.text).links if not one.startswith(("/assets", "/log", "#")) and one not in seen | set(left)]
    assert len(seen) > 30 and alice.get("/jobs/13").status == 404
    assert "bobs-job" in operator.text("/jobs") and "bobs-job" in operator.text("/jobs/13")


def coordinate(server, user, account):
    server.ask_database(f"INSERT INTO coordinators (manager, account, user_name) VALUES ('slurm', '{account}', '{user}')")


def heads_of(text):
    return [re.sub("<[^>]*>", "", one) for one in re.findall("<th scope=\"col\".*?</th>", text, re.DOTALL)]


def test_coordinators_see_whose_jobs_they_see_and_operators_the_nodes(either):
    server = either
    server.push([job(1), job(2, BOB, facts={"account": "bobs-account"}), job(3, BOB, facts={"account": "led-account"}, name="led")])
    coordinate(server, ALICE, "led-account")
    alice, bob, operator = Visitor(server, make_token(server, ALICE)), Visitor(server, make_token(server, BOB)), Visitor(
        server, make_token(server, BOB, "--scope", "operator"))
    pages = {"alice": ["/jobs", "/usage", "/files", "/spread"], "bob": ["/jobs", "/usage", "/files"],
             "operator": ["/jobs", "/usage", "/files", "/spread", "/nodes"]}
    for name, visitor in (("alice", alice), ("bob", bob), ("operator", operator)):
        text = visitor.text("/jobs")
        assert [one for one in Page(text).links if one in ("/jobs", "/usage", "/files", "/spread", "/nodes")][:-1] == pages[name]  # the last: a form
        assert ("User" in heads_of(text), "By user" in visitor.text("/usage?days=36500")) == (name != "bob", name != "bob")
        for path in ("/spread", "/nodes"):
            assert visitor.get(path).status == (200 if path in pages[name] else 404), (name, path)
    assert re.findall(r'href="/jobs/(\d+)\?', alice.text("/jobs")) == ["3", "1"]
    assert "bobs-account" not in alice.text("/spread?days=36500") and ">2</a>" not in alice.text("/jobs")


def test_bars_count_the_jobs_that_their_links_show(either):
    server = either
    def made(number, cores, used, **more):
        one = json.loads(job(number, **more))
        one["cpu"] |= {"allocated_cores": cores, "user_seconds": one["time"]["elapsed_seconds"] * used * 1.0, "system_seconds": 0.0}
        if cores is None:
            del one["cpu"]["allocated_cores"]
        return line(one)

    server.push([made(1, 4, 0, seconds=60), made(2, 10, 1, seconds=61), made(3, 100, 11, seconds=4000), made(4, 1, 2), made(5, None, 1), made(6, 2, 1, uid=BOB)])
    visitor = Visitor(server, make_token(server, ALICE, "--scope", "operator"))
    found = {}
    for title, table, absent in re.findall(r"<h2>([^<]*)</h2>(<table class=\"spread\">.*?</table>)<p class=\"note\">Not known for (\d+) jobs", visitor.text("/spread?days=36500"), re.DOTALL):
        rows = re.findall(r'<a href="([^"]*)">([^<]*)</a>.*?</progress> (\d+)</td>', table, re.DOTALL)
        found[title] = {words: int(count) for _, words, count in rows if int(count)} | {None: int(absent)}
        assert sum(found[title].values()) == 6
        for path, words, count in rows:
            assert len(re.findall(r'href="/jobs/\d+\?', visitor.text(path.replace("&amp;", "&")))) == int(count), (title, words)
    assert found["CPU used"] == {"up to 10 %": 2, "10 % to 20 %": 1, "40 % to 50 %": 1, "above 90 %": 1, None: 1}
    assert found["Cores"] == {"up to 1": 1, "1 to 4": 2, "4 to 16": 1, "64 to 256": 1, None: 1}
    assert found["Elapsed"] == {"up to 1 min": 1, "1 min to 10 min": 4, "1 h to 6 h": 1, None: 0}
    assert found["Wait in the queue"] == {None: 6}  # no manager was asked


def test_nodes_are_marked_that_fell_silent(either):
    server = either
    server.push([job(1, node="well"), job(2, node="busy", final=False), job(3, node="silent", final=False)])
    server.ask_database(f"UPDATE records SET arrived_ns = arrived_ns - {3600 * 10**9} WHERE node = 'silent'")
    text = Visitor(server, make_token(server, BOB, "--scope", "operator")).text("/nodes")
    rows = [re.sub("<[^>]*>+", " ", row).split() for row in re.findall("<tr>(.*?)</tr>", text, re.DOTALL)[1:]]
    assert [[row[0], row[2]] for row in rows] == [["silent", "silent"], ["busy", "jobs"], ["well", "no"]]
    assert "3 nodes, 1 silent." in text


def test_a_node_says_how_it_is_with_what_it_sends(either):
    server = either
    def say(numbers, node="busy", text=None):
        told = text or json.dumps({"schema": "jobmeter.node/1", "cluster": "made", "node": node} | numbers)
        answer = server.post(job(1, node="busy", final=False), **{"Jobmeter-Node": told})
        assert answer.status == 200, answer.text

    say({"cpus": 64, "load": 17.0, "memory_bytes": 64 * 2**30, "memory_available_bytes": 48 * 2**30, "missing": 3, "lost_events": 0})
    say({"cpus": 64, "load": 31.25, "memory_bytes": 64 * 2**30, "memory_available_bytes": 16 * 2**30, "missing": 0, "lost_events": 12})
    say({}, node=EVIL.encode("ascii", "ignore").decode())
    for nothing in ("", "{", "[]", '{"node": 1}', '{"node": "x", "load": "y"}', '{"node": "x", "cpus": 1e300}', json.dumps({"node": "x" * 501})):
        say({}, text=nothing or " ")
    visitor = Visitor(server, make_token(server, BOB, "--scope", "operator"))
    text = visitor.text("/nodes")
    rows = [re.sub("<[^>]*>+", " ", row).split() for row in re.findall("<tr>(.*?)</tr>", text, re.DOTALL)[1:]]
    assert Page(text) and "<img" not in text and len(rows) == 2
    assert " ".join(next(row for row in rows if row[0] == "busy")).partition(" ago ")[2] == "1 1 31.2 of 64 75 % of 64 GiB - - all 12 events lost"
    say({"missing": 4, "not_measured": ["hardware counters: no\nsuch device", EVIL, 7, "x" * 5000], "lost_events": 0})
    text = visitor.text("/nodes?node=busy")
    assert re.findall("<summary>([^<]*)</summary>", text) == ["4 not measured"] and Page(text).text.count("<img src=x onerror=alert(1)>") == 1
    assert re.findall("<li>([^<]*)</li>", text)[::2] == ["hardware counters: no such device", "and 2 more"]
    say({"missing": 4, "lost_events": 0})  # as an older agent does
    text = visitor.text("/nodes?node=busy")
    assert "4 not measured</td>" in text and "<li>" not in text


def test_nodes_lead_to_their_jobs_and_jobs_to_their_nodes(either):
    server = either
    server.push([job(1, node="node1"), job(2, node="node2"), *(job(3, node=f"node{i}") for i in (1, 2)), job(4, BOB, node="node1"),
                 *(job(5, node=f"node{i}") for i in range(11, 31))])
    alice, operator = Visitor(server, make_token(server, ALICE)), Visitor(server, make_token(server, BOB, "--scope", "operator"))
    def jobs_of(visitor, path):
        return re.findall(r'<th scope="row".*?<a href="/jobs/(\d+)\?', visitor.text(path.replace("&amp;", "&")))

    row = re.search(r"<tr><th[^>]*>node1<.*?</tr>", operator.text("/nodes?days=36500"), re.DOTALL)[0]
    path, count = re.search(r'<a href="(/jobs\?node=node1&amp;[^"]*)">(\d+)</a>', row).groups()
    assert (count, jobs_of(operator, path)) == ("3", ["4", "3", "1"])
    assert jobs_of(alice, path) == ["3", "1"] and jobs_of(alice, "/jobs?node=node2") == ["3", "2"]
    assert jobs_of(alice, "/jobs?node=nosuch") == jobs_of(alice, "/jobs?node=node1&cluster=other") == []
    assert jobs_of(alice, "/jobs?node=node2&limit=1&sort=elapsed_seconds") in (["2"], ["3"])
    links = [one for one in Page(alice.text("/jobs/3")).links if "node=" in one]
    assert links == ["/jobs?node=node1&cluster=made", "/jobs?node=node2&cluster=made"]
    assert [one for one in Page(operator.text("/jobs/3")).links if "node=" in one] == ["/nodes?node=node1", "/nodes?node=node2"]
    assert "<summary>Ran on 20 nodes</summary>" in alice.text("/jobs/5")
    text = operator.text("/nodes?days=36500&node=node2")
    assert "1 node, 0 silent." in text and "<h1>Node node2</h1>" in text


def test_the_form_shows_all_that_chooses_jobs(server):
    server.push([job(1)])
    text = Visitor(server, make_token(server, ALICE)).text("/jobs?cpu_above=10&cpu_most=20&node=made-node1&sort=end&days=90")
    form = re.search('<form class="filters".*?</form>', text, re.DOTALL)[0]
    fields = dict(re.findall(r'<label>([^<]*)<input name="\w+" value="([^"]*)"/>', form))
    assert fields == {"CPU above, %": "10", "Node": "made-node1"} and '<input type="hidden" name="sort" value="end"/>' in form
    assert re.findall(r'selected="selected">([^<]*)<', form) == ["90 days", "up to 20 %"]


def with_cpu(made, cores, used):
    """Of 41 buckets of 16 s, each with so many cores busy as used(bucket) says."""
    one = json.loads(made)
    one["cpu"]["allocated_cores"] = cores
    one["timeline"]["series"] = {"cpu.user_seconds": {"unit": "seconds", "values": [16.0 * used(i) for i in range(41)]},
                                 "cpu.system_seconds": {"unit": "seconds", "values": [0.0] * 41}}
    return line(one)


def bars_of(text, number):
    """{class: heights of the columns, from the left}"""
    row = re.search(rf'<a href="/jobs/{number}\?.*?</tr>', text, re.DOTALL)[0]
    found = {}
    for name, path in re.findall(r'<path class="(c\d)" d="([^"]*)"', row):
        found[name] = [int(height) for wide, height in re.findall(r"h(\d+)v(\d+)", path) for _ in range(int(wide))]
    return found


def test_each_row_draws_how_busy_its_cores_were(either):
    server = either
    made = {"started": 0, "seconds": 640}
    server.push([with_cpu(job(1, **made), 4, lambda i: 4 if i < 20 else 1),
                 with_cpu(job(2, node="a", **made), 4, lambda i: 4), with_cpu(job(2, node="b", **made), 4, lambda i: 0),
                 with_cpu(job(3, **made), None, lambda i: 1), job(4, seconds=1), line(json.loads(job(5)) | {"timeline": None})])
    text = Visitor(server, make_token(server, ALICE)).text("/jobs")
    halves = bars_of(text, 1)
    assert halves["c5"] == [35] * 16 and set(halves["c1"]) == {9} and len(halves["c1"] + halves["c2"]) == 16 and Page(text)
    assert bars_of(text, 2) == {"c1": [], "c2": [18] * 32, "c5": []}  # the mean of both nodes
    assert not bars_of(text, 3) and not bars_of(text, 4) and not bars_of(text, 5)


def test_a_job_shows_what_would_fit_by_the_users_own_jobs(either):
    server = either
    def made(number, gib, minutes, **more):
        one = json.loads(job(number, name="sweep", started=20_000 * number, seconds=60 * minutes, **more))
        one["memory"]["peak_bytes"] = gib * 2**30
        one["cpu"] |= {"allocated_cores": 8, "user_seconds": 60.0 * minutes * 3, "system_seconds": 0.0}
        return line(one)

    alice, bob, operator = (Visitor(server, make_token(server, who, *scope)) for who, *scope in ((ALICE,), (BOB,), (BOB, "--scope", "operator")))
    server.push([made(i, 2, 30) for i in range(1, 3)] + [made(i, 40, 120, uid=BOB) for i in range(101, 110)])
    assert "not known" in alice.text("/jobs/1") and 'class="fits"' not in alice.text("/jobs/1")
    server.push([made(i, 2 + (i == 20), 30 + 61 * (i == 20)) for i in range(3, 41)])
    for visitor in (alice, operator):
        text = visitor.text("/jobs/7")
        assert re.findall("<code>([^<]*)</code>", text)[:3] == ["#SBATCH --time=0-00:36:00", "#SBATCH --mem=3G", "#SBATCH --cpus-per-task=3 # or --ntasks"]
        assert text.count("5 % of 40 similar jobs needed more") == 2 and Page(text)  # all jobs had the same cores busy
    assert "--mem=48G" in bob.text("/jobs/101") and bob.get("/jobs/7").status == 404
    server.push([line(json.loads(made(200 + i, 1, 5)) | {"job": json.loads(made(200 + i, 1, 5))["job"] | {"manager": "run"}}) for i in range(5)])
    assert 'class="fits"' not in alice.text("/jobs/201") and "needed more" in alice.text("/jobs/201")


def test_a_job_says_how_its_manager_ended_it_and_asks_for_more_where_it_fell_short(either):
    server = either
    def made(number, kills=0, scratch=5, **more):
        one = json.loads(job(number, name="sweep", started=20_000 * number, **{"seconds": 600, **more}))
        one["memory"] |= {"peak_bytes": 2 * 2**30, "oom_kills": kills}
        one["cpu"] |= {"allocated_cores": 4, "user_seconds": 1800.0, "system_seconds": 0.0}
        next(row for row in one["io"] if row["mount"] == "/scratch")["read"]["seconds"] = scratch
        return line(one)

    server.push([made(i) for i in range(1, 6)] + [made(6, kills=1), made(7), made(8, seconds=1140, scratch=509), made(9, final=False, seconds=128)])
    server.ask_database("UPDATE jobs SET state = 'TIMEOUT' WHERE job_id = '7'")
    visitor = Visitor(server, make_token(server, ALICE))
    pages = {i: visitor.text(f"/jobs/{i}") for i in (5, 6, 7, 8, 9)}
    rows = {i: dict(re.findall(r'<th scope="row">(\w+)</th>.*?<td>([^<]*)(?:<span class="name">[^<]*</span>)?</td></tr>',
                              re.search('<table class="asked">.*?</table>', text)[0])) for i, text in pages.items()}
    assert rows[5]["Memory"] == "2 GiB" and rows[6] == rows[5] | {"Memory": "more"} and rows[7] == rows[5] | {"Time": "more"}
    options = {i: re.findall("#SBATCH --(mem|time)", re.search('class="fits".*?</pre>', pages[i])[0]) for i in (5, 6, 7)}
    assert options == {5: ["time", "mem"], 6: ["time"], 7: ["mem"]}
    assert re.search(r'class="alert">TIMEOUT<', pages[7]) and not re.search(r">TIMEOUT<", pages[5])
    assert "slower" not in re.search("Compared with it: <strong>the run before failed[^<]*", pages[8])[0]  # than half a run
    server.ask_database("UPDATE jobs SET state = 'COMPLETED' WHERE job_id = '7'")
    assert "90 % slower: reads from /scratch took 8 m 24 s more" in visitor.text("/jobs/8")
    assert "was the run before.</p>" in pages[9]  # a part of a run is compared with none


def test_a_job_of_many_nodes_shows_each_over_time(either):
    server = either
    def made(node, used):
        one = json.loads(job(1, node=f"node{node:03}", started=0, seconds=640))
        one["cpu"]["allocated_cores"] = 4
        one["timeline"]["series"] = {name: {"unit": "seconds", "values": [16.0 * used if name.endswith("user_seconds") else 0.0] * 41}
                                     for name in ("cpu.user_seconds", "cpu.system_seconds")}
        return line(one)

    server.push([made(node, 0 if node == 99 else 4) for node in range(256)])
    visitor = Visitor(server, make_token(server, ALICE))
    text = visitor.text("/jobs/1")
    heat = re.search('<svg class="heat".*?</svg>', text, re.DOTALL)[0]
    rows = {name: re.findall(r"M\d+ (\d+)h", re.search(f'class="heat{name}" d="([^"]*)"', heat)[1]) for name in range(6)}
    assert rows[0] == ["99"] and rows[5] == [str(i) for i in range(256) if i != 99] and not rows[1] + rows[2] + rows[3] + rows[4]
    assert heat.count("<title>") == 256 and "Bytes read and written" not in text.partition("Nodes over time")[2] and Page(text)
    assert len(text) < 300_000
    server.push([job(2)])
    assert "Nodes over time" not in visitor.text("/jobs/2")


def test_usage_has_the_jobs_that_left_most_unused_first(either):
    server = either
    def made(number, cores, used, **more):
        one = json.loads(job(number, seconds=3600, **more))
        one["cpu"] |= {"allocated_cores": cores, "user_seconds": 3600.0 * used, "system_seconds": 0.0}
        return line(one)

    server.push([made(1, 4, 4), made(2, 17, 4), made(3, 64, 7, facts={"account": "other"}), made(4, 64, 64, started=100000), made(5, 99, 0, uid=BOB)])
    visitor = Visitor(server, make_token(server, ALICE))
    text = visitor.text("/usage?days=36500")
    worst = re.search("Jobs with the most unused core-hours.*?</table>", text, re.DOTALL)[0]
    assert re.findall(r'href="/jobs/(\d+)\?', worst) == ["3", "2", "4", "1"]  # two left nothing
    rows = re.findall("<tr>(.*?)</tr>", re.search("By account.*?</table>", text, re.DOTALL)[0], re.DOTALL)[1:]
    assert [re.sub("<[^>]*>+", " ", row).split()[:4] for row in rows] == [["other", "1", "64", "11"], ["made-account", "3", "85", "85"]]
    assert "57" in rows[0] and "13" in rows[1] and "By user" not in text
    assert len(re.findall("core-hours used, ", text)) == 2  # days


def test_files_say_who_loads_a_file_system(either):
    server = either
    def made(number, read, written, **more):
        one = json.loads(job(number, **more))
        scratch = next(row for row in one["io"] if row["mount"] == "/scratch")
        scratch["read"]["bytes"], scratch["write"]["bytes"] = read * 2**30, written * 2**30
        one["io"] = [row for row in one["io"] if row["mount"] in ("/scratch", "(pipe)")]
        return line(one)

    def rows_of(text):
        return [re.sub("<[^>]*>+", " ", row).split() for row in re.findall("<tr>(.*?)</tr>", text, re.DOTALL)]

    server.push([made(1, 17, 3), made(2, 5, 100), made(3, 1000, 0, uid=BOB), made(4, 1, 1, final=False, seconds=512)])
    operator = Visitor(server, make_token(server, BOB, "--scope", "operator"))
    assert rows_of(operator.text("/files?days=36500"))[1][:9] == ["/scratch", "lustre", "4", "4", "MiB/s", "1023", "GiB", "104", "GiB"]
    text = operator.text("/files?days=36500&mount=%2Fscratch")
    assert re.findall(r'href="/jobs/(\d+)\?', text) == ["4", "3", "2", "1"]  # the one that loads it now, then by bytes
    assert [row[:4] for row in rows_of(text) if row[0] in NAMES.values()] == [["made-alice", "3", "4", "MiB/s"], ["made-bob", "1", "-", "1000"]]
    of_bob = operator.text("/files?days=36500&mount=%2Fscratch&user=made-bob")
    assert re.findall(r'href="/jobs/(\d+)\?', of_bob) == ["3"]
    alice = Visitor(server, make_token(server, ALICE))
    text = alice.text("/files?days=36500&mount=%2Fscratch")
    assert re.findall(r'href="/jobs/(\d+)\?', text) == ["4", "2", "1"] and "<h2>Users</h2>" not in text
    assert "1023 GiB" not in alice.text("/files?days=36500")


def test_text_of_a_user_means_nothing_on_any_page(server):
    facts = {key: EVIL for key in ("name", "account", "partition", "state", "qos")}
    made = [json.loads(job(i, facts=facts)) for i in (1, 2)]
    for one in made:
        one["job"] |= {"user": EVIL, "command": [EVIL, EVIL], "workdir": EVIL}
        one["node"] = EVIL[:200]
        one["io"][0]["mount"] = "/" + EVIL
    server.push([line(one) for one in made])
    for token in (make_token(server, ALICE), make_token(server, BOB, "--scope", "operator")):
        visitor = Visitor(server, token)
        left, seen = PAGES + ["/files?days=36500", "/usage?days=36500"] + (OF_MANY if "operator" in visitor.text("/jobs") else []) + [f"/jobs?{key}={urllib.parse.quote(EVIL)}" for key in ("name", "user")], set()
        while left and len(seen) < 60:
            path = left.pop(0)
            text = visitor.text(path)
            assert "<script>alert" not in text and "<img" not in text, path
            seen.add(path)
            left += [one for one in Page(text).links if not one.startswith(("/assets", "/log", "#")) and one not in seen | set(left)]
        hostile = sorted({one.partition("?")[0] for one in seen if "onerror" in one})
        assert hostile == ["/files", "/jobs", *["/nodes"] * ("/nodes?days=36500" in seen), "/usage"][:len(hostile)] and len(hostile) > 1, sorted(seen)


def test_a_list_goes_on_where_its_page_ended(either):
    server = either
    server.push([job(i, started=1000 if i % 2 else i) for i in range(120)])
    visitor = Visitor(server, make_token(server, ALICE))
    seen, path = [], "/jobs?limit=25&sort=elapsed_seconds"
    while path:
        text = visitor.text(path)
        seen += re.findall(r'<th scope="row".*?<a href="/jobs/(\d+)\?', text)
        found = re.search(r'rel="next" href="([^"]*)"', text)
        path = found and found[1].replace("&amp;", "&")
    assert sorted(map(int, seen)) == list(range(120))


# ---- in a browser ----

class Tab:
    def __init__(self, browser, server):
        self.browser, self.base = browser, f"http://127.0.0.1:{server.port}"
        browser._ask("POST", f"{browser.session}/url", {"url": "about:blank"})  # what was open asks no more
        browser.tell("Network.clearBrowserCookies")
        browser.complaints()

    def open(self, path):
        self.browser._ask("POST", f"{self.browser.session}/url", {"url": self.base + path})

    def ask(self, script):
        return self.browser.evaluate(script)

    def wait_for(self, script, seconds=60):
        until(lambda: self.ask(script), seconds, lambda: (script, self.ask("return document.body.innerText")[:2000]))

    def click(self, selector):
        self.ask(f"document.querySelector({json.dumps(selector)}).click()")

    def sign_in(self, token):
        self.open("/jobs")
        self.ask(f"document.querySelector('#token').value = {json.dumps(token)}")
        self.click(".sign-in button")
        self.wait_for("return location.pathname == '/jobs' && !!document.querySelector('.list, .none')")


@pytest.mark.smoke
def test_a_researcher_finds_last_nights_failed_job(server, browser):
    failed = {"state": "FAILED", "exit_code": 1}
    server.push([job(i, started=100 * i, seconds=60 + i, facts=failed if i == 17 else {"state": "COMPLETED", "exit_code": 0}) for i in range(1, 40)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, ALICE))
    rows = "return [...document.querySelectorAll('.list tbody th a')].map(a => a.textContent)"
    assert tab.ask(rows) == [str(i) for i in range(39, 0, -1)]
    tab.ask("document.querySelector('[name=state]').value = 'FAILED'")
    tab.click(".filters button")
    tab.wait_for("return location.search.includes('state=FAILED') && document.querySelectorAll('.list tbody tr').length == 1")
    assert tab.ask(rows) == ["17"] and "exit 1" in tab.ask("return document.querySelector('.list tbody').innerText")
    tab.open("/jobs")
    tab.ask("[...document.querySelectorAll('thead a')].find(a => a.textContent.startsWith('Elapsed')).click()")
    tab.wait_for("return location.search.includes('sort=elapsed_seconds') && !!document.querySelector('[aria-sort=descending]')")
    tab.ask("[...document.querySelectorAll('thead a')].find(a => a.textContent.startsWith('Elapsed')).click()")
    tab.wait_for("return location.search.includes('order=asc') && !!document.querySelector('[aria-sort=ascending]')")
    assert tab.ask(rows) == [str(i) for i in range(1, 40)]
    tab.ask("[...document.querySelectorAll('.list tbody th a')].find(a => a.textContent == '17').click()")
    tab.wait_for("return location.pathname == '/jobs/17' && !!document.querySelector('.sentences')")
    assert "Job 4 of" in tab.ask("return document.querySelector('main').innerText")
    assert tab.ask("return performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin))")
    tab.click(".who button")
    tab.wait_for("return !!document.querySelector('.sign-in')")
    assert browser.complaints() == []


def test_three_people_find_what_they_look_for_on_a_site(folder, keeper, browser):  # noqa: F811
    rows = "[...document.querySelectorAll('.list tbody tr')]"
    ids = f"return {rows}.map(r => r.querySelector('th a').textContent)"
    with Serving(folder, keeper)(**made_site.prepare(folder)) as server:
        now = int(time.time())
        tokens = made_site.fill(folder, keeper, server, now)
        until(lambda: server.database_rows("SELECT count(*) FROM jobs WHERE state = 'PENDING'") == [(2,)])
        until(lambda: server.database_rows("SELECT 1 FROM coordinators"))  # asked for after the jobs
        tab = Tab(browser, server)

        def follow(words):
            """Click on what is called so."""
            tab.ask(f"window.left = true; [...document.querySelectorAll('a')].find(a => a.textContent.trim() == {json.dumps(words)}).click()")
            tab.wait_for("return !window.left && document.readyState == 'complete'")

        def begin(who):
            browser.tell("Network.clearBrowserCookies")
            tab.sign_in(tokens[who])
            assert tab.ask("return document.querySelector('.who').firstChild.textContent").startswith(who.replace("operator", "root, operator"))

        browser.tell("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        begin(made_site.ANA)
        assert tab.ask(f"return {rows}.filter(r => r.getBoundingClientRect().bottom <= innerHeight).length") >= 20
        tab.ask("document.querySelector('[name=state]').value = 'FAILED'")
        tab.click(".filters button")
        tab.wait_for("return location.search.includes('state=FAILED')")
        assert tab.ask(ids) == ["4292"] and "exit 2" in tab.ask(f"return {rows}[0].innerText")
        follow("4292")
        assert "exit 2" in tab.ask("return document.querySelector('.outcome').innerText")
        tab.open("/jobs?cpu_most=50")
        assert tab.ask(ids) == ["4289"]
        follow("4289")
        assert re.match("2.5 times as long: reads from /scratch took 13 h .* more over all threads", tab.ask("return document.querySelector('.compared strong').innerText"))
        assert tab.ask("return document.querySelector('.fits').innerText").count("#SBATCH --") == 3
        tab.ask("document.querySelector('svg.plot').dispatchEvent(new KeyboardEvent('keydown', {key: '+', bubbles: true}))")
        assert set(tab.ask("return [...document.querySelectorAll('svg.plot > svg')].map(s => s.getAttribute('viewBox'))")) == {"250 0 500 120"}
        assert tab.ask("return [...document.querySelectorAll('p.links')].map(p => p.innerText)")[1].startswith("Ran on gen-n")
        tab.open("/jobs?sort=wait_seconds")
        waited = tab.ask(f"return {rows}.map(r => r.querySelector('[data-label=Waited]').innerText)")
        assert waited[0] == "2 h 00 m" and len(set(waited)) > 2
        seconds = [sum(int(n) * {"h": 3600, "m": 60, "s": 1}[unit] for n, unit in re.findall(r"(\d+) (\w)", one)) for one in waited]
        assert seconds == sorted(seconds, reverse=True)
        tab.open("/jobs/4289")
        follow("Jobs like this one")
        assert {one.partition(" ")[0] for one in tab.ask(f"return {rows}.map(r => r.querySelector('.name').textContent)")} == {"train-unet"}
        follow("Usage")
        assert tab.ask(ids)[0] == "4289" and "By user" not in tab.ask("return document.body.innerText")
        browser.tell("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=True)
        follow("Jobs")
        assert tab.ask(f"return document.documentElement.scrollWidth <= 400 && {rows}.every(r => getComputedStyle(r).display == 'grid')")
        browser.tell("Emulation.setEmulatedMedia", media="print", features=[])
        assert tab.ask("return ['.site', '.filters', '.pages'].every(one => getComputedStyle(document.querySelector(one)).display == 'none')")
        begin(made_site.CLEO)
        browser.tell("Emulation.setDeviceMetricsOverride", width=1032, height=703, deviceScaleFactor=1, mobile=False)  # A4 across
        follow("Usage")
        assert tab.ask("return Math.max(...[...document.querySelectorAll('table')].map(t => t.getBoundingClientRect().right))") <= 1032
        browser.tell("Emulation.setEmulatedMedia", media="", features=[])
        browser.tell("Emulation.clearDeviceMetricsOverride")
        users = "[...document.querySelectorAll('section')].find(s => s.innerText.startsWith('By user'))"
        assert tab.ask(f"return [...{users}.querySelectorAll('tbody th')].map(t => t.innerText)") == [made_site.CLEO, made_site.ANA]  # BEN's are another's
        follow("Spread")
        counted = int(tab.ask("return [...document.querySelectorAll('tr')].find(r => r.innerText.startsWith('50 % to 60 %')).innerText").split()[-1])
        follow("50 % to 60 %")
        assert counted == server.database_rows("""SELECT count(*) FROM jobs WHERE account = 'climate' AND ("cpu.user_seconds" + "cpu.system_seconds")
            / ("cpu.allocated_cores" / 1e3 * elapsed_ns) BETWEEN 0.5 AND 0.6""")[0][0] > 50 and tab.ask(f"return {rows}.length") == 50
        begin("operator")
        follow("Files")
        follow("/scratch")
        counts = {made_site.count_jobs(now, made_site.BEN, "/scratch", then - made_site.DAY) for then in (now, int(time.time()))}
        said = re.match("gen-ben\\s+(\\d+)\\s+6\\d\\d MiB/s", tab.ask(f"return {rows}[0].innerText"))
        assert said and int(said[1]) in counts
        follow("Nodes")
        assert tab.ask(f"return {rows}.length") == 12 and "1 not measured" in tab.ask("return document.body.innerText")
        tab.click(".list summary")
        assert "GPU: no driver" in tab.ask("return document.querySelector('.list details').innerText")
        assert tab.ask("return performance.getEntriesByType('resource').every(e => e.name.startsWith(location.origin))")
        assert browser.complaints() == []


def test_each_control_has_a_name_and_headings_go_down_in_order(server, browser):
    server.push([job(i, node=f"node{i % 2}") for i in range(1, 9)] + [job(9, node="node1"), job(9, node="node2"), job(10, final=False)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, BOB, "--scope", "operator"))
    for path in PAGES + OF_MANY + ["/jobs/9"]:
        tab.open(path)
        named = tab.ask("""return [...document.querySelectorAll('input:not([type=hidden]), select, button, a[href], svg[role=img], [tabindex]')].filter(e =>
            !(e.getAttribute('aria-label') || e.labels && e.labels.length && e.labels[0].textContent.trim() || !e.labels && e.textContent.trim()
              || e.matches('button') && e.textContent.trim())).map(e => e.outerHTML)""")
        assert named == [], path
        levels = tab.ask("return [...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map(e => +e.tagName[1])")
        assert levels[:1] == [1] and levels.count(1) == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), (path, levels)
        assert tab.ask("return document.documentElement.lang == 'en' && document.querySelectorAll('main').length == 1 && !!document.querySelector('nav[aria-label]')")
        assert tab.ask("return [...document.querySelectorAll('table')].every(t => t.querySelector('th[scope]'))"), path
        for width in (390, 1280):
            browser.tell("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 400)
            assert tab.ask("return document.documentElement.scrollWidth") <= width, (path, width)
    browser.tell("Emulation.clearDeviceMetricsOverride")
    assert browser.complaints() == []


def test_the_first_view_is_small_and_needs_few_requests(server, browser):
    server.push([job(i) for i in range(200)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, ALICE))
    tab.open("/jobs")
    sizes = tab.ask("return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map(e => e.encodedBodySize)")
    assert len(sizes) <= 4 and 0 < sum(sizes) < 100_000, sizes
    assert tab.ask("return document.querySelectorAll('.list tbody tr').length") == 50


def test_plots_tell_values_and_are_zoomed_together(server, browser):
    made = json.loads(job(1, seconds=640, started=0, name="zoomed"))
    made["timeline"]["series"] = {"memory.usage_bytes": {"unit": "bytes", "values": [(i // 10 + 1) * 2**20 for i in range(41)]},
                                  "cpu.user_seconds": {"unit": "seconds", "values": [16.0] * 41}}
    server.push([line(made)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, ALICE))
    tab.open("/jobs/1")
    send = """const plot = [...document.querySelectorAll('svg.plot')].find(p => p.textContent.startsWith('Memory')), box = plot.getBoundingClientRect();
        const send = (kind, share) => plot.dispatchEvent(new PointerEvent(kind, {clientX: box.left + share * box.width, clientY: box.top + 9}));"""
    tab.ask(send + "send('pointermove', 0.9)")
    told = tab.ask("return [...document.querySelectorAll('text.cursor')].map(t => t.textContent)")
    assert len(told) == tab.ask("return document.querySelectorAll('svg.plot').length") and all(one.startswith("9 m 36 s: ") for one in told)
    assert [one for one in told if re.search(r": (3\.9|4\.0|4\.1) MiB$", one)] and "9 m 36 s: 1.0 cores" in told, told
    boxes = "return [...document.querySelectorAll('svg.plot > svg')].map(s => s.getAttribute('viewBox'))"
    whole = tab.ask(boxes)
    tab.ask(send + "send('pointerdown', 0.25); send('pointerup', 0.5)")
    assert set(tab.ask(boxes)) == {"250 0 250 120"} and len(whole) > 1
    tab.ask(send + "plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
    assert tab.ask(boxes) == whole and browser.complaints() == []


def test_a_list_shows_what_comes_while_it_is_open(server, browser):
    server.push([job(1, final=False)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, ALICE))
    assert tab.ask("return document.querySelector('.list-head select').value") == "60"  # one runs
    tab.ask("""const select = document.querySelector('.list-head select');
        select.add(new Option('often', 0.2)); select.value = '0.2'; select.dispatchEvent(new Event('change'))""")
    server.push([job(2)])
    tab.wait_for("return document.querySelectorAll('.list tbody tr').length == 2")
    assert browser.complaints() == []


def test_nothing_of_a_hostile_name_runs_in_a_browser(server, browser):
    server.push([job(i, name=EVIL, facts={"account": EVIL, "partition": EVIL, "user": EVIL}) for i in (1, 2)])
    tab = Tab(browser, server)
    tab.sign_in(make_token(server, BOB, "--scope", "operator"))
    for path in ("/jobs", "/jobs/1", "/usage", "/jobs?name=" + urllib.parse.quote(EVIL)):
        tab.open(path)
        assert tab.ask("return [document.querySelectorAll('img, script:not([src])').length, document.scripts.length]") == [0, 1]
    assert browser.complaints() == []
