/* SPDX-License-Identifier: MIT */
/* Of made files: a table of symbols for linking, and a section. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"
#include "trace/hazards.h"
#include "trace/image.h"

#define SAFE HAZARD_COUNT

/* Of one symbol, which the file defines or (@is_import) needs. */
static struct image *made_file(char *bytes, const char *symbol, bool is_import, const char *section)
{
	enum { NONE, NAMES, SYMBOLS, OTHER, SECTIONS };
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN,
#if defined(__x86_64__)
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_version = 1,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS,
		.e_shoff = 1024,
		.e_shstrndx = NAMES
	};
	const Elf64_Shdr sections[SECTIONS] = {
		[NAMES] = { .sh_type = SHT_STRTAB, .sh_offset = 256, .sh_size = 512 },
		[SYMBOLS] = { .sh_type = SHT_DYNSYM,
			      .sh_offset = 128,
			      .sh_size = 2 * sizeof(Elf64_Sym),
			      .sh_entsize = sizeof(Elf64_Sym),
			      .sh_link = NAMES },
		[OTHER] = { .sh_name = 128, .sh_type = SHT_PROGBITS, .sh_offset = 900 },
	};
	const Elf64_Sym symbols[2] = { {}, { .st_name = 1, .st_shndx = is_import ? 0 : OTHER } };
	struct image *image = NULL;

	memset(bytes, 0, 2048);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + 128, symbols, sizeof(symbols));
	memcpy(bytes + 256 + 1, symbol, strlen(symbol));
	memcpy(bytes + 256 + 128, section, strlen(section));
	memcpy(bytes + 1024, sections, sizeof(sections));
	ASSERT_OK(image_open_memory(bytes, 2048, &image, NULL));
	return image;
}

static struct probe_library mpi = { .has_callbacks = true,
				    .callbacks = { (char *)"*MPI_*create_errhandler*" },
				    .parts = { (char *)"libmpi*.so*" },
				    .callback_count = 1,
				    .part_count = 1 };
static char *const of_reductions[] = { (char *)"*MPI_Op_create*" };
static const struct caller callers[] = { { mpi.callbacks, 1, &mpi }, { of_reductions, 1, &mpi } };
#define OF_MPI 1
#define OF_REDUCTIONS (OF_MPI | 2)

static void read_made(const char *path, const char *symbol, bool is_import, const char *section,
		      struct file_hazards *ret)
{
	char *bytes = malloc(2048);
	struct image *image = made_file(bytes, symbol, is_import, section);

	*ret = (struct file_hazards){};
	hazards_read(image, path, callers, ARRAY_SIZE(callers), ret);
	image_free(image);
	free(bytes);
}

TEST(what_a_file_holds_says_which_returns_are_safe)
{
	static const struct {
		const char *path, *symbol;
		bool is_import;
		const char *section;
		enum hazard of_return, of_ret_insn, of_mpi;
	} rows[] = {
		/* clang-format off */
		{ "/p/plain", "printf", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/go", "x", false, ".go.buildinfo", HAZARD_GO, HAZARD_GO, HAZARD_GO },
		{ "/p/go", "x", false, ".gopclntab", HAZARD_GO, HAZARD_GO, HAZARD_GO },
		{ "/p/go", "x", false, ".note.go.buildid", HAZARD_GO, HAZARD_GO, HAZARD_GO },
		{ "/p/fibers", "swapcontext", true, ".text", HAZARD_CONTEXTS, HAZARD_CONTEXTS, HAZARD_CONTEXTS },
		{ "/l/libboost_context.so.1", "make_fcontext", false, ".text", HAZARD_CONTEXTS, HAZARD_CONTEXTS, HAZARD_CONTEXTS },
		{ "/l/libabt.so.1", "ABT_thread_create", false, ".text", HAZARD_CONTEXTS, HAZARD_CONTEXTS, HAZARD_CONTEXTS },
		{ "/l/_greenlet.cpython-311.so", "PyInit__greenlet", false, ".text", HAZARD_CONTEXTS, HAZARD_CONTEXTS, HAZARD_CONTEXTS },
		{ "/l/libc.so.6", "swapcontext", false, ".text", SAFE, SAFE, SAFE },
		{ "/l/libcrypto.so.3", "setcontext", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/handler", "sigaltstack", true, ".text", HAZARD_SIGNALS, SAFE, HAZARD_SIGNALS },
		{ "/p/static", "sigaltstack", false, ".text", SAFE, SAFE, SAFE },
		{ "/l/libucs.so.0", "sigaltstack", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/python3.11", "sigaltstack", true, ".text", SAFE, SAFE, SAFE },
		{ "/l/libopen-pal.so.40", "backtrace", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/throws", "__cxa_throw", true, ".text", HAZARD_UNWINDING, SAFE, SAFE },
		{ "/l/libicuuc.so.72", "_ZSt20__throw_length_errorPKc", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/static_runtime", "__cxa_throw", false, ".text", HAZARD_UNWINDING, SAFE, SAFE },
		{ "/p/stripped_static_runtime", "_dl_find_object", true, ".text", HAZARD_UNWINDING, SAFE, SAFE },
		{ "/l/libgcc_s.so.1", "_dl_find_object", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/rust", "_Unwind_RaiseException", true, ".text", HAZARD_UNWINDING, SAFE, SAFE },
		{ "/l/libmpich.so.12", "pthread_exit", true, ".text", SAFE, SAFE, SAFE },
		{ "/l/libstdc++.so.6", "_Unwind_RaiseException", true, ".text", SAFE, SAFE, SAFE },
		{ "/l/libmpi_cxx.so.40", "_Unwind_Resume", true, ".text", SAFE, SAFE, SAFE },
		{ "/p/cancels", "pthread_cancel", true, ".text", HAZARD_CANCELLATION, SAFE, HAZARD_CANCELLATION },
		{ "/l/libfabric.so.1", "pthread_cancel", true, ".text", SAFE, SAFE, SAFE },
		/* clang-format on */
	};
	const struct probe returns = { .exit = PROBE_EXIT_RETURN },
			   ret_insn = { .exit = PROBE_EXIT_RET_INSN };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hazards h = {};
		struct file_hazards file;

		read_made(rows[i].path, rows[i].symbol, rows[i].is_import, rows[i].section, &file);
		hazards_add(&h, &file);
		ASSERT_EQ(hazards_judge(&h, &returns, returns.exit, 0), rows[i].of_return);
		ASSERT_EQ(hazards_judge(&h, &ret_insn, ret_insn.exit, 0), rows[i].of_ret_insn);
		ASSERT_EQ(hazards_judge(&h, &returns, returns.exit, OF_MPI), rows[i].of_mpi);
	}
}

TEST(an_exception_crosses_a_library_that_is_given_functions_to_call)
{
	static const struct {
		const char *path, *symbol;
		bool is_crossed, are_reductions;
	} rows[] = {
		{ "/p/c", "MPI_Comm_create_errhandler", true, true },
		{ "/p/fortran", "mpi_comm_create_errhandler_", true, true },
		{ "/p/c", "MPI_Op_create", false, true },
		{ "/p/c", "MPI_Send", false, false },
		{ "/l/libmpi_mpifh.so.40", "PMPI_Comm_create_errhandler", false, false },
		{ "/l/libmpi_mpifh.so.40", "PMPI_Op_create", false, false },
	};
	const struct probe returns = { .exit = PROBE_EXIT_RETURN },
			   sure = { .exit = PROBE_EXIT_RETURN, .is_never_throwing = true };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct file_hazards throws, gives;
		_cleanup_free_ char *why = NULL;
		struct hazards h = {};

		read_made("/l/libsolver.so", "__cxa_throw", true, ".text", &throws);
		read_made(rows[i].path, rows[i].symbol, true, ".text", &gives);
		hazards_add(&h, &gives);
		hazards_add(&h, &throws);
		ASSERT_EQ(hazards_judge(&h, &returns, returns.exit, OF_MPI),
			  rows[i].is_crossed ? HAZARD_UNWINDING : SAFE);
		ASSERT_EQ(hazards_judge(&h, &returns, returns.exit, OF_REDUCTIONS),
			  rows[i].are_reductions ? HAZARD_UNWINDING : SAFE);
		ASSERT_EQ(hazards_judge(&h, &sure, sure.exit, 0), SAFE);
		why = hazards_format(&h, HAZARD_UNWINDING, false);
		ASSERT_CONTAINS(why, "'libsolver.so' throws exceptions");
		ASSERT_CONTAINS(why, "(__cxa_throw)");
	}
}
