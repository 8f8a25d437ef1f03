/* SPDX-License-Identifier: MIT */
#include "config/setting_checks.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "basic/parse.h"

#define SOCKET_PATH_MAX 107 /* of struct sockaddr_un */

bool setting_is_path(size_t field, const char *text)
{
	(void)field;
	return *text == '/';
}

bool setting_is_path_or_none(size_t field, const char *text)
{
	return !*text || setting_is_path(field, text);
}

bool setting_is_socket_path(size_t field, const char *text)
{
	return setting_is_path_or_none(field, text) && strlen(text) <= SOCKET_PATH_MAX;
}

/* Splits "HOST:PORT" and "[HOST]:PORT"; the host must be an address, so that nobody asks a name
 * server. */
static bool split_address(const char *text, char *host, size_t size, bool *ret_is_v6)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	int port;

	if (!length || !isdigit((unsigned char)colon[1]) ||
	    parse_int(colon + 1, 1, 65535, &port) < 0)
		return false;
	*ret_is_v6 = *text == '[' && colon[-1] == ']' && length > 2;
	if (*ret_is_v6) {
		text++;
		length -= 2;
	}
	if (length >= size)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	return true;
}

bool setting_is_address(size_t field, const char *text)
{
	unsigned char address[16];
	char host[INET6_ADDRSTRLEN];
	bool is_v6;

	(void)field;
	return !*text || (split_address(text, host, sizeof(host), &is_v6) &&
			  inet_pton(is_v6 ? AF_INET6 : AF_INET, host, address) == 1);
}

bool setting_is_word(const char *text, const char *others)
{
	size_t length = strlen(text);

	for (const char *p = text; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr(others, *p))
			return false;
	}
	return length > 0 && length < SETTING_WORD_BYTES && *text != '-';
}

bool setting_is_account(size_t field, const char *text)
{
	(void)field;
	return setting_is_word(text, "._-@\\");
}

bool setting_is_loopback(const char *address)
{
	char host[INET6_ADDRSTRLEN];
	bool is_v6;

	return !split_address(address, host, sizeof(host), &is_v6) || strcmp(host, "::1") == 0 ||
	       (!is_v6 && strncmp(host, "127.", 4) == 0);
}
