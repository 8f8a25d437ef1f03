/* SPDX-License-Identifier: MIT */
#include "sources/dcmi.h"

#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "test.h"

/* 271 W now; least 5, greatest 503, mean 263 W over 1,473,439,000 ms; measuring. */
static const uint8_t right[DCMI_ANSWER_SIZE] = {
	0x00, 0xdc, 0x0f, 0x01, 0x05, 0x00, 0xf7, 0x01, 0x07, 0x01,
	0x78, 0x56, 0x34, 0x12, 0x18, 0xd9, 0xd2, 0x57, 0x40,
};

TEST(the_power_is_that_of_now)
{
	struct dcmi_power power = {};
	struct error err = {};

	ASSERT_OK(dcmi_parse(right, sizeof(right), &power, &err));
	ASSERT_EQ(power.watts, UINT64_C(271));
	ASSERT_EQ(power.stamp, 0x12345678u);
}

TEST(a_refusal_a_short_answer_and_anothers_are_none)
{
	struct dcmi_power power = { .watts = 7 };
	uint8_t data[DCMI_ANSWER_SIZE];
	struct error err = {};

	ASSERT_ERR(dcmi_parse((const uint8_t[]){ 0xc1 }, 1, &power, &err), -EIO);
	ASSERT_STREQ(err.text,
		     "the BMC refused: code 0xc1 (it does not know the command: no DCMI)");
	for (size_t length = 0; length < sizeof(right); length++)
		ASSERT_ERR(dcmi_parse(right, length, &power, &err), -EPROTO);
	ASSERT_STREQ(err.text, "the BMC's answer is none of DCMI (18 bytes of 19)");
	memcpy(data, right, sizeof(right));
	data[1] = 0xdd;
	ASSERT_ERR(dcmi_parse(data, sizeof(data), &power, &err), -EPROTO);
	ASSERT_EQ(power.watts, UINT64_C(7));
}

TEST(a_bmc_that_does_not_measure_says_so)
{
	struct dcmi_power power;
	uint8_t data[DCMI_ANSWER_SIZE];
	struct error err = {};

	memcpy(data, right, sizeof(right));
	data[18] = 0xbf;
	ASSERT_ERR(dcmi_parse(data, sizeof(data), &power, &err), -ENODATA);
}
