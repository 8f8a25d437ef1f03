/* SPDX-License-Identifier: MIT */
#include "service/credential.h"

#include "test.h"

TEST(a_host_is_known_by_each_of_its_names_and_by_their_first_part)
{
	const struct credential c = { .host = "node17.cluster.example node17-ib n17 " };

	ASSERT(credential_is_of_host(&c, "node17.cluster.example"));
	ASSERT(credential_is_of_host(&c, "NODE17"));
	ASSERT(credential_is_of_host(&c, "node17-ib"));
	ASSERT(credential_is_of_host(&c, "node17-ib.other"));
	ASSERT(credential_is_of_host(&c, "n17"));
}

TEST(another_host_is_another)
{
	const struct credential c = { .host = "node17.cluster.example node17-ib " }, none = {};
	static const char *const others[] = { "node1",
					      "node18",
					      "node17.other",
					      "node17.",
					      "node17.cluster",
					      "cluster",
					      "",
					      " ",
					      "node17-ib node17",
					      "node17.cluster.example.org",
					      "node17.cluster.exampl" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ASSERT(!credential_is_of_host(&c, others[i]));
	ASSERT(!credential_is_of_host(&none, ""));
	ASSERT(!credential_is_of_host(&none, "node17"));
}

TEST(a_body_is_known_by_its_sha256)
{
	const struct credential c = {
		/* FIPS 180-2 */
		.digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	};

	ASSERT(credential_is_of_body(&c, "abc", 3));
	ASSERT(!credential_is_of_body(&c, "abd", 3));
	ASSERT(!credential_is_of_body(&c, "abc", 2));
	ASSERT(!credential_is_of_body(&(struct credential){}, "", 0));
}
