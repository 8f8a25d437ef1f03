#!/bin/sh
# SPDX-License-Identifier: MIT
# TaskEpilog of slurm.conf: ends the output of a batch job with five lines of what it did, which jobmeter's
# agent on this node knows (docs/sites/slurm.md).  It runs as the job's user, who sees the job on the agent's socket.
#
# What it writes to its standard error stands where the errors of the batch script do: in slurm-ID.out, or in
# the file of sbatch --error.  Its standard output goes nowhere.
#
# Says nothing, and ends well, where no agent answers within five seconds.

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac

# Of a job once: at the end of its batch script, not of each task of each step.
if grep -q '/step_' /proc/self/cgroup; then
	grep -q '/step_batch\(/\|$\)' /proc/self/cgroup || exit 0
elif test -n "${SLURM_STEP_ID:-}"; then
	exit 0
fi

PATH=${PATH:-}:/usr/local/bin:/usr/bin:/bin
cd / || exit 0
summary=$(timeout 5 "${JOBMETER:-jobmeter}" report --summary "slurm/$SLURM_JOB_ID" 2>/dev/null) || exit 0
printf '%s\n' "$summary" >&2
exit 0
