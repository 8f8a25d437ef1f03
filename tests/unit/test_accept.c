/* SPDX-License-Identifier: MIT */
#include "http/accept.h"

#include <stddef.h>

#include "test.h"

TEST(codings_are_taken_by_their_quality)
{
	ASSERT(accept_coding("gzip", "gzip"));
	ASSERT(accept_coding("deflate, GZIP;q=0.5", "gzip"));
	ASSERT(accept_coding("*", "gzip"));
	ASSERT(accept_coding("br;q=1, *;q=0.001", "gzip"));
	ASSERT(accept_coding("\t gzip \t; q=1.000", "gzip"));
	ASSERT(!accept_coding(NULL, "gzip"));
	ASSERT(!accept_coding("", "gzip"));
	ASSERT(!accept_coding("gzip;q=0", "gzip"));
	ASSERT(!accept_coding("gzip;q=0.000, *", "gzip"));
	ASSERT(!accept_coding("*;q=0", "gzip"));
	ASSERT(!accept_coding("identity, x-gzip", "gzip"));
}

TEST(broken_qualities_are_no)
{
	ASSERT(!accept_coding("gzip;q=", "gzip"));
	ASSERT(!accept_coding("gzip;q", "gzip"));
	ASSERT(!accept_coding("gzip;q=2", "gzip"));
	ASSERT(!accept_coding("gzip;q=1.001", "gzip"));
	ASSERT(!accept_coding("gzip;q=-1", "gzip"));
	ASSERT(!accept_coding("gzip;q=0.1234", "gzip"));
	ASSERT(!accept_coding("gzip;q=.5", "gzip"));
}

TEST(types_are_taken_by_the_entry_that_means_them_closest)
{
	static const char header[] =
		"text/*;q=0.3, text/plain;q=0.7, text/plain;version=0.0.4;q=0.9, */*;q=0.1";

	ASSERT_EQ(accept_type(header, "text/plain", "version", "0.0.4"), 900u);
	ASSERT_EQ(accept_type(header, "text/plain", "version", "9"), 700u);
	ASSERT_EQ(accept_type(header, "text/html", "version", "0.0.4"), 300u);
	ASSERT_EQ(accept_type(header, "image/png", NULL, NULL), 100u);
	ASSERT_EQ(accept_type("text/plain;q=0, */*", "text/plain", NULL, NULL), 0u);
	ASSERT_EQ(accept_type("text/html", "text/plain", NULL, NULL), 0u);
	ASSERT_EQ(accept_type(NULL, "text/plain", NULL, NULL), 1000u);
	ASSERT_EQ(accept_type("text/plain; x=\"a,b;c\"; version=\"0.0.4\"; q=0.2", "text/plain",
			      "version", "0.0.4"),
		  200u);
}

TEST(what_is_not_named_is_not_taken_exactly)
{
	ASSERT_EQ(accept_exact_type("*/*", "text/plain", NULL, NULL), 0u);
	ASSERT_EQ(accept_exact_type("text/*", "text/plain", NULL, NULL), 0u);
	ASSERT_EQ(accept_exact_type("a/b;version=2;q=0.4", "a/b", "version", "1"), 0u);
	ASSERT_EQ(accept_exact_type("a/b;version=1;q=0.4", "a/b", "version", "1"), 400u);
	ASSERT_EQ(accept_exact_type("a/b;q=0.4", "a/b", "version", "1"), 400u);
	ASSERT_EQ(accept_exact_type(NULL, "a/b", "version", "1"), 0u);
}
