/* SPDX-License-Identifier: MIT */
/* setting_checks - checks of setting texts, for several tables: struct setting's is_allowed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SETTING_WORD_BYTES 64 /* of a name, with its NUL */

bool setting_is_path(size_t field, const char *text); /* an absolute one */
bool setting_is_path_or_none(size_t field, const char *text);
bool setting_is_socket_path(size_t field, const char *text); /* or none */
bool setting_is_address(size_t field, const char *text); /* "127.0.0.1:9840", "[::1]:9840", or none
							  */
bool setting_is_account(size_t field, const char *text); /* a user's or a group's name */

bool setting_is_url(size_t field, const char *text); /* "http://HOST[:PORT]", https, or none */

/* Letters, digits and @others, without a '-' first. */
bool setting_is_word(const char *text, const char *others);

/* Whether an address is reached from this machine alone; "" is reached from nowhere. */
bool setting_is_loopback(const char *address);
/* Whether traffic to that URL is private: by TLS, or on this machine. */
bool setting_url_is_private(const char *url);
