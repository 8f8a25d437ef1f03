/* SPDX-License-Identifier: MIT */
/* storage - on what kind of storage a subject's files are. */
#pragma once

#include "model/file_system.h"

struct subject;

/* Of the subject's row; of none, or one that stands for all mounts, that on which most calls were.
 */
enum storage storage_of_subject(const struct subject *subject);
