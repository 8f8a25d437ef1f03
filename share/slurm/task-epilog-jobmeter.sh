#!/bin/sh
# SPDX-License-Identifier: MIT
# TaskEpilog of slurm.conf: ends the output of a batch job with a summary of five lines from jobmeter's agent on
# this node (docs/sites/slurm.md).  It runs as the job's user, who sees the job on the agent's socket.
#
# Its standard error goes to that of the batch script: to slurm-ID.out, or to the file of sbatch --error.  Its
# standard output is discarded.
#
# Prints nothing, and exits with 0, if no agent answers within five seconds.

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac

# Once per job: at the end of its batch script, not of each task of each step.
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
