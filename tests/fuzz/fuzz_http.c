/* SPDX-License-Identifier: MIT */
/*
 * Any text as what a client may ask for and a site may set: the lists of Accept and
 * Accept-Encoding, and an address.  Qualities are in bounds, an entry more at the end changes
 * nothing that was named before, and an address comes back.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "http/accept.h"
#include "basic/cleanup.h"
#include "fuzz.h"
#include "http/listener.h"

static void check_accept(const char *text)
{
	unsigned int any = accept_type(text, "text/plain", "version", "0.0.4");
	unsigned int exact = accept_exact_type(text, "text/plain", "version", "0.0.4");

	CHECK(any <= ACCEPT_MAX && exact <= ACCEPT_MAX);
	CHECK(exact == 0 || exact == any);
	CHECK(!exact || strcasestr(text, "text/plain"));
	CHECK(!accept_coding(text, "gzip") || strcasestr(text, "gzip") || strchr(text, '*'));
}

static void check_address(const char *text)
{
	char host[INET6_ADDRSTRLEN], back[64];
	struct sockaddr_storage once, twice;
	socklen_t length = 0, length_twice = 0;

	if (listener_parse_address(text, &once, &length, NULL) < 0)
		return;
	if (once.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&once;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		snprintf(back, sizeof(back), "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (struct sockaddr_in *)&once;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(back, sizeof(back), "%s:%u", host, ntohs(in->sin_port));
	}
	CHECK(listener_parse_address(back, &twice, &length_twice, NULL) == 0);
	CHECK(length == length_twice && memcmp(&once, &twice, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);

	check_accept(text);
	check_address(text);
	return 0;
}
