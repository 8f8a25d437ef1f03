/* SPDX-License-Identifier: MIT */
/*
 * hot - uses files of two folders in known ways, for the tests of `jobmeter run --files`: all sizes
 * and counts are primes, and stand in hot_cases.py beside it.
 *
 *     hot FOLDER [OTHER-FOLDER]
 *
 * The two have to be on file systems of their own that number their files alike: one file in each
 * has the same number.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_FILES 1009
#define THREADS 2

static char buffer[65536];
static const char *folder, *other;

static const char *in(const char *parent, const char *name)
{
	static __thread char path[4096];

	snprintf(path, sizeof(path), "%s/%s", parent, name);
	return path;
}

static int must_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void must(bool is_well, const char *what)
{
	if (!is_well)
		err(1, "%s", what);
}

static void write_all(int fd, size_t chunk, int times)
{
	for (int i = 0; i < times; i++)
		must(write(fd, buffer, chunk) == (ssize_t)chunk, "write");
}

static void read_to_end(int fd, size_t chunk)
{
	while (read(fd, buffer, chunk) > 0)
		;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	must(fstat(fd, &st) == 0, "fstat");
	return st.st_ino;
}

/* Files are made in the one folder or the other until two have one number. */
static void use_same_numbers(void)
{
	const char *const parents[] = { folder, other };
	int fds[2] = { must_open(in(folder, "same"), O_CREAT | O_EXCL | O_WRONLY),
		       must_open(in(other, "same"), O_CREAT | O_EXCL | O_WRONLY) };

	for (int i = 0; inode_of(fds[0]) != inode_of(fds[1]); i++) {
		int behind = inode_of(fds[0]) > inode_of(fds[1]);

		must(i < 100000, "no two files have one number");
		must(unlink(in(parents[behind], "same")) == 0, "unlink");
		close(fds[behind]);
		fds[behind] = must_open(in(parents[behind], "same"), O_CREAT | O_EXCL | O_WRONLY);
	}
	write_all(fds[0], 211, 1);
	write_all(fds[1], 223, 1);
	close(fds[0]);
	close(fds[1]);
}

static void read_twice(void)
{
	int fd = must_open(in(folder, "twice"), O_CREAT | O_EXCL | O_WRONLY);

	write_all(fd, 1009, 101);
	close(fd);
	fd = must_open(in(folder, "twice"), O_RDONLY);
	read_to_end(fd, 4099);
	must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	read_to_end(fd, 4099);
	close(fd);
}

static void read_downwards(void)
{
	int fd = must_open(in(folder, "random"), O_CREAT | O_EXCL | O_RDWR);

	must(ftruncate(fd, 100003) == 0, "ftruncate");
	for (int i = 96; i >= 0; i--)
		must(pread(fd, buffer, 13, i * 1021) == 13, "pread");
	close(fd);
}

static void read_back(void)
{
	int fd = must_open(in(folder, "back"), O_CREAT | O_EXCL | O_RDWR);

	must(pwrite(fd, buffer, 7919, 1000) == 7919, "pwrite");
	for (int i = 0; i < 3; i++)
		must(pread(fd, buffer, 503, 2000) == 503, "pread");
	must(pread(fd, buffer, 1009, 0) == 1009, "pread"); /* nine bytes of it were written */
	close(fd);
}

static void append(void)
{
	for (int i = 0; i < 7; i++) {
		int fd = must_open(in(folder, "log"), O_CREAT | O_APPEND | O_WRONLY);

		write_all(fd, 31, 2);
		must(pwrite(fd, buffer, 37, 0) == 37, "pwrite"); /* at the end, whatever it says */
		close(fd);
	}
}

static void use_small_files(void)
{
	char name[64];

	must(mkdir(in(folder, "small"), 0700) == 0, "mkdir");
	for (int i = 0; i < SMALL_FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "small/%d", i);
		fd = must_open(in(folder, name), O_CREAT | O_EXCL | O_WRONLY);
		write_all(fd, 17, 1);
		close(fd);
		fd = must_open(in(folder, name), O_RDONLY);
		must(read(fd, buffer, 17) == 17, "read");
		close(fd);
	}
}

static void *read_all(void *unused)
{
	int fd = must_open(in(folder, "shared"), O_RDONLY);
	char own[1009];

	(void)unused;
	for (int i = 0; i < 307; i++)
		must(read(fd, own, sizeof(own)) == sizeof(own), "read");
	close(fd);
	return NULL;
}

static void *read_one_descriptor(void *descriptor)
{
	char own[13];

	for (int i = 0; i < 10007; i++)
		must(pread(*(int *)descriptor, own, sizeof(own), i % 101 * 13) == sizeof(own),
		     "pread");
	return NULL;
}

static void run_threads(void *(*body)(void *), void *argument)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, body, argument) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void share(void)
{
	int fd = must_open(in(folder, "shared"), O_CREAT | O_EXCL | O_RDWR);

	write_all(fd, 1009, 307);
	run_threads(read_all, NULL);
	run_threads(read_one_descriptor, &fd);
	close(fd);
}

static void rename_and_unlink(void)
{
	char from[4096];
	int fd = must_open(in(folder, "old"), O_CREAT | O_EXCL | O_WRONLY);

	write_all(fd, 101, 1);
	snprintf(from, sizeof(from), "%s", in(folder, "old"));
	must(rename(from, in(folder, "new")) == 0, "rename");
	write_all(fd, 103, 1);
	close(fd);

	for (int i = 0; i < 2; i++) { /* two files of one name */
		fd = must_open(in(folder, "gone"), O_CREAT | O_EXCL | O_RDWR);
		must(unlink(in(folder, "gone")) == 0, "unlink");
		write_all(fd, 107, 1);
		must(pread(fd, buffer, 109, 0) == 107, "pread");
		close(fd);
	}
}

/* The data go by copies, whose positions are pointed to or the file's own. */
static void copy(void)
{
	int from = must_open(in(folder, "from"), O_CREAT | O_EXCL | O_RDWR);
	int to = must_open(in(folder, "to"), O_CREAT | O_EXCL | O_RDWR);
	off_t at = 0;

	write_all(from, 1013, 1);
	for (int i = 0; i < 3; i++)
		must(copy_file_range(from, &at, to, NULL, 313, 0) == 313, "copy_file_range");
	close(from);
	close(to);
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		errx(2, "usage: hot FOLDER [OTHER-FOLDER]");
	folder = argv[1];
	other = argv[2];
	if (other)
		use_same_numbers();
	read_twice();
	read_downwards();
	read_back();
	append();
	use_small_files();
	share();
	rename_and_unlink();
	copy();
	return 0;
}
