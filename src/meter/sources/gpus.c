/* SPDX-License-Identifier: MIT */
#include "sources/gpus.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/macro.h"

#define DEVICES_MAX 65536
#define PCI "sys/bus/pci/devices"

/* clang-format off */
static const struct vendor { const char *id, *name; } vendors[] = {
	{ "0x10de", "NVIDIA" },
	{ "0x1002", "AMD" },
	{ "0x8086", "Intel" },
};
/* clang-format on */

static int read_word(int root_fd, const char *address, const char *file, char *ret, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), PCI "/%.40s/%s", address, file);
	return file_read_one_line(root_fd, path, ret, size);
}

static void read_driver(int root_fd, const char *address, char *ret, size_t size)
{
	char path[128], target[256];
	const char *name;
	ssize_t length;

	*ret = '\0';
	snprintf(path, sizeof(path), PCI "/%.40s/driver", address);
	length = readlinkat(root_fd, path, target, sizeof(target) - 1);
	if (length < 0)
		return;
	target[length] = '\0';
	name = strrchr(target, '/');
	snprintf(ret, size, "%.31s", name ? name + 1 : target);
}

static void read_gpu(int root_fd, const char *address, struct gpus *gpus)
{
	char class[16], vendor[16];
	struct gpu gpu = {};

	if (read_word(root_fd, address, "class", class, sizeof(class)) < 0 ||
	    strncmp(class, "0x03", 4) != 0 ||
	    read_word(root_fd, address, "vendor", vendor, sizeof(vendor)) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++) {
		if (strcmp(vendors[i].id, vendor) == 0)
			gpu.vendor = vendors[i].name;
	}
	if (!gpu.vendor || gpus->count == GPUS_MAX)
		return;
	snprintf(gpu.address, sizeof(gpu.address), "%.31s", address);
	(void)read_word(root_fd, address, "device", gpu.device, sizeof(gpu.device));
	read_driver(root_fd, address, gpu.driver, sizeof(gpu.driver));
	gpus->items[gpus->count++] = gpu;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...": the first word that is a
 * number with points; the open module's line has more words before it. */
static void read_nvidia(int root_fd, struct gpus *gpus)
{
	char text[512];
	const char *p;

	if (file_read_small(root_fd, "proc/driver/nvidia/version", text, sizeof(text)) < 0)
		return;
	for (p = text; *p && *p != '\n'; p += strcspn(p, " \n") + (p[strcspn(p, " \n")] == ' ')) {
		size_t length = strcspn(p, " \n"), digits = strspn(p, "0123456789.");

		if (length && digits == length && memchr(p, '.', length)) {
			snprintf(gpus->nvidia_driver, sizeof(gpus->nvidia_driver), "%.*s",
				 (int)MIN(length, sizeof(gpus->nvidia_driver) - 1), p);
			return;
		}
	}
}

void gpus_read(int root_fd, struct gpus *ret)
{
	_cleanup_(dir_clear) struct dir devices = {};

	*ret = (struct gpus){};
	read_nvidia(root_fd, ret);
	if (dir_read(root_fd, PCI, DEVICES_MAX, &devices) < 0)
		return;
	for (size_t i = 0; i < devices.count; i++)
		read_gpu(root_fd, devices.names[i], ret);
}
