# SPDX-License-Identifier: MIT
# throttled - a command under a CPU quota, and what the kernel says of it.
#
#	sh throttled.sh PERCENT OUTPUT COMMAND...
#
# The quota, in hundredths of a CPU and for a second each time, is that of the group that this runs in: so that has to be
# one of its own, as `jobmeter run` makes; for v1's cpu, where it makes none, one is made here. Its weight is the greatest, so that nothing but the quota keeps it from a CPU.
# OUTPUT is the group's cpu.stat after the command, when there is no quota any more: nothing is held back after it is read.
set -e
outer=
quota=$(($1 * 10000)) output=$2
shift 2
if test -e /sys/fs/cgroup/cgroup.controllers; then
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
	file=$group/cpu.max no_quota=max
	echo "$quota 1000000" >"$file"
	echo 10000 >"$group/cpu.weight"
else
	outer=/sys/fs/cgroup/cpu$(sed -n 's/^[0-9]*:\(.*,\)\?cpu\(,.*\)\?://p' /proc/self/cgroup)
	group=$outer/throttled-$$
	mkdir "$group"
	echo $$ >"$group/cgroup.procs"
	echo 1000000 >"$group/cpu.cfs_period_us"
	file=$group/cpu.cfs_quota_us no_quota=-1
	echo "$quota" >"$file"
	echo 262144 >"$group/cpu.shares"
fi
"$@"
echo "$no_quota" >"$file"
cat "$group/cpu.stat" >"$output"
test -z "$outer" || { echo $$ >"$outer/cgroup.procs"; rmdir "$group"; }
