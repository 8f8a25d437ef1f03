# SPDX-License-Identifier: MIT
"""Our ridge and forest beside scikit-learn's, on the same rows and the same windows of time.

    /usr/bin/python3 tests/system/learned_beside.py FILE.swf     with jobmeter built in build/ or $JOBMETER_BUILD"""

import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ.get("JOBMETER_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
CODES, BUCKETS = 4, 32  # the last features are texts
WINDOWS, FIRST, CALIBRATION = 5, 0.3, 0.2


def ours(trace):
    """{model: (log RMSE, share within a factor of 2)} over all windows."""
    done = subprocess.run([BUILD / "jobmeter-server", "predict", "evaluate", "--swf", trace], capture_output=True, text=True, check=True)
    lines = done.stdout.split("runtime:")[1].split("  all ")[1].splitlines()[1:5]
    return {name: (float(rmse), float(share) / 100) for name, share, rmse in
            (re.match(r"\s*(\w+)\s+\d+\s+([\d.]+) %\s+[\d.]+\s+([\d.]+)", one).groups() for one in lines if "not fitted" not in one)}


def theirs(trace):
    """The same of scikit-learn's."""
    import numpy
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge

    text = subprocess.run([BUILD / "tests/system/predict-rows", trace], capture_output=True, text=True, check=True).stdout
    rows = numpy.array([one.split() for one in text.splitlines()], dtype=float)
    target, submit, end, features = rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3:]
    one_hot = numpy.hstack([(features[:, -CODES + i] % BUCKETS)[:, None] == numpy.arange(BUCKETS) for i in range(CODES)]).astype(float)

    def linear(learned, asked):
        numbers = features[:, :-CODES]
        deviation = numbers[learned].std(axis=0)
        scaled = numpy.clip((numbers - numbers[learned].mean(axis=0)) / numpy.where(deviation > 0, deviation, numpy.inf), -6, 6)
        x = numpy.hstack([scaled, one_hot])
        return numpy.clip(Ridge(alpha=10).fit(x[learned], target[learned]).predict(x[asked]), target[learned].min(), target[learned].max())

    def trees(learned, asked):
        forest = RandomForestRegressor(100, max_depth=10, min_samples_leaf=5, max_features=0.5, max_samples=0.63, random_state=1)
        return forest.fit(features[learned], target[learned]).predict(features[asked])

    begin = int(len(rows) * FIRST)
    length = (len(rows) - begin) // WINDOWS
    misses = {"ridge": [], "forest": []}
    for window in range(WINDOWS):
        first = begin + window * length
        last = len(rows) if window == WINDOWS - 1 else first + length
        ended = numpy.flatnonzero(end[:first] <= submit[first])
        learned, asked = ended[:len(ended) - int(len(ended) * CALIBRATION)], slice(first, last)
        for name, predict in (("ridge", linear), ("forest", trees)):
            misses[name] += list(target[asked] - predict(learned, asked))
    return {name: (float(numpy.sqrt(numpy.mean(numpy.square(of)))), float(numpy.mean(numpy.abs(of) <= numpy.log(2)))) for name, of in misses.items()}


if __name__ == "__main__":
    own, other = ours(sys.argv[1]), theirs(sys.argv[1])
    print(f"{'':10} {'log RMSE':>10} {'factor 2':>10}")
    for name, (rmse, share) in [*own.items(), *((f"{name}, sklearn", both) for name, both in other.items())]:
        print(f"{name:16} {rmse:8.3f} {100 * share:8.1f} %")
