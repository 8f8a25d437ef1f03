/* SPDX-License-Identifier: MIT */
#include "trace/hazards.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "trace/image.h"

#define SIGNS_MAX 32

/* What is found in a file, and which functions of the process are not safe then.  Instead of
 * returns, entries alone are traced.  Probes on `ret` instructions would not do: the kernel steps
 * over each (11 to 50 us on a virtual machine), and a tail call has none. */
static const struct hazard_row {
	const char *words;
	bool is_of_returns; /* of return probes; else of `ret` instructions, too */
	bool is_by_callbacks; /* of functions that call the program back; else of all */
	bool is_of_cxx; /* in files of C++ alone */
	const char *sections[4];
	const char *imports[SIGNS_MAX]; /* names, or patterns as of fnmatch() */
	const char *program_imports[5]; /* the same, but of libraries: as libicuuc, which each MPI
					   has by way of hwloc, most of C++ use what may throw and
					   do not */
	const char *symbols[SIGNS_MAX]; /* the same, imported or defined */
	const char *unless; /* a name beside which the sign says nothing */
} hazard_rows[HAZARD_COUNT] = {
	/* clang-format off */
	/* Goroutines change threads, and their stacks move: a `ret` is another thread's. */
	[HAZARD_GO] = { "is of Go, whose calls change threads and stacks",
		.sections = { ".go.buildinfo", ".gopclntab", ".note.go.buildid" } },
	/* The kernel keeps return addresses by thread, and gives back the latest. */
	[HAZARD_CONTEXTS] = { "changes stacks without the kernel",
		.symbols = { "swapcontext", "makecontext", "setcontext", "jump_fcontext", "make_fcontext",
			     "ontop_fcontext", "ABT_init", "ABT_thread_*", "qthread_*", "co_switch",
			     "coro_transfer", "CthResume*", "PyInit__greenlet", "PyGreenlet_*",
			     "_ZN3tbb6detail2r17suspend*", "bthread_*", "sctk_swapcontext", "myth_create*",
			     "pth_init", "st_thread_create", "acosw", "aco_resume", "mco_resume",
			     "photon_switch_context*", "zend_fiber_switch_*", "fiber_switchContext" } },
	/* The unwinder knows no caller behind the changed address. */
	[HAZARD_UNWINDING] = { "throws exceptions",
		.is_of_returns = true, .is_by_callbacks = true,
		.imports = { "__cxa_throw", "__cxa_rethrow", "_ZSt17rethrow_exception*",
			     "_Unwind_RaiseException", "_Unwind_ForcedUnwind",
			     "_dl_find_object" /* for an unwinder of its own: -static-libgcc */ },
		.program_imports = { "_ZSt1*__throw_*", "_ZSt2*__throw_*", "dl_iterate_phdr" },
		.symbols = { "__cxa_throw", "rust_panic", "__rust_start_panic" } },
	/* It sees the changed address, and no caller behind it. */
	[HAZARD_WALK] = { "reads its own stack", .is_of_returns = true, .is_by_callbacks = true,
		.program_imports = { "backtrace", "_Unwind_Backtrace", "unw_backtrace", "_U*_step" },
		.unless = "MPL_backtrace_show" /* MPICH within the program: as it aborts */ },
	/* If it lies higher, a call from a handler ends the interrupted ones, to the kernel. */
	[HAZARD_SIGNALS] = { "changes stacks for signals", .is_of_returns = true,
		.imports = { "sigaltstack" } },
	/* As unwinding; what is not of C++ has no destructors (libmpich and Python call it, too). */
	[HAZARD_THREAD_END] = { "ends threads from within",
		.is_of_returns = true, .is_by_callbacks = true, .is_of_cxx = true,
		.imports = { "pthread_exit" } },
	/* And this, out of any function that waits: destructors would not run. */
	[HAZARD_CANCELLATION] = { "cancels threads", .is_of_returns = true,
		.imports = { "pthread_cancel" } },
	/* clang-format on */
};

/* Files that do all that, and say nothing of the program: what others throw and switch with, and
 * those that cancel or switch what they have begun themselves and what runs their code alone
 * (libfabric and libpmix are of plain MPI programs, libcrypto of each Python, and of libtbb the
 * program says whether it suspends tasks).  On their other stack libucs, LLVM and Python report a
 * crash alone. */
static char *const runtimes[] = {
	"libc.so*",	 "libc-2*",	  "ld-linux*",	   "ld-2*",	    "libpthread*",
	"libstdc++.so*", "libgcc_s.so*",  "libc++.so*",	   "libc++abi.so*", "libunwind.so*",
	"libgomp.so*",	 "libcrypto.so*", "libfabric.so*", "libpmix.so*",   "libslurm*.so*",
	"libtbb.so*",	 "libucs.so*",	  "libLLVM*",	   "libpython*",    "python[23]*",
};

static bool is_among(const char *name, char *const *patterns, size_t count, int flags)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(patterns[i], name, flags) == 0)
			return true;
	}
	return false;
}

/* @signs end with NULL. */
static const char *find_sign(const char *name, const char *const *signs)
{
	for (size_t i = 0; signs[i]; i++) {
		const size_t plain = strcspn(signs[i], "*");

		/* A program has a million names: fnmatch() for few of them. */
		if (strncmp(name, signs[i], plain) == 0 &&
		    (signs[i][plain] ? fnmatch(signs[i], name, 0) == 0 : !name[plain]))
			return signs[i];
	}
	return NULL;
}

struct reading_names {
	struct file_hazards *to;
	const struct caller *callers;
	size_t caller_count;
	uint64_t parts; /* a bit a caller: the file is a part of its library */
	bool is_of_cxx, is_program, has[HAZARD_COUNT]; /* has: what its row has under unless */
};

static void take_name(void *context, const char *name, bool is_import)
{
	struct reading_names *r = context;

	r->is_of_cxx |= strcmp(name, "__gxx_personality_v0") == 0;
	for (size_t i = 0; i < HAZARD_COUNT; i++) {
		r->has[i] |= hazard_rows[i].unless && strcmp(name, hazard_rows[i].unless) == 0;
		if (!r->to->signs[i])
			r->to->signs[i] = find_sign(name, hazard_rows[i].symbols);
		if (!r->to->signs[i] && is_import)
			r->to->signs[i] = find_sign(name, hazard_rows[i].imports);
		if (!r->to->signs[i] && is_import && r->is_program)
			r->to->signs[i] = find_sign(name, hazard_rows[i].program_imports);
	}
	/* Also where it defines them: the library can be inside of a program. */
	for (size_t i = 0; i < r->caller_count; i++) {
		const struct caller *c = &r->callers[i];

		if (!((r->parts | r->to->callbacks) >> i & 1) &&
		    is_among(name, c->callbacks, c->callback_count, FNM_CASEFOLD))
			r->to->callbacks |= UINT64_C(1) << i;
	}
}

void hazards_read(const struct image *image, const char *path, const struct caller *callers,
		  size_t count, struct file_hazards *ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct reading_names r = { .to = ret,
				   .callers = callers,
				   .caller_count = count,
				   .is_program = !image_is_static(image) };

	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (is_among(name, runtimes, ARRAY_SIZE(runtimes), 0))
		return;
	for (size_t i = 0; i < count; i++)
		r.parts |= (uint64_t)is_among(name, callers[i].library->parts,
					      callers[i].library->part_count, 0)
			   << i;
	for (size_t i = 0; i < HAZARD_COUNT; i++) {
		const char *const *sections = hazard_rows[i].sections;

		for (size_t n = 0; sections[n]; n++) {
			if (image_has_section(image, sections[n]))
				ret->signs[i] = sections[n];
		}
	}
	image_visit_names(image, take_name, &r);
	for (size_t i = 0; i < HAZARD_COUNT; i++) {
		if ((hazard_rows[i].is_of_cxx && !r.is_of_cxx) || r.has[i])
			ret->signs[i] = NULL;
	}
}

void hazards_add(struct hazards *to, const struct file_hazards *file)
{
	for (size_t i = 0; i < HAZARD_COUNT; i++) {
		if (file->signs[i] && !to->files[i])
			to->files[i] = file;
	}
	to->callbacks |= file->callbacks;
}

enum hazard hazards_judge(const struct hazards *h, const struct probe *probe, enum probe_exit exit,
			  uint64_t callers)
{
	const bool is_crossed = !probe->is_never_throwing && (!callers || h->callbacks & callers);
	size_t i = 0;

	while (i < HAZARD_COUNT &&
	       (!h->files[i] || (hazard_rows[i].is_by_callbacks && !is_crossed) ||
		(hazard_rows[i].is_of_returns && exit != PROBE_EXIT_RETURN)))
		i++;
	return (enum hazard)i;
}

char *hazards_format(const struct hazards *h, enum hazard hazard, bool is_late)
{
	const struct file_hazards *file = h->files[hazard];
	char *text = NULL;

	return asprintf(&text, "'%s' %s (%s)%s", file->name, hazard_rows[hazard].words,
			file->signs[hazard],
			is_late ? "; it was found late, and a call that was under way then could "
				  "not be spared"
				: "") < 0
		       ? NULL
		       : text;
}
