#!/bin/sh
# SPDX-License-Identifier: MIT
# Energy QOS as commands of sacctmgr.  Without an argument they are printed; `energy-qos.sh --apply` runs them, as an
# operator of Slurm, and may run again.  A QOS caps no watt, sets no frequency and makes no program faster: it is a label
# by which `jobmeter jobs` and predictions tell jobs apart, and Slurm counts and limits them.
#
#   cpu_intensive     A label: all else is as in the QOS `normal`.
#   io_intensive      At most IO_NODES nodes run such jobs at once, over the whole cluster: it spares the file system.
#                     A job that does not say so is not limited, however much it reads.
#   energy_efficient  Its use counts by the factor FACTOR in fair share, and it starts behind others (priority 0): a reward
#                     for jobs that may wait, such as those with --comment=eco (job_submit.lua).  By itself it saves nothing.
#
# Environment: IO_NODES (10), FACTOR (0.8), ACCOUNTS: names with commas between that may use them (none: give them by
# `sacctmgr modify account NAME set qos+=energy_efficient`).  slurm.conf wants AccountingStorageEnforce=qos,limits for
# io_intensive's limit, and PriorityType=priority/multifactor for the factor and the priority.
set -eu

: "${IO_NODES:=10}" "${FACTOR:=0.8}" "${ACCOUNTS:=}"
names=cpu_intensive,io_intensive,energy_efficient

case "${1-}" in
--apply) run() { "$@"; } ;;
"")
	run() { # as it would be typed
		for word; do
			case $word in
			*" "*) printf "'%s' " "$word" ;;
			*) printf '%s ' "$word" ;;
			esac
		done
		echo
	}
	;;
*)
	echo "usage: energy-qos.sh [--apply]" >&2
	exit 2
	;;
esac

# "Nothing new added", of one that is there, is a failure of sacctmgr
for name in $(echo $names | tr , ' '); do
	if [ "${1-}" = "" ] || [ -z "$(sacctmgr -nP show qos "$name" format=name)" ]; then
		run sacctmgr -i add qos "$name"
	fi
done
run sacctmgr -i modify qos cpu_intensive set Description="many busy cores: a label" UsageFactor=1
run sacctmgr -i modify qos io_intensive set Description="much input and output: few nodes at once" UsageFactor=1 "GrpTRES=node=$IO_NODES"
run sacctmgr -i modify qos energy_efficient set Description="may wait: counts less" "UsageFactor=$FACTOR" Priority=0
for account in $(echo "$ACCOUNTS" | tr , ' '); do
	run sacctmgr -i modify account "$account" set "qos+=$names"
done
