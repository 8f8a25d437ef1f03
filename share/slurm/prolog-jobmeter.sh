#!/bin/sh
# SPDX-License-Identifier: MIT
# Prolog of slurm.conf: writes Slurm's data on a job to /run/jobmeter/jobs/slurm-ID.json, for jobmeter's agent
# (docs/sites/slurm.md).  All of it comes from slurmd's environment; the controller is never queried.  Data that
# this version of Slurm does not pass are left out.
#
# Always exits with 0, because a failing prolog drains its node.

jobs=${JOBMETER_JOBS:-/run/jobmeter/jobs}

fail()
{
	echo "prolog-jobmeter: job ${SLURM_JOB_ID:-?}: $*" >&2
	exit 0
}

case ${SLURM_JOB_ID:-} in
'' | *[!0-9]*) fail "there is no SLURM_JOB_ID" ;;
esac
umask 022
# Names and accounts of jobs are private: the agent gives the directory to its own group.
test -d "$jobs" || { mkdir -p "$jobs" && chmod 0750 "$jobs"; } || fail "cannot make $jobs"
new=$jobs/.slurm-$SLURM_JOB_ID.json.$$
trap 'rm -f "$new"' EXIT

# Users control these texts: awk reads them from the environment, byte by byte, and nothing here is
# ever evaluated.
NOW=$(date +%s) LC_ALL=C awk '
function is_follower(text, at) {
	return at <= length(text) && code[substr(text, at, 1)] >= 128 && code[substr(text, at, 1)] < 192
}

# How many bytes the character at this place has; 0: it is not UTF-8.
function utf8_bytes(text, at,    first, second, n, i) {
	first = code[substr(text, at, 1)]
	n = first < 128 ? 1 : first < 194 ? 0 : first < 224 ? 2 : first < 240 ? 3 : first < 245 ? 4 : 0
	for (i = 1; i < n; i++)
		if (!is_follower(text, at + i))
			return 0
	second = code[substr(text, at + 1, 1)]
	if (first == 224 && second < 160 || first == 237 && second > 159 ||
	    first == 240 && second < 144 || first == 244 && second > 143)
		return 0
	return n
}

function quoted(text,    at, n, c, all) {
	text = substr(text, 1, 1024)
	for (at = 1; at <= length(text); at += n ? n : 1) {
		n = utf8_bytes(text, at)
		c = substr(text, at, n)
		if (!n)
			c = "\\ufffd"
		else if (c == "\"" || c == "\\")
			c = "\\" c
		else if (code[c] < 32 && n == 1)
			c = sprintf("\\u%04x", code[c])
		all = all c
	}
	return "\"" all "\""
}

function put(key, value) {
	printf "%s\"%s\": %s", separator, key, value
	separator = ",\n"
}

function put_text(key, name) {
	if (ENVIRON[name] != "")
		put(key, quoted(ENVIRON[name]))
}

# Fifteen digits are exact in a double, which is what JSON readers and awk may keep.
function is_number(text) {
	return text ~ /^[0-9]+$/ && length(text) <= 15
}

function put_number(key, value) {
	if (is_number(value))
		put(key, value + 0 == 0 ? 0 : unpadded(value))
}

function unpadded(digits) {
	sub(/^0+/, "", digits)
	return digits
}

# "2,0" or "0-1,3"; nothing at all where a part is no number, as with MIG.
function put_list(key, text,    parts, ends, count, i, number, all) {
	count = split(text, parts, ",")
	for (i = 1; i <= count; i++) {
		if (split(parts[i], ends, "-") < 2)
			ends[2] = ends[1]
		if (!is_number(ends[1]) || !is_number(ends[2]) || ends[2] - ends[1] > 1024)
			return
		for (number = ends[1] + 0; number <= ends[2] + 0; number++)
			all = all (all == "" ? "" : ", ") number
	}
	put(key, "[" all "]")
}

BEGIN {
	for (i = 1; i < 256; i++)
		code[sprintf("%c", i)] = i
	printf "{\n"
	put("schema", "\"jobmeter.job/1\"")
	put("manager", "\"slurm\"")
	put_text("id", "SLURM_JOB_ID")
	put_text("sluid", "SLURM_JOB_SLUID")
	put_text("array_id", "SLURM_ARRAY_JOB_ID")
	put_number("array_index", ENVIRON["SLURM_ARRAY_TASK_ID"])
	put_number("het_offset", ENVIRON["SLURM_HET_JOB_OFFSET"])
	put_text("user", "SLURM_JOB_USER")
	put_number("uid", ENVIRON["SLURM_JOB_UID"])
	put_text("account", "SLURM_JOB_ACCOUNT")
	put_text("partition", "SLURM_JOB_PARTITION")
	put_text("qos", "SLURM_JOB_QOS")
	put_text("reservation", "SLURM_JOB_RESERVATION")
	put_text("name", "SLURM_JOB_NAME")
	# "4(x2)": on each of two nodes.  "4,2" does not say which is ours: the cgroup will.
	cores = ENVIRON["SLURM_JOB_CPUS_PER_NODE"]
	sub(/\(x[0-9]+\)$/, "", cores)
	put_number("cores", cores)
	if (is_number(ENVIRON["SLURM_MEM_PER_NODE"])) # MiB
		put("memory_limit_bytes", sprintf("%.0f", ENVIRON["SLURM_MEM_PER_NODE"] * 1048576))
	if (ENVIRON["SLURM_JOB_GPUS"] != "")
		put_list("gpus", ENVIRON["SLURM_JOB_GPUS"])
	start = ENVIRON["SLURM_JOB_START_TIME"]
	put_number("start", is_number(start) && start > 0 ? start : ENVIRON["NOW"])
	printf "\n}\n"
}' </dev/null >"$new" || fail "cannot write $new"
mv -f "$new" "$jobs/slurm-$SLURM_JOB_ID.json" || fail "cannot write $jobs/slurm-$SLURM_JOB_ID.json"
# From Slurm 26.05 on cgroups have the SLUID for a name.
case ${SLURM_JOB_SLUID:-} in
'' | *[!0-9A-Za-z]*) ;;
*) ln -f "$jobs/slurm-$SLURM_JOB_ID.json" "$jobs/slurm-$SLURM_JOB_SLUID.json" ||
	fail "cannot write $jobs/slurm-$SLURM_JOB_SLUID.json" ;;
esac
exit 0
