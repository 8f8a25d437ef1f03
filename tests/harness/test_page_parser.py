# SPDX-License-Identifier: MIT
"""The reader that the agent's page is held against: what it must refuse, and what it must not."""

import pytest

from exposition import PageError, parse

GOOD = '# HELP a_total What.\n# TYPE a_total counter\na_total{x="1",y="q\\"\\\\\\n,}"} 18446744073709551615\na_total 1.5e+3\n'


def test_a_good_page():
    page = parse(GOOD)
    assert page.of("a_total") == [({"x": "1", "y": 'q"\\\n,}'}, 18446744073709551615), ({}, 1500.0)]
    assert page.counters() == page.samples


def test_parts_of_a_histogram_are_one_family():
    page = parse('# TYPE h histogram\nh_bucket{le="+Inf"} 1\nh_sum 2\nh_count 1\n')
    assert len(page.samples) == 3 and page.types == {"h": "histogram"}


@pytest.mark.parametrize("page", [
    GOOD[:-1], "a 1\n", "# TYPE a counter\na -1\n", "# TYPE a counter\na NaN\n", "# TYPE a gauge\na 1\na 1\n",
    '# TYPE a gauge\na{x="1",y="2"} 1\na{y="2",x="1"} 1\n', "# TYPE a gauge\na 1 \n", "# TYPE a gauge\na  1\n",
    "# TYPE a gauge\na 0x1\n", "# TYPE a gauge\na{x=1} 1\n", '# TYPE a gauge\na{x="\\t"} 1\n',
    '# TYPE a gauge\na{x="1",x="2"} 1\n', '# TYPE a gauge\na{x="1} 1\n', '# TYPE a gauge\na{x="1"}1\n',
    "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\na 2\n", "# TYPE a gauge\n# TYPE a gauge\n", "# TYPE a sort\n",
    "# HELP a b\n# HELP a b\n", "\n", "1a 1\n", '# TYPE a gauge\na{} 1\n',
])
def test_a_bad_page(page):
    with pytest.raises(PageError):
        parse(page)
