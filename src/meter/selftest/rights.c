/* SPDX-License-Identifier: MIT */
#include "selftest/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"

/* clang-format off */
static const struct capability capabilities[] = {
	{ CAP_BPF,             "BPF",             "loading BPF programs" },
	{ CAP_PERFMON,         "PERFMON",         "programs that read the kernel" },
	{ CAP_SYS_ADMIN,       "SYS_ADMIN",       "both, on older kernels" },
	{ CAP_SYS_PTRACE,      "SYS_PTRACE",      "files of other users' processes" },
	{ CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH", "energy counters, tracefs" },
	{ CAP_SYS_RESOURCE,    "SYS_RESOURCE",    "memory for maps on kernels before 5.11" },
};
/* clang-format on */

const struct capability *rights_capabilities(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(capabilities);
	return capabilities;
}

static int parse_hex(const char *text, uint64_t *ret)
{
	size_t length = strspn(text, "0123456789abcdefABCDEF");
	uint64_t value = 0;

	if (length == 0 || length > 16 || !strchr("\n \t", text[length]))
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		unsigned int c = (unsigned char)text[i] | 0x20;

		value = value << 4 | (c <= ('9' | 0x20) ? c - '0' : c - 'a' + 10);
	}
	*ret = value;
	return 0;
}

int rights_parse_status(const char *text, struct rights *ret)
{
	const char *uids = strstr(text, "\nUid:\t"), *effective = strstr(text, "\nCapEff:\t");
	uint64_t uid, bits;
	int r;

	if (!uids || !effective)
		return -ENOENT;
	uids += strlen("\nUid:\t");
	r = parse_leading_u64(&uids, &uid);
	if (r < 0 || *uids++ != '\t')
		return -EINVAL;
	r = parse_leading_u64(&uids, &uid); /* the second is the effective one */
	if (r >= 0)
		r = parse_hex(effective + strlen("\nCapEff:\t"), &bits);
	if (r < 0 || uid > UINT32_MAX)
		return -EINVAL;
	ret->uid = (unsigned int)uid;
	ret->capabilities = bits;
	ret->is_known = true;
	return 0;
}

void rights_parse_lockdown(const char *text, struct rights *ret)
{
	const char *open = strchr(text, '[');
	size_t length = open ? strcspn(open + 1, " \n]") : 0;

	ret->lockdown[0] = '\0';
	if (open && open[1 + length] == ']' && length < sizeof(ret->lockdown))
		snprintf(ret->lockdown, sizeof(ret->lockdown), "%.*s", (int)length, open + 1);
}

static int read_setting(int root_fd, const char *path, int unknown)
{
	char text[32];
	int value;

	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return unknown;
	text[strcspn(text, "\n")] = '\0';
	return parse_int(text, -1, 100, &value) < 0 ? unknown : value;
}

/* In the first user namespace all ids are their own. */
static bool is_in_user_namespace(int root_fd)
{
	char text[256], *rest = text, *inside, *outside, *count;

	if (file_read_small(root_fd, "proc/self/uid_map", text, sizeof(text)) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	inside = parse_next_word(&rest);
	outside = parse_next_word(&rest);
	count = parse_next_word(&rest);
	return !inside || !outside || !count || strcmp(inside, "0") != 0 ||
	       strcmp(outside, "0") != 0 || strcmp(count, "4294967295") != 0;
}

void rights_read(int root_fd, struct rights *ret)
{
	char text[8192];

	*ret = (struct rights){};
	if (file_read_small(root_fd, "proc/self/status", text, sizeof(text)) >= 0)
		(void)rights_parse_status(text, ret);
	ret->is_in_user_namespace = is_in_user_namespace(root_fd);
	ret->unprivileged_bpf_disabled =
		read_setting(root_fd, "proc/sys/kernel/unprivileged_bpf_disabled", -1);
	ret->perf_event_paranoid = read_setting(root_fd, "proc/sys/kernel/perf_event_paranoid",
						RIGHTS_UNKNOWN_PARANOIA);
	if (file_read_small(root_fd, "sys/kernel/security/lockdown", text, sizeof(text)) >= 0)
		rights_parse_lockdown(text, ret);
}

bool rights_has(const struct rights *r, unsigned int capability)
{
	return r->is_known && r->capabilities >> capability & 1;
}

bool rights_has_bpf(const struct rights *r)
{
	return rights_has(r, CAP_SYS_ADMIN) ||
	       (rights_has(r, CAP_BPF) && rights_has(r, CAP_PERFMON));
}
