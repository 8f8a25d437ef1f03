#!/bin/sh
# SPDX-License-Identifier: MIT
# Epilog of slurm.conf: adds the job's end to the file of prolog-jobmeter.sh, and removes the files of jobs that
# ended more than ten minutes ago; not at once, so that a restarting agent finds them.  Always exits with 0,
# because a failing epilog drains its node.

jobs=${JOBMETER_JOBS:-/run/jobmeter/jobs}
case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) exit 0 ;;
esac
file=$jobs/slurm-$SLURM_JOB_ID.json
new=$jobs/.slurm-$SLURM_JOB_ID.json.$$
umask 022
trap 'rm -f "$new"' EXIT

# A line a key, and the brace alone on the last: texts hold no line breaks of their own.
if test -f "$file" && ! grep -q '^"end": ' "$file"; then
	awk -v "end=$(date +%s)" '
		NR > 1 { print (NR > 2 && $0 == "}" ? last "," : last) }
		{ last = $0 }
		END { print "\"end\": " end; print last }' "$file" >"$new" && mv -f "$new" "$file"
	case ${SLURM_JOB_SLUID:-} in
	'' | *[!0-9A-Za-z]*) ;;
	*) ln -f "$file" "$jobs/slurm-$SLURM_JOB_SLUID.json" ;; # the file's other name: see the prolog
	esac
fi

# What a prolog left that was killed goes too.
find "$jobs" -maxdepth 1 -type f -name '.slurm-*.json.*' -mmin +10 -exec rm -f {} +
find "$jobs" -maxdepth 1 -type f -name 'slurm-*.json' -mmin +10 -exec grep -l '^"end": ' {} + 2>/dev/null |
	while read -r old; do
		rm -f "$old"
	done
exit 0
