# SPDX-License-Identifier: MIT
# filesystems - file systems of every kind, for tests; sourced by sh, on a host and in the guests.
#
#	make KIND DIR
#
# mounts a new file system at DIR, a folder that need not be there yet.  What lies below it (the image
# of a loop device, the layers of an overlay, what a daemon or a server takes its files from) is a file
# system of its own at DIR.below.  All is unmounted when the shell ends, the last first.  Where the
# machine cannot have the kind, the shell ends with 77 and the reason on stderr.
#
# KIND: tmpfs ext4 xfs overlay overlay_on_ext4 overlay_on_xfs fuse nfs, and root: an overlay over this
# machine's "/", with /dev/zero, for a job to take as its root.

made=

lacks()
{
	echo "$*" >&2
	exit 77
}

is_mounted()
{
	grep -q " $1 " /proc/self/mounts
}

make()
{
	mkdir -p "$2"
	"make_$1" "$2"
	made="$2 $made"
}

unmake_all()
{
	for place in $made; do
		umount "$place" || umount -l "$place"
	done 2>/dev/null
	made=
	test ! -e /proc/fs/nfsd/threads || echo 0 >/proc/fs/nfsd/threads
}
trap unmake_all EXIT

make_tmpfs()
{
	mount -t tmpfs own "$1" || lacks "cannot mount a tmpfs"
}

# mount_image KIND DIR
mount_image()
{
	mount -t "$1" -o loop "$2.below/image" "$2" 2>/dev/null || lacks "cannot mount $1 from a loop device"
}

make_ext4()
{
	make tmpfs "$1.below"
	truncate -s 64M "$1.below/image"
	if command -v mkfs.ext4 >/dev/null; then
		mkfs.ext4 -q "$1.below/image"
	else
		mke2fs -F "$1.below/image" >/dev/null # busybox's
	fi
	mount_image ext4 "$1"
}

make_xfs()
{
	command -v mkfs.xfs >/dev/null || lacks "xfsprogs is not installed"
	make tmpfs "$1.below"
	truncate -s 301M "$1.below/image" # the least that mkfs.xfs takes; it writes 65 MiB of it
	mkfs.xfs -q "$1.below/image"
	mount_image xfs "$1"
}

# overlay_over KIND DIR
overlay_over()
{
	make "$1" "$2.below"
	mkdir "$2.below/lower" "$2.below/upper" "$2.below/work"
	mount -t overlay -o "lowerdir=$2.below/lower,upperdir=$2.below/upper,workdir=$2.below/work" own "$2" \
		2>/dev/null || lacks "cannot mount an overlay over $1"
}

make_overlay()
{
	overlay_over tmpfs "$1"
}

make_overlay_on_ext4()
{
	overlay_over ext4 "$1"
}

make_overlay_on_xfs()
{
	overlay_over xfs "$1"
}

make_root()
{
	command -v busybox >/dev/null || lacks "busybox is not installed" # a static program to run in it
	make tmpfs "$1.below"
	mkdir "$1.below/upper" "$1.below/work"
	mount -t overlay -o "lowerdir=/,upperdir=$1.below/upper,workdir=$1.below/work" own "$1" 2>/dev/null ||
		lacks "cannot mount an overlay over /"
	mkdir -p "$1/dev"
	rm -f "$1/dev/zero"
	mknod "$1/dev/zero" c 1 5
}

# The daemon runs beside the job, not in it, and ends when its mount does.
make_fuse()
{
	command -v bindfs >/dev/null || lacks "bindfs is not installed"
	grep -q fuse /proc/filesystems || modprobe fuse 2>/dev/null || lacks "the kernel has no FUSE"
	make tmpfs "$1.below"
	bindfs -f "$1.below" "$1" >/dev/null 2>&1 &
	until is_mounted "$1"; do
		kill -0 $! 2>/dev/null || lacks "bindfs cannot mount"
		sleep 0.1
	done
}

# NFSv4.2 over the loopback: the caches that mountd would fill are filled by hand, as there is one export
# and one client.  The first open and the first write wait for the server's grace period, 10 s at least: nobody is to
# come back, and so it is ended at once, where the server can (with a folder for its list of clients).
make_nfs()
{
	modprobe nfsd 2>/dev/null && modprobe nfsv4 || lacks "the kernel has no NFS server and client"
	make tmpfs "$1.below"
	is_mounted /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
	never=2147483647
	flags=9218 # insecure_port, no_subtree_check, fsid=
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo "nfsd 127.0.0.1 $never here" >/proc/net/rpc/auth.unix.ip/channel
	echo "here $1.below $never $flags 65534 65534 0" >/proc/net/rpc/nfsd.export/channel
	printf 'here 1 \\x00000000 %s %s\n' "$never" "$1.below" >/proc/net/rpc/nfsd.fh/channel
	echo "-2 -3 +4 +4.2" >/proc/fs/nfsd/versions # before the port; 2 and 3 would want rpcbind
	echo "tcp 2049" >/proc/fs/nfsd/portlist
	echo 2 >/proc/fs/nfsd/threads
	echo Y 2>/dev/null >/proc/fs/nfsd/v4_end_grace || :
	mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ "$1" 2>/dev/null ||
		lacks "cannot mount NFS from the loopback"
}
