# SPDX-License-Identifier: MIT
"""The node's power by IPMI, through Linux' own driver and QEMU's device: what the BMC says rightly is counted, what it refuses,
says wrongly, late or not at all is no power, and nobody waits for it."""

import itertools

import pytest

import ipmi_guest


@pytest.fixture
def samples(ipmi_boot):
    return ipmi_boot.result()[0]


@pytest.fixture
def asked(ipmi_boot):
    return ipmi_boot.result()[1]


def answers(samples):
    """Each answer that was right, at its first sight."""
    return [reading for sample in samples for reading in sample["energy"] if not reading["is_stale"]]


def reasons(samples):
    """Why there was no power, in their order, without how long it has been so."""
    said = [text for sample in samples for text in sample["missing"] if text.startswith("energy by DCMI")]
    return [text for text, _ in itertools.groupby(said)]


def test_a_right_answer_is_the_nodes_power(samples, asked):
    right = [int(word) for word in asked if word.isdigit()]
    found = answers(samples)
    assert [reading["power_uw"] for reading in found] == [1000000 * watts for watts in right][:len(found)]
    assert len(right) - len(found) in (0, 1) and len(found) >= 4  # the last may have been asked at the end
    assert {(r["source"], r["level"], r["socket"]) for r in found} == {("dcmi", "node", -1)}


def test_energy_is_the_mean_of_both_powers_over_the_time_between_them(samples):
    found = answers(samples)
    added = [(a["power_uw"] + b["power_uw"]) / 2 * (b["at"] - a["at"]) for a, b in itertools.pairwise(found)]
    for reading, so_far in zip(found[1:], itertools.accumulate(added)):
        assert abs(reading["total_uj"] - so_far) <= len(found)


def test_an_answer_that_is_none_is_withheld_and_said(samples):
    expected = ["the BMC refused: code 0xc1", "none of DCMI (3 bytes of 19)", "the BMC does not measure power now",
                "it says that the node takes no power", "the BMC has not answered for", "the BMC's answer came too late",
                "the BMC has not answered for", "the BMC refused: code 0xc3"]
    found = reasons(samples)
    assert len(found) == len(expected) and all(words in text for words, text in zip(expected, found)), found
    for sample in samples:
        is_said = any(text.startswith("energy by DCMI") for text in sample["missing"])
        assert not (is_said and sample["energy"]), sample


def test_one_question_at_a_time_and_none_twice(asked):
    assert asked == ipmi_guest.SCRIPT[:len(asked)] and len(asked) >= ipmi_guest.SCRIPT.index("none") + 2


def test_all_other_numbers_come_each_second_and_nobody_waits_for_the_bmc(samples):
    assert len(samples) == ipmi_guest.SECONDS + 1
    assert len({sample["samples"] for sample in samples}) == 1 and samples[0]["samples"] > 0
    assert max(sample["took"] for sample in samples) < 1  # it was silent for 3 s, and for 4
