/* SPDX-License-Identifier: MIT */
/* stage - the files that one worker makes in a folder for its calls on metadata. */
#pragma once

#include "path.h"
#include "work.h"

struct stage {
	struct file dir; /* the folder itself */
	struct file file; /* data, open to read and write */
	struct file name; /* data, by O_PATH */
	const char *folder;
	struct path data; /* a file of 10007 bytes */
	struct path link; /* a symbolic link to data */
	struct path inner; /* a folder */
	struct path inside; /* inner/data, another file */
	struct path through; /* the same one, through a symbolic link to inner */
	struct path to_inner;
	struct path loop; /* a symbolic link to itself */
	struct path a, b, c, deep; /* not there: for what comes and goes; deep is a folder further
				    */
	struct path absent;
};

/* false: it could not be made, for want of space or rights. */
bool stage_make(struct stage *s, struct worker *w, int place, const char *folder);
void stage_remove(struct stage *s, struct worker *w);
