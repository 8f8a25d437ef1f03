/* SPDX-License-Identifier: MIT */
/* gzip - an answer's body, compressed as it is made.  Takes some 130 KiB while it lasts. */
#pragma once

struct http_answer;

/* From now on @answer's @next gives the compressed body; it owns what the answer had.  -ENOMEM:
 * nothing changed. */
int gzip_answer(struct http_answer *answer);
