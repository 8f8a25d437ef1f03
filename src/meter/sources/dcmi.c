/* SPDX-License-Identifier: MIT */
#include "sources/dcmi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "sources/bmc_power.h"
#include "sources/source.h"

#define LABEL "energy by DCMI: "
#define DEVICE "dev/ipmi0"
#define DEADLINE_MS 3000
#define ANSWER_MS 2000 /* so that the reason is said within the deadline */
#define LOST_NS UINT64_C(60000000000) /* the driver gives up a request much sooner */
#define STUCK_NS UINT64_C(30000000000) /* of the BMC's stamp */
#define NS_OF_A_MS UINT64_C(1000000)
#define NS_OF_A_SECOND (1000 * NS_OF_A_MS)
#define UW_OF_A_WATT UINT64_C(1000000)

/* ---- the answer ---- */

static const char *describe_code(uint8_t code)
{
	/* clang-format off */
	static const struct { uint8_t code; const char *text; } codes[] = {
		{ 0xc0, "busy" },
		{ 0xc1, "it does not know the command: no DCMI" },
		{ 0xc3, "it timed out" },
		{ 0xd4, "not allowed" },
		{ 0xd5, "not in its present state" },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code == code)
			return codes[i].text;
	}
	return "see the completion codes of IPMI";
}

static uint32_t little(const uint8_t *at, size_t bytes)
{
	uint32_t number = 0;

	for (size_t i = 0; i < bytes; i++)
		number |= (uint32_t)at[i] << (8 * i);
	return number;
}

int dcmi_parse(const uint8_t *data, size_t length, struct dcmi_power *ret, struct error *err)
{
	if (length && data[0])
		return error_set(err, -EIO, "the BMC refused: code 0x%02x (%s)", data[0],
				 describe_code(data[0]));
	if (length < DCMI_ANSWER_SIZE || data[1] != 0xdc)
		return error_set(err, -EPROTO, "the BMC's answer is none of DCMI (%zu bytes of %d)",
				 length, DCMI_ANSWER_SIZE);
	if (!(data[18] & 1 << 6))
		return error_set(err, -ENODATA, "the BMC does not measure power now");
	ret->watts = little(data + 2, 2);
	ret->stamp = little(data + 10, 4);
	return 0;
}

/* ---- the question ---- */

struct source_state {
	int fd;
	long asked; /* number of the last request */
	bool is_pending; /* it has not been answered */
	uint64_t sent_ns;
	struct bmc_power power;
	uint32_t stamp; /* of the last answer */
	bool has_stamp, has_clock; /* it was seen to change */
	uint64_t stamp_ns; /* when it did */
};

static void close_source(struct source_state *s)
{
	closep(&s->fd);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	s->fd = openat(options->root_fd, DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0 && errno == ENOENT)
		return -ENODEV;
	if (s->fd < 0)
		return error_set_errno(err, errno, "cannot open '/" DEVICE "'");
	/* behind Redfish, which has more digits */
	s->power = bmc_power_begin("dcmi", "DCMI power", 31);
	return 0;
}

static int send_request(struct source_state *s, uint64_t now_ns)
{
	struct ipmi_system_interface_addr bmc = {
		.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
		.channel = IPMI_BMC_CHANNEL,
	};
	uint8_t data[] = DCMI_REQUEST;
	struct ipmi_req request = {
		.addr = (unsigned char *)&bmc,
		.addr_len = sizeof(bmc),
		.msgid = s->asked + 1,
		.msg = { .netfn = DCMI_NETFN,
			 .cmd = DCMI_GET_POWER,
			 .data_len = sizeof(data),
			 .data = data },
	};

	if (ioctl(s->fd, IPMICTL_SEND_COMMAND, &request) < 0)
		return -errno;
	s->asked++;
	s->is_pending = true;
	s->sent_ns = now_ns;
	return 0;
}

/* Receive a message; its length. -EAGAIN: none; -ESTALE: the answer to an older request. */
static int receive(struct source_state *s, uint8_t *data, size_t size)
{
	struct ipmi_addr from;
	struct ipmi_recv message = {
		.addr = (unsigned char *)&from,
		.addr_len = sizeof(from),
		.msg = { .data = data, .data_len = (unsigned short)size },
	};

	if (ioctl(s->fd, IPMICTL_RECEIVE_MSG_TRUNC, &message) < 0 && errno != EMSGSIZE)
		return -errno;
	if (message.recv_type != IPMI_RESPONSE_RECV_TYPE || message.msgid != s->asked ||
	    message.msg.netfn != (DCMI_NETFN | 1) || message.msg.cmd != DCMI_GET_POWER)
		return -ESTALE;
	return message.msg.data_len;
}

/* Its length.  -ETIMEDOUT: none came in time. */
static int wait_for_answer(struct source_state *s, uint64_t until_ns, uint8_t *data, size_t size)
{
	for (;;) {
		const uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
		struct pollfd ready = { .fd = s->fd, .events = POLLIN };
		int r = receive(s, data, size);

		if (r != -EAGAIN && r != -ESTALE)
			return r;
		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		if (r == -EAGAIN &&
		    poll(&ready, 1, (int)((until_ns - now_ns) / NS_OF_A_MS) + 1) < 0 &&
		    errno != EINTR)
			return -errno;
	}
}

/* A BMC whose own clock has run and then stopped repeats old values. */
static bool is_stuck(struct source_state *s, uint32_t stamp, uint64_t now_ns)
{
	const bool is_new = !s->has_stamp || stamp != s->stamp;

	s->has_clock |= s->has_stamp && is_new;
	if (is_new)
		s->stamp_ns = now_ns;
	s->stamp = stamp;
	s->has_stamp = true;
	return s->has_clock && now_ns - s->stamp_ns >= STUCK_NS;
}

/* @ret_late: the answer is one that an earlier question got. */
static int exchange(struct source_state *s, uint64_t now_ns, uint8_t *data, size_t size,
		    bool *ret_late, struct error *err)
{
	int r = 0;

	*ret_late = s->is_pending && now_ns - s->sent_ns < LOST_NS;
	if (!*ret_late) /* one at a time: a BMC that hangs is not given more to do */
		r = send_request(s, now_ns);
	if (r == 0)
		r = wait_for_answer(s, now_ns + ANSWER_MS * NS_OF_A_MS, data, size);
	if (r == -ETIMEDOUT)
		return error_set(err, r, "the BMC has not answered for %" PRIu64 " s",
				 (clock_now_ns(CLOCK_BOOTTIME) - s->sent_ns) / NS_OF_A_SECOND);
	s->is_pending = false;
	return r < 0 ? error_set_errno(err, r, "cannot ask the BMC") : r;
}

static int ask(struct source_state *s, uint64_t now_ns, uint64_t *ret_uw, struct error *err)
{
	struct dcmi_power power = {};
	uint8_t data[64] = {};
	bool is_late = false;
	int r = exchange(s, now_ns, data, sizeof(data), &is_late, err);

	if (r >= 0)
		r = dcmi_parse(data, (size_t)r, &power, err);
	if (r < 0)
		return r;
	if (is_late) /* its time is not known */
		return error_set(err, -ETIME, "the BMC's answer came too late");
	if (is_stuck(s, power.stamp, now_ns))
		return error_set(err, -ESTALE,
				 "what the BMC says has been the same for %" PRIu64 " s",
				 (now_ns - s->stamp_ns) / NS_OF_A_SECOND);
	*ret_uw = power.watts * UW_OF_A_WATT;
	return 0;
}

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	return bmc_power_sample(&s->power, boot_ns, ask, s, to);
}

static int describe(const struct source_state *s, struct strings *missing)
{
	return bmc_power_describe(&s->power, LABEL, missing);
}

const struct source source_dcmi = {
	.name = "dcmi",
	.label = LABEL,
	.help = "Ask the node's BMC for the node's power, by IPMI (DCMI) on /dev/ipmi0, at most every 5 seconds.",
	.has_energy = true,
	.deadline_ms = DEADLINE_MS,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
	.close = close_source,
};
