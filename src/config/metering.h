/* SPDX-License-Identifier: MIT */
/* metering - the sampler options that follow from the configuration. */
#pragma once

#include "node/sampler.h"

struct config;
struct error;
struct identity_rules;

struct metering {
	struct sampler_options options; /* good as long as the configuration's texts, and until it
					   is cleared */
	struct site_mount *mounts;
	struct sampler_rule *rules;
};

/* All of the options but root_fd, uid and gid.  -ENOMEM. */
int metering_of(const struct config *config, struct metering *ret);
void metering_clear(struct metering *m);

/* The site's identity rules; the caller frees *ret.  -EINVAL: *err names the rule. */
int metering_read_rules(const struct config *config, struct identity_rules **ret,
			struct error *err);
