/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/parse.h"

#define SOCKET_PATH_MAX 107 /* of struct sockaddr_un */

bool setting_is_path(size_t field UNUSED, const char *text)
{
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

/* Splits "HOST:PORT" and "[HOST]:PORT"; the host must be an address: no name server is asked. */
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

bool setting_is_address(size_t field UNUSED, const char *text)
{
	unsigned char address[16];
	char host[INET6_ADDRSTRLEN];
	bool is_v6;

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

bool setting_is_account(size_t field UNUSED, const char *text)
{
	return setting_is_word(text, "._-@\\");
}

bool setting_is_loopback(const char *address)
{
	char host[INET6_ADDRSTRLEN];
	bool is_v6;

	return !split_address(address, host, sizeof(host), &is_v6) || strcmp(host, "::1") == 0 ||
	       (!is_v6 && strncmp(host, "127.", 4) == 0);
}

#define URL_HOST_MAX 256

/* Splits "http://HOST", "https://HOST:PORT", with "[ADDRESS]" as a host of IPv6; nothing may
 * follow. */
static bool split_url(const char *text, char host[URL_HOST_MAX], bool *ret_is_tls)
{
	const char *end, *port;
	size_t length;
	int number;

	*ret_is_tls = strncmp(text, "https://", strlen("https://")) == 0;
	if (!*ret_is_tls && strncmp(text, "http://", strlen("http://")) != 0)
		return false;
	text = strstr(text, "://") + strlen("://");
	end = *text == '[' ? strchr(text, ']') : text + strcspn(text, ":/?#@");
	if (!end)
		return false;
	port = *text == '[' ? end + 1 : end;
	text += *text == '[';
	length = (size_t)(end - text);
	if (!length || length >= URL_HOST_MAX ||
	    (*port && (*port != ':' || parse_int(port + 1, 1, 65535, &number) < 0)))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr(".-_:", text[i]))
			return false;
		host[i] = text[i];
	}
	host[length] = '\0';
	return true;
}

bool setting_is_url(size_t field UNUSED, const char *text)
{
	char host[URL_HOST_MAX];
	bool is_tls;

	return !*text || split_url(text, host, &is_tls);
}

bool setting_url_is_private(const char *url)
{
	struct in_addr address;
	char host[URL_HOST_MAX];
	bool is_tls;

	if (!split_url(url, host, &is_tls))
		return false;
	return is_tls || strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
	       (strncmp(host, "127.", 4) == 0 && inet_pton(AF_INET, host, &address) == 1);
}
