/* SPDX-License-Identifier: MIT */
#include "trace/image.h"

#include <errno.h>
#include <fnmatch.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

#define CODE_BYTES 16 /* of the first instructions */
#define FUNCTION_BYTES_MAX (1 << 20)
#define ENDBR_BYTES 4
#define NOTE_STAPSDT 3

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

struct image {
	Elf *elf;
	int fd; /* -EBADF: in memory */
	const char *bytes;
	uint64_t size;
	size_t segment_count, section_names;
};

static bool image_read_at(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	if (image->fd < 0) {
		memcpy(to, image->bytes + offset, size);
		return true;
	}
	return pread(image->fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Takes @elf over. */
static int image_begin(Elf *elf, int fd, const char *bytes, uint64_t size, struct image **ret,
		       struct error *err)
{
	_cleanup_(image_freep) struct image *image = calloc(1, sizeof(*image));
	GElf_Ehdr header;

	if (!image) {
		elf_end(elf);
		return error_set_errno(err, ENOMEM, "cannot read it");
	}
	*image = (struct image){ .elf = elf, .fd = fd, .bytes = bytes, .size = size };
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    gelf_getclass(elf) != ELFCLASS64 || header.e_machine != MACHINE ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
	    elf_getphdrnum(elf, &image->segment_count) != 0 ||
	    elf_getshdrstrndx(elf, &image->section_names) != 0)
		return error_set(err, -ENOEXEC, "it is no program or library of this machine");
	*ret = TAKE_PTR(image);
	return 0;
}

int image_open(int fd, struct image **ret, struct error *err)
{
	const off_t size = lseek(fd, 0, SEEK_END);

	if (size < 0)
		return error_set_errno(err, errno, "cannot read it");
	elf_version(EV_CURRENT);
	/* Not mapped: the file may be truncated meanwhile. */
	return image_begin(elf_begin(fd, ELF_C_READ, NULL), fd, NULL, (uint64_t)size, ret, err);
}

int image_open_memory(char *bytes, size_t size, struct image **ret, struct error *err)
{
	elf_version(EV_CURRENT);
	return image_begin(elf_memory(bytes, size), -EBADF, bytes, size, ret, err);
}

struct image *image_free(struct image *image)
{
	if (!image)
		return NULL;
	elf_end(image->elf);
	free(image);
	return NULL;
}

void image_freep(struct image **image)
{
	*image = image_free(*image);
}

/* The first section of @type, or (@name not NULL) of that name. */
static Elf_Scn *image_find_section(const struct image *image, unsigned int type, const char *name,
				   GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(image->elf, section))) {
		const char *found = NULL;

		if (!gelf_getshdr(section, ret))
			continue;
		if (name)
			found = elf_strptr(image->elf, image->section_names, ret->sh_name);
		if (name ? found && strcmp(found, name) == 0 : ret->sh_type == type)
			return section;
	}
	return NULL;
}

/* NULL: there is none. */
static Elf_Data *image_find_data(const struct image *image, unsigned int type, GElf_Shdr *ret)
{
	Elf_Scn *section = image_find_section(image, type, NULL, ret);

	return section ? elf_getdata(section, NULL) : NULL;
}

bool image_has_section(const struct image *image, const char *name)
{
	GElf_Shdr header;

	return image_find_section(image, 0, name, &header);
}

bool image_is_stripped(const struct image *image)
{
	GElf_Shdr header;

	return !image_find_section(image, SHT_SYMTAB, NULL, &header);
}

bool image_is_static(const struct image *image)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(image->elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

const char *image_run_path(const struct image *image)
{
	const char *path = NULL;
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Dyn entry;

	data = image_find_data(image, SHT_DYNAMIC, &header);
	for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
		if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !path))
			path = elf_strptr(image->elf, header.sh_link, entry.d_un.d_val);
	}
	return path;
}

int image_visit_needed(const struct image *image, int (*visit)(void *context, const char *name),
		       void *context)
{
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Dyn entry;
	int r = 0;

	data = image_find_data(image, SHT_DYNAMIC, &header);
	for (int i = 0; data && r >= 0 && gelf_getdyn(data, i, &entry); i++) {
		const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(image->elf, header.sh_link,
									 entry.d_un.d_val)
							    : NULL;

		if (name)
			r = visit(context, name);
	}
	return r < 0 ? r : 0;
}

/* Where in the file an address is that is loaded with the rights @flags. */
static bool image_find_offset(const struct image *image, uint64_t address, unsigned int flags,
			      uint64_t *ret)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		GElf_Phdr s;

		if (!gelf_getphdr(image->elf, (int)i, &s) || s.p_type != PT_LOAD ||
		    (s.p_flags & flags) != flags || address < s.p_vaddr ||
		    address - s.p_vaddr >= s.p_filesz)
			continue;
		*ret = address - s.p_vaddr + s.p_offset;
		return *ret < image->size;
	}
	return false;
}

/* ---- instructions ---- */

#if defined(__x86_64__)
/* As arch/x86/kernel/uprobes.c of Linux emulates them: branch_setup_xol_ops(), and
 * push_setup_xol_ops(). */
enum image_cost image_cost_of(const unsigned char *code, size_t size)
{
	const unsigned char first = size > 0 ? code[0] : 0, second = size > 1 ? code[1] : 0;
	const bool is_push = (first & 0xf8) == 0x50 || (first == 0x41 && (second & 0xf8) == 0x50);
	const bool is_nop = first == 0x90 || (first == 0x0f && second == 0x1f);
	const bool is_jump = first == 0xe8 || first == 0xe9 || first == 0xeb ||
			     (first & 0xf0) == 0x70 || (first == 0x0f && (second & 0xf0) == 0x80);

	return is_push || is_nop || is_jump ? IMAGE_EMULATED : IMAGE_STEPPED;
}

static size_t skip_landing_pad(const unsigned char *code)
{
	static const unsigned char endbr64[ENDBR_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}
#else
enum image_cost image_cost_of(const unsigned char *code UNUSED, size_t size UNUSED)
{
	return IMAGE_STEPPED; /* not known */
}

static size_t skip_landing_pad(const unsigned char *code UNUSED)
{
	return 0;
}
#endif

/* The probe goes behind an endbr64: the stack is as before it, and what follows is most often a
 * push. */
static bool image_settle(const struct image *image, struct image_site *site)
{
	unsigned char code[CODE_BYTES];
	size_t skipped;

	if (!image_read_at(image, site->offset, code, sizeof(code)))
		return false;
	skipped = skip_landing_pad(code);
	site->offset += skipped;
	site->size -= MIN(site->size, skipped);
	site->cost = image_cost_of(code + skipped, sizeof(code) - skipped);
	return true;
}

/* ---- functions ---- */

void image_visit_names(const struct image *image,
		       void (*visit)(void *context, const char *name, bool is_import),
		       void *context)
{
	static const unsigned int types[] = { SHT_DYNSYM, SHT_SYMTAB };

	for (size_t n = 0; n < ARRAY_SIZE(types); n++) {
		GElf_Shdr header;
		Elf_Data *data;
		GElf_Sym symbol;

		data = image_find_data(image, types[n], &header);
		for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(image->elf, header.sh_link, symbol.st_name);

			if (name && *name)
				visit(context, name, symbol.st_shndx == SHN_UNDEF);
		}
	}
}

struct name_search {
	const char *name;
	bool is_found;
};

static void image_look_at_name(void *context, const char *name, bool is_import)
{
	struct name_search *search = context;

	search->is_found |= !is_import && strcmp(name, search->name) == 0;
}

bool image_defines(const struct image *image, const char *symbol)
{
	struct name_search search = { .name = symbol };

	image_visit_names(image, image_look_at_name, &search);
	return search.is_found;
}

static int image_visit_table(const struct image *image, unsigned int type, const char *pattern,
			     image_visitor visit, void *context)
{
	const size_t plain = strcspn(pattern, "*?[\\"); /* a library has a million names: */
	const bool is_pattern = pattern[plain]; /* fnmatch() for few of them */
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Sym symbol;
	int r = 0;

	data = image_find_data(image, type, &header);
	for (int i = 0; data && r >= 0 && gelf_getsym(data, i, &symbol); i++) {
		struct image_site site = { .size = symbol.st_size };

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
			continue;
		site.name = elf_strptr(image->elf, header.sh_link, symbol.st_name);
		if (!site.name || strncmp(pattern, site.name, plain) != 0 ||
		    (is_pattern ? fnmatch(pattern, site.name, 0) : site.name[plain]) != 0)
			continue;
		if (image_find_offset(image, symbol.st_value, PF_X, &site.offset) &&
		    image_settle(image, &site))
			r = visit(context, &site);
	}
	return r < 0 ? r : 0;
}

int image_visit_functions(const struct image *image, const char *pattern, image_visitor visit,
			  void *context)
{
	int r = image_visit_table(image, SHT_DYNSYM, pattern, visit, context);

	return r < 0 ? r : image_visit_table(image, SHT_SYMTAB, pattern, visit, context);
}

int image_visit_returns(const struct image *image, const struct image_site *site,
			image_visitor visit, void *context)
{
	_cleanup_free_ unsigned char *code = NULL;
	size_t length;
	int r = 0;

	if (!site->size || site->size > FUNCTION_BYTES_MAX)
		return -ENODATA;
	code = malloc(site->size);
	if (!code)
		return -ENOMEM;
	if (!image_read_at(image, site->offset, code, site->size))
		return -ENODATA;
	for (size_t at = 0; at < site->size && r >= 0; at += length) {
		struct image_site here = { .name = site->name,
					   .offset = site->offset + at,
					   .cost = IMAGE_STEPPED };

		length = instruction_length(code + at, site->size - at);
		if (!length)
			return -ENODATA;
		if (instruction_is_return(code + at, length))
			r = visit(context, &here);
	}
	return r < 0 ? r : 0;
}

/* ---- USDT ---- */

/* Cut a string off what is left of a note. */
static const char *cut_string(const char **at, const char *end)
{
	const char *string = *at, *nul = memchr(string, '\0', (size_t)(end - string));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return string;
}

/* The addresses in a note are those of the link; a prelinked file has moved by as much as its base
 * section has. */
static int image_visit_note(const struct image *image, const char *at, const char *end,
			    const char *wanted, image_visitor visit, void *context)
{
	const size_t provider_length = strcspn(wanted, ":");
	struct image_site site = { .name = wanted };
	const char *provider, *name;
	uint64_t addresses[3]; /* probe, base, semaphore */
	GElf_Shdr base;

	if ((size_t)(end - at) < sizeof(addresses))
		return 0;
	memcpy(addresses, at, sizeof(addresses));
	at += sizeof(addresses);
	provider = cut_string(&at, end);
	name = provider ? cut_string(&at, end) : NULL;
	site.arguments = name ? cut_string(&at, end) : NULL;
	if (!site.arguments || strlen(provider) != provider_length ||
	    strncmp(provider, wanted, provider_length) != 0 || !wanted[provider_length] ||
	    strcmp(name, wanted + provider_length + 1) != 0)
		return 0;
	if (image_find_section(image, 0, ".stapsdt.base", &base))
		addresses[0] += base.sh_addr - addresses[1];
	if (!image_find_offset(image, addresses[0], PF_X, &site.offset) ||
	    (addresses[2] && !image_find_offset(image, addresses[2], PF_W, &site.semaphore)) ||
	    !image_settle(image, &site))
		return 0;
	return visit(context, &site);
}

int image_visit_usdt(const struct image *image, const char *name, image_visitor visit,
		     void *context)
{
	GElf_Shdr header;
	Elf_Scn *section = image_find_section(image, 0, ".note.stapsdt", &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t at = 0, name_at, text_at;
	GElf_Nhdr note;
	int r = 0;

	while (data && r >= 0 && (at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type == NOTE_STAPSDT && note.n_namesz == sizeof("stapsdt") &&
		    memcmp(bytes + name_at, "stapsdt", sizeof("stapsdt")) == 0)
			r = image_visit_note(image, bytes + text_at,
					     bytes + text_at + note.n_descsz, name, visit, context);
	}
	return r < 0 ? r : 0;
}
