/* SPDX-License-Identifier: MIT */
#include "trace/sites.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "trace/libraries.h"

#define KNOWN_MAX (1 << 18) /* files, of all processes */

static void sites_free_row(struct site_row *row)
{
	if (row) {
		free(row->name);
		free(row->withheld);
	}
	free(row);
}

static void sites_free_file(struct site_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

void sites_clear(struct sites *s)
{
	void *known;
	size_t at = 0;

	while ((known = idmap_next(&s->known, &at)))
		free(known);
	idmap_clear(&s->known);
	for (size_t i = 0; i < s->row_count; i++)
		sites_free_row(s->rows[i]);
	for (size_t i = 0; i < s->file_count; i++)
		sites_free_file(s->files[i]);
	free(s->rows);
	free(s->files);
	free(s->items);
	*s = (struct sites){};
}

static int sites_no_memory(struct error *err)
{
	return error_set_errno(err, ENOMEM, "cannot look for probes");
}

/* Is each function that it covers shown by itself? */
static bool sites_is_of_many(const struct probe *probe)
{
	return probe->shown <= PROBE_SHOWN_CLASS && strpbrk(probe->symbols[0], "*?[");
}

static bool sites_is_of_kernel(const struct probe *probe)
{
	return probe->site == PROBE_KERNEL || probe->site == PROBE_TRACEPOINT;
}

static int sites_new_row(struct sites *s, size_t set, const struct probe *probe,
			 const struct image_site *at, struct site_row **ret, struct error *err)
{
	struct site_row *row = NULL;
	const char *name = probe->name;
	size_t length = strlen(name);
	int r;

	if (s->row_count == TRACE_ROWS_MAX)
		return error_set(err, -E2BIG, "there are more than %d probes", TRACE_ROWS_MAX);
	if (array_reserve(&s->rows, &s->row_room, s->row_count, sizeof(struct site_row *)) == 0)
		row = calloc(1, sizeof(*row));
	if (!row)
		return sites_no_memory(err);
	row->set = s->sets[set];
	row->probe = probe;
	row->exit = probe->exit;
	if (s->has_no_returns && probe->exit == PROBE_EXIT_RETURN && !sites_is_of_kernel(probe))
		row->exit = PROBE_EXIT_RET_INSN;
	if (at && sites_is_of_many(probe))
		name = probe_shown_name(probe->shown, at->name, &length);
	row->name = strndup(name, length);
	if (!row->name) {
		free(row);
		return sites_no_memory(err);
	}
	r = row_make(row->set, probe, &s->bases[set], &s->options, at ? at->arguments : NULL,
		     &row->row, err);
	if (r < 0) {
		sites_free_row(row);
		return r;
	}
	*ret = s->rows[s->row_count++] = row;
	return 0;
}

/* Number the maps of set @at; those of one name are one, whichever set adds to it.  Returns how
 * many there are of all sets so far. */
static size_t sites_number_maps(struct sites *s, size_t at, size_t count)
{
	for (size_t n = 0; n < s->sets[at]->map_count; n++) {
		const struct probe_map *map = &s->sets[at]->maps[n];
		int same = -ENOENT;

		for (size_t i = 0; i < at && same < 0; i++) {
			same = probe_set_find_map(s->sets[i], map->name);
			if (same >= 0)
				s->bases[at].maps[n] = s->bases[i].maps[same];
		}
		if (same < 0) {
			s->bases[at].maps[n] = (uint8_t)count++;
			s->map_entries += map->max_entries;
		}
	}
	return count;
}

static bool are_same(char *const *a, size_t count, char *const *b, size_t other_count)
{
	size_t i = 0;

	while (i < count && count == other_count && strcmp(a[i], b[i]) == 0)
		i++;
	return i == count && count == other_count;
}

/* Its bit; 0: there is none.  Many probes, and libraries of several sets, say the same: each name
 * of a file is matched once. */
static uint64_t find_caller(const struct sites *s, char *const *callbacks, size_t count,
			    const struct probe_library *library)
{
	for (size_t i = 0; i < s->caller_count; i++) {
		const struct caller *c = &s->callers[i];

		if (are_same(c->callbacks, c->callback_count, callbacks, count) &&
		    are_same(c->library->parts, c->library->part_count, library->parts,
			     library->part_count))
			return UINT64_C(1) << i;
	}
	return 0;
}

/* What finds no room is taken to call whatever it is given. */
static void add_caller(struct sites *s, char *const *callbacks, size_t count,
		       const struct probe_library *library)
{
	if (s->caller_count < HAZARDS_CALLERS_MAX && !find_caller(s, callbacks, count, library))
		s->callers[s->caller_count++] = (struct caller){ callbacks, count, library };
}

int sites_begin(struct sites *s, struct error *err)
{
	size_t maps = 0, entries = 0;

	for (size_t i = 0; i < s->set_count; i++) {
		const struct probe_set *set = s->sets[i];

		s->bases[i] = (struct row_base){};
		while (strcmp(s->sets[s->bases[i].group]->group, set->group) != 0)
			s->bases[i].group++; /* the first set of its group */
		for (size_t n = 0; n < set->table_count; n++) {
			s->bases[i].tables[n] = (uint16_t)entries;
			entries += set->tables[n].row_count;
		}
		for (size_t n = 0; n < set->library_count; n++) {
			if (set->libraries[n]->has_callbacks)
				add_caller(s, set->libraries[n]->callbacks,
					   set->libraries[n]->callback_count, set->libraries[n]);
		}
		for (size_t n = 0; n < set->probe_count; n++) {
			if (set->probes[n]->callback_count && set->probes[n]->library)
				add_caller(s, set->probes[n]->callbacks,
					   set->probes[n]->callback_count, set->probes[n]->library);
		}
		maps = sites_number_maps(s, i, maps);
		if (maps >= TRACE_NONE || entries > TRACE_TABLE_ENTRIES)
			return error_set(err, -E2BIG,
					 "the probe sets have too many maps or tables together");
	}
	for (size_t i = 0; i < s->set_count; i++) {
		for (size_t n = 0; n < s->sets[i]->probe_count; n++) {
			const struct probe *probe = s->sets[i]->probes[n];
			struct site_row *row;
			int r = 0;

			if (sites_is_of_kernel(probe) && probe->level <= s->level)
				r = sites_new_row(s, i, probe, NULL, &row, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool library_fits(const struct probe_library *library, const char *path, bool is_program)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (is_program && library->program_marker)
		return true;
	for (size_t i = 0; i < library->pattern_count; i++) {
		const char *pattern = library->patterns[i];

		if (fnmatch(pattern, strchr(pattern, '/') ? path : name, 0) == 0)
			return true;
	}
	return false;
}

bool sites_want(const struct sites *s, const char *path, bool is_program)
{
	for (size_t i = 0; i < s->set_count; i++) {
		for (size_t n = 0; n < s->sets[i]->library_count; n++) {
			if (library_fits(s->sets[i]->libraries[n], path, is_program))
				return true;
		}
	}
	return false;
}

/* Its entries alone are traced from now on.  @why becomes the row's. */
static void withhold(struct site_row *row, char *why)
{
	free(row->withheld);
	row->exit = PROBE_EXIT_NONE;
	row->withheld = why;
	row->row.flags &= ~(uint32_t)TRACE_RETURNS;
}

/* A visit of the places of one probe. */
struct place_visit {
	struct sites *s;
	struct site_file *file;
	const struct image *image;
	const struct probe *probe;
	size_t set;
	struct site_row *row; /* the last */
	struct error *err;
};

static bool is_taken(const struct sites *s, const struct site_file *file, uint64_t offset)
{
	for (size_t i = file->first_site; i < s->count; i++) {
		if (s->items[i].offset == offset)
			return true;
	}
	return false;
}

static int add_site(struct place_visit *v, const struct image_site *at, bool is_return)
{
	struct sites *s = v->s;

	if (s->count == SITES_MAX)
		return error_set(v->err, -E2BIG, "there are more than %d places to probe",
				 SITES_MAX);
	if (array_reserve(&s->items, &s->room, s->count, sizeof(*s->items)) < 0)
		return sites_no_memory(v->err);
	s->items[s->count++] = (struct site){ .offset = at->offset,
					      .semaphore = at->semaphore,
					      .size = at->size,
					      .row = s->row_count - 1,
					      .cost = at->cost,
					      .is_return = is_return };
	v->row->cost = MAX(v->row->cost, at->cost);
	if (!is_return)
		v->row->site_count++;
	return 0;
}

static int add_return(void *context, const struct image_site *at)
{
	struct place_visit *v = context;

	return is_taken(v->s, v->file, at->offset) ? 0 : add_site(v, at, true);
}

static int add_place(void *context, const struct image_site *at)
{
	struct place_visit *v = context;
	int r = 0;

	if (is_taken(v->s, v->file, at->offset)) /* an alias */
		return 0;
	/* Each site of a USDT probe has its arguments elsewhere. */
	if (!v->row || sites_is_of_many(v->probe) || at->arguments)
		r = sites_new_row(v->s, v->set, v->probe, at, &v->row, v->err);
	if (r < 0 || !v->row)
		return r;
	v->row->file = v->file;
	r = add_site(v, at, false);
	if (r == 0 && v->row->exit == PROBE_EXIT_RET_INSN)
		r = *v->probe->until ? image_visit_usdt(v->image, v->probe->until, add_return, v)
				     : image_visit_returns(v->image, at, add_return, v);
	if (r == -ENODATA && v->probe->exit == PROBE_EXIT_RETURN) {
		withhold(v->row,
			 strdup("its `ret` instructions cannot be found, and a return probe "
				"would change programs of others before Linux 6.13"));
		return 0;
	}
	return r == -ENODATA ? error_set(v->err, r, "the returns of '%s' in '%s' cannot be found",
					 at->name, v->file->path)
			     : r;
}

static int find_places(struct place_visit *v)
{
	int r = 0;

	for (size_t i = 0; i < v->probe->symbol_count && r == 0; i++)
		r = v->probe->site == PROBE_USDT
			    ? image_visit_usdt(v->image, v->probe->symbols[i], add_place, v)
			    : image_visit_functions(v->image, v->probe->symbols[i], add_place, v);
	/* So that it can be said; a program need not have what it may have. */
	if (r == 0 && !v->row && library_fits(v->probe->library, v->file->path, false)) {
		r = sites_new_row(v->s, v->set, v->probe, NULL, &v->row, v->err);
		if (r == 0 && v->row)
			v->row->file = v->file;
	}
	return r;
}

static int find_probes(struct sites *s, struct site_file *file, const struct image *image,
		       bool is_program, struct error *err)
{
	for (size_t i = 0; i < s->set_count; i++) {
		for (size_t n = 0; n < s->sets[i]->probe_count; n++) {
			struct place_visit v = { .s = s,
						 .file = file,
						 .image = image,
						 .probe = s->sets[i]->probes[n],
						 .set = i,
						 .err = err };
			int r;

			if (!v.probe->library || v.probe->level > s->level ||
			    (!library_fits(v.probe->library, file->path, false) &&
			     !(is_program && v.probe->library->program_marker &&
			       image_defines(image, v.probe->library->program_marker))))
				continue;
			r = find_places(&v);
			if (r < 0)
				return r;
		}
	}
	file->row_count = s->row_count - file->first_row;
	file->site_count = s->count - file->first_site;
	return 0;
}

static struct site_file *find_file(const struct sites *s, const struct stat *st)
{
	for (size_t i = 0; i < s->file_count; i++) {
		if (s->files[i]->device == st->st_dev && s->files[i]->inode == st->st_ino)
			return s->files[i];
	}
	return NULL;
}

/* With one more file, which may have as many rows as it likes: those are bounded by the sets. */
static bool has_share(const struct sites *s, uint32_t uid)
{
	size_t files = 0, rows = 0;

	for (size_t i = 0; i < s->file_count; i++) {
		files += s->files[i]->uid == uid;
		rows += s->files[i]->uid == uid ? s->files[i]->row_count : 0;
	}
	return !s->is_shared || uid == 0 ||
	       (files < SITES_FILES_MAX / SITES_USERS_SHARE &&
		rows < TRACE_ROWS_MAX / SITES_USERS_SHARE);
}

/* NULL: it is there already, it is left out, or (*ret_r below 0) it cannot be. */
static struct site_file *new_file(struct sites *s, int fd, const char *path, int *ret_r)
{
	struct site_file *file;
	struct stat st;

	*ret_r = fstat(fd, &st) < 0 ? -errno : 0;
	if (*ret_r < 0)
		return NULL;
	if (find_file(s, &st))
		return NULL;
	if (!has_share(s, st.st_uid)) {
		s->left_out++;
		s->left_out_uid = st.st_uid;
		return NULL;
	}
	*ret_r = s->file_count < SITES_FILES_MAX
			 ? array_reserve(&s->files, &s->file_room, s->file_count, sizeof(file))
			 : -E2BIG;
	file = *ret_r == 0 ? calloc(1, sizeof(*file)) : NULL;
	if (!file)
		return NULL;
	*file = (struct site_file){ .device = st.st_dev,
				    .inode = st.st_ino,
				    .uid = st.st_uid,
				    .path = strdup(path),
				    .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
				    .first_row = s->row_count,
				    .first_site = s->count };
	s->files[s->file_count++] = file;
	if (!file->path || file->fd < 0)
		*ret_r = -ENOMEM;
	return file;
}

/* The function, as Fortran may call it, too. */
static bool is_name_of(const char *name, const char *symbol)
{
	const size_t length = strlen(symbol);

	return strncasecmp(name, symbol, length) == 0 &&
	       (!name[length] || strcmp(name + length, "_") == 0 ||
		strcmp(name + length, "__") == 0 || strcmp(name + length, "_f08_") == 0);
}

static void note_missed(void *context, const char *name, bool is_import)
{
	struct sites *s = context;

	for (size_t i = 0; is_import && i < s->set_count; i++) {
		for (size_t n = 0; n < s->sets[i]->probe_count; n++) {
			const struct probe *probe = s->sets[i]->probes[n];
			size_t known = 0;

			if (probe->level <= s->level || !is_name_of(name, probe->symbols[0]))
				continue;
			while (known < s->missed_count &&
			       strcmp(s->missed[known]->name, probe->name) != 0)
				known++;
			if (known == s->missed_count && known < SITES_MISSED_MAX)
				s->missed[s->missed_count++] = probe;
		}
	}
}

/* Libraries that the sets are of import each other's. */
static bool is_part(const struct sites *s, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < s->set_count; i++) {
		for (size_t n = 0; n < s->sets[i]->library_count; n++) {
			const struct probe_library *l = s->sets[i]->libraries[n];

			for (size_t k = 0; k < l->part_count; k++) {
				if (fnmatch(l->parts[k], name, 0) == 0)
					return true;
			}
		}
	}
	return false;
}

struct known_file *sites_know(struct sites *s, int fd, const char *path)
{
	_cleanup_(image_freep) struct image *image = NULL;
	struct known_file *known;
	struct site_file *file;
	struct stat st;
	uint64_t hash;

	if (fstat(fd, &st) < 0)
		return NULL;
	hash = fnv_bytes(fnv_bytes(FNV_BEGIN, &st.st_dev, sizeof(st.st_dev)), &st.st_ino,
			 sizeof(st.st_ino));
	hash = fnv_bytes(hash, &st.st_ctim, sizeof(st.st_ctim)); /* the number may come again */
	known = idmap_get(&s->known, hash);
	if (!known) {
		if (s->known.count >= KNOWN_MAX)
			return NULL;
		known = calloc(1, sizeof(*known));
		if (!known || idmap_put(&s->known, hash, known) < 0) {
			free(known);
			return NULL;
		}
		if (image_open(fd, &image, NULL) == 0) {
			hazards_read(image, path, s->callers, s->caller_count, &known->hazards);
			if (!is_part(s, path))
				image_visit_names(image, note_missed, s);
		}
	}
	file = find_file(s, &st);
	if (file)
		file->known = known;
	return known;
}

/* A bit each: of a probe's library, and of itself.  0: it is not known what may call it. */
static uint64_t find_callers(const struct sites *s, const struct probe *probe)
{
	const struct probe_library *library = probe->library;
	uint64_t of_library = 0, own = 0;

	if (library && library->has_callbacks)
		of_library = find_caller(s, library->callbacks, library->callback_count, library);
	if (of_library && probe->callback_count)
		own = find_caller(s, probe->callbacks, probe->callback_count, library);
	return own || !probe->callback_count ? of_library | own : 0;
}

static void withhold_returns(struct sites *s, struct site_file *file, bool is_late)
{
	for (size_t i = file->first_row; i < file->first_row + file->row_count; i++) {
		struct site_row *row = s->rows[i];
		const enum hazard hazard = hazards_judge(&s->found, row->probe, row->exit,
							 find_callers(s, row->probe));

		if (row->exit == PROBE_EXIT_NONE || hazard == HAZARD_COUNT)
			continue;
		withhold(row, hazards_format(&s->found, hazard, is_late));
		file->is_changed = true;
	}
}

void sites_begin_process(struct sites *s)
{
	s->found = (struct hazards){};
	s->process++;
}

bool sites_see(struct sites *s, struct known_file *known)
{
	if (!known || known->process == s->process)
		return false;
	known->process = s->process;
	hazards_add(&s->found, &known->hazards);
	return true;
}

bool sites_end_process(struct sites *s, bool is_late)
{
	bool is_changed = false;

	for (size_t i = 0; i < s->file_count; i++) {
		const struct known_file *known = s->files[i]->known;

		if (known && known->process == s->process)
			withhold_returns(s, s->files[i], is_late);
		is_changed |= s->files[i]->is_changed;
	}
	return is_changed;
}

static int see_needed(void *context, const char *path, bool is_program UNUSED)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && !sites_see(context, sites_know(context, fd, path));
}

bool sites_await_program(struct sites *s, const char *program)
{
	sites_begin_process(s);
	(void)libraries_visit_needed(program, see_needed, s);
	return sites_end_process(s, false);
}

/* With what was found in it: it has the last rows and sites. */
static void forget_last(struct sites *s)
{
	struct site_file *file = s->files[--s->file_count];

	while (s->row_count > file->first_row)
		sites_free_row(s->rows[--s->row_count]);
	s->count = file->first_site;
	sites_free_file(file);
}

int sites_add(struct sites *s, int fd, const char *path, bool is_program, struct site_file **ret,
	      struct error *err)
{
	_cleanup_(image_freep) struct image *image = NULL;
	struct site_file *file;
	int r;

	*ret = NULL;
	file = new_file(s, fd, path, &r);
	if (r < 0)
		return error_set_errno(err, r, "cannot look at '%s'", path);
	if (!file)
		return 0;
	if (image_open(file->fd, &image, NULL) == 0) { /* no script, and of this machine */
		file->is_static = is_program && image_is_static(image);
		file->is_stripped = image_is_stripped(image);
		r = find_probes(s, file, image, is_program, err);
	}
	if (file->site_count)
		*ret = file;
	if (r < 0 || !file->row_count)
		forget_last(s);
	return r;
}
