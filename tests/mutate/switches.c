// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies a source tree, and inserts the switches of tests/mutate/mutations into the copy.
 *
 *   switches LIST SOURCE DESTINATION <PATHS
 *
 * PATHS are files of SOURCE, one in each line. A file without mutations is copied unchanged. In
 * a file with mutations, each original expression becomes
 *
 *   (vnet_mutant(N) ? (mutated) : (original))
 *
 * and each original statement (which ends with ; or }) becomes
 *
 *   { if (vnet_mutant(N)) { mutated } else { original } }
 *
 * so that one build contains all mutations. A file of DESTINATION is written only if it
 * differs. Line numbers do not change. Status 1: an original does not occur exactly once in its
 * function, or overlaps another one; each such mutation is reported.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_MUTATIONS 4096

struct mutation {
	int number;
	char *file;
	char *function;
	char *original;
	char *mutated;
	/* Where the original is in its file: [start, end). */
	size_t start;
	size_t end;
};

static struct mutation mutations[MAX_MUTATIONS];
static int nmutations;
static bool failed;

static const char selector[] =
	"#ifndef VNET_MUTANT\n"
	"#define VNET_MUTANT\n"
	"#ifdef __KERNEL__\n"
	"extern int vnet_mutant_selected;\n"
	"#else\n"
	"extern char *getenv(const char *name);\n"
	"static int vnet_mutant_selected = -1;\n"
	"static __attribute__((cold, noinline, unused)) int vnet_mutant_read(void)\n"
	"{\n"
	"	const char *text = getenv(\"VNET_MUTANT\");\n"
	"	int n = 0;\n"
	"\n"
	"	for (; text && *text >= '0' && *text <= '9'; text++)\n"
	"		n = n * 10 + (*text - '0');\n"
	"	__atomic_store_n(&vnet_mutant_selected, n, __ATOMIC_RELAXED);\n"
	"	return n;\n"
	"}\n"
	"#endif\n"
	"static inline __attribute__((unused)) int vnet_mutant(int n)\n"
	"{\n"
	"	int selected = __atomic_load_n(&vnet_mutant_selected, __ATOMIC_RELAXED);\n"
	"\n"
	"#ifndef __KERNEL__\n"
	"	if (__builtin_expect(selected < 0, 0))\n"
	"		selected = vnet_mutant_read();\n"
	"#endif\n"
	"	return selected == n;\n"
	"}\n"
	"#endif\n"
	"#pragma GCC diagnostic ignored \"-Wpragmas\"\n"
	"#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
	"#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"\n"
	"#pragma GCC diagnostic ignored \"-Wtype-limits\"\n"
	"#pragma GCC diagnostic ignored \"-Wsign-compare\"\n"
	"#pragma GCC diagnostic ignored \"-Wint-in-bool-context\"\n"
	"#pragma GCC diagnostic ignored \"-Wtautological-compare\"\n"
	"#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"\n"
	"#pragma GCC diagnostic ignored \"-Wmisleading-indentation\"\n"
	"#pragma GCC diagnostic ignored \"-Wdangling-else\"\n"
	"#pragma GCC diagnostic ignored \"-Warray-bounds\"\n"
	"#pragma GCC diagnostic ignored \"-Wstringop-overflow\"\n"
	"#pragma GCC diagnostic ignored \"-Wdeclaration-after-statement\"\n";

static const char parameter[] = "\n"
				"int vnet_mutant_selected;\n"
				"module_param_named(mutant, vnet_mutant_selected, int, 0644);\n";

/* The file that gets the module parameter. */
#define DRIVER_MAIN "kernel/vnet_ib/device/main.c"

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "switches: ");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0, got;

	if (!f)
		return NULL;
	do {
		text = realloc(text, n + 65537);
		if (!text)
			die("no memory");
		got = fread(text + n, 1, 65536, f);
		n += got;
	} while (got);
	text[n] = 0;
	fclose(f);
	*size = n;
	return text;
}

/* ------------------------------------------------------------------ the list */

static void append(char **to, const char *more)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", *to ? *to : "", *to ? "\n" : "", more) < 0)
		die("no memory");
	free(*to);
	*to = joined;
}

static void list_line(const char *path, int line, char *text)
{
	struct mutation *m = nmutations ? &mutations[nmutations - 1] : NULL;
	char *value = strchr(text, ' ');

	if (!*text || *text == '#')
		return;
	if (value)
		*value++ = 0;
	else
		value = text + strlen(text);
	if (!strcmp(text, "mutation")) {
		if (nmutations == MAX_MUTATIONS)
			die("%s:%d: too many", path, line);
		if (m && !(m->file && m->function && m->original))
			die("%s:%d: mutation %d lacks file, in or old", path, line, m->number);
		m = &mutations[nmutations++];
		m->number = atoi(value);
		if (m->number <= 0)
			die("%s:%d: a number is above 0", path, line);
		for (int i = 0; i < nmutations - 1; i++) {
			if (mutations[i].number == m->number)
				die("%s:%d: there is another %d", path, line, m->number);
		}
		return;
	}
	if (!m)
		die("%s:%d: no mutation begins here", path, line);
	if (!strcmp(text, "file"))
		m->file = strdup(value);
	else if (!strcmp(text, "in"))
		m->function = strdup(value);
	else if (!strcmp(text, "old"))
		append(&m->original, value);
	else if (!strcmp(text, "new"))
		append(&m->mutated, value);
	else if (strcmp(text, "guards") != 0 && strcmp(text, "tests") != 0 &&
		 strcmp(text, "equivalent") != 0)
		die("%s:%d: what is '%s'?", path, line, text);
}

static void read_list(const char *path)
{
	size_t size;
	char *text = read_file(path, &size), *next, *at;
	int line = 1;

	if (!text)
		die("%s: %s", path, strerror(errno));
	for (at = text; at && *at; at = next, line++) {
		next = strchr(at, '\n');
		if (next)
			*next++ = 0;
		list_line(path, line, at);
	}
	free(text);
	if (nmutations && !mutations[nmutations - 1].original)
		die("%s: the last mutation lacks its original", path);
}

/* ------------------------------------------------------- where an original is */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * Matches the pattern at this place, ignoring blanks, so that code may be wrapped differently.
 * Returns the end of the match, or NULL.
 */
static const char *match(const char *text, const char *pattern)
{
	const char *p = pattern, *t = text;
	char last = 0;

	if (is_word(*p) && *p != *t)
		return NULL;
	while (*p) {
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		while (t != text && isspace((unsigned char)*t))
			t++;
		if (*t != *p)
			return NULL;
		last = *p;
		t++;
		p++;
	}
	return is_word(last) && is_word(*t) ? NULL : t;
}

/* Returns the end of the function if its definition begins at this line, otherwise NULL. */
static const char *definition(const char *line, const char *name, const char **body)
{
	const char *end = strchr(line, '\n'), *open, *semicolon;
	size_t length = strlen(name);
	const char *at;

	if (!end || !(isalpha((unsigned char)*line) || *line == '_'))
		return NULL;
	for (at = line; (at = memmem(at, (size_t)(end - at), name, length)); at++) {
		if (at[length] == '(' && (at == line || !is_word(at[-1])))
			break;
	}
	if (!at)
		return NULL;
	open = strstr(line, "\n{");
	semicolon = strstr(line, ";\n");
	if (!open || (semicolon && semicolon < open))
		return NULL;
	*body = open + 1;
	end = strstr(open, "\n}");
	return end ? end + 2 : NULL;
}

static int find_between(struct mutation *m, const char *text, const char *from, const char *to)
{
	int found = 0;

	for (; from < to; from++) {
		const char *end;

		if (isspace((unsigned char)*from) ||
		    (is_word(*m->original) && from > text && is_word(from[-1])))
			continue;
		end = match(from, m->original);
		if (!end || end > to)
			continue;
		if (!found++) {
			m->start = (size_t)(from - text);
			m->end = (size_t)(end - text);
		}
	}
	return found;
}

/*
 * Finds the original in its function, or for "-" anywhere in the file, such as in a macro or
 * table.
 */
static void find(struct mutation *m, const char *text, size_t size)
{
	const char *line = text, *body, *end;
	int functions = 0, found = 0;

	if (!strcmp(m->function, "-")) {
		found = find_between(m, text, text, text + size);
		functions = 1;
	}
	for (; line && !found; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		end = definition(line, m->function, &body);
		if (!end)
			continue;
		functions++;
		found += find_between(m, text, body, end);
		line = end;
	}
	if (found == 1)
		return;
	failed = true;
	if (!functions)
		fprintf(stderr, "switches: mutation %d: %s has no function %s\n", m->number,
			m->file, m->function);
	else
		fprintf(stderr, "switches: mutation %d: in %s, %s, there is %s: %s\n", m->number,
			m->file, m->function, found ? "more than once" : "not", m->original);
}

/* ------------------------------------------------------------------ switches */

static bool is_statement(const struct mutation *m)
{
	size_t n = strlen(m->original);

	return n && (m->original[n - 1] == ';' || m->original[n - 1] == '}');
}

static bool same_span(const struct mutation *a, const struct mutation *b)
{
	return a->start == b->start && a->end == b->end;
}

static int by_place(const void *a, const void *b)
{
	const struct mutation *x = *(const struct mutation *const *)a;
	const struct mutation *y = *(const struct mutation *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static void put_flat(FILE *out, const char *text)
{
	for (; text && *text; text++)
		fputc(*text == '\n' ? ' ' : *text, out);
}

/* Writes text[from, to) with the switches of its n mutations, which are sorted by_place(). */
static void put(FILE *out, const char *text, size_t from, size_t to, struct mutation **m, int n)
{
	int same, inner;

	for (int i = 0; i < n; i = inner) {
		struct mutation *first = m[i];
		bool statement = is_statement(first);

		fwrite(text + from, 1, first->start - from, out);
		for (same = i; same < n && same_span(m[same], first); same++) {
			fprintf(out,
				statement ? "%s if (vnet_mutant(%d)) { " : "%svnet_mutant(%d) ? (",
				statement ? same > i ? "else" : "{" :
				same > i  ? "" :
					    "(",
				m[same]->number);
			put_flat(out, m[same]->mutated);
			fputs(statement ? " } " : ") : ", out);
		}
		for (inner = same; inner < n && m[inner]->start < first->end; inner++) {
			if (m[inner]->end <= first->end)
				continue;
			fprintf(stderr, "switches: mutations %d and %d overlap\n", first->number,
				m[inner]->number);
			failed = true;
			return;
		}
		fputs(statement ? "else { " : "(", out);
		put(out, text, first->start, first->end, m + same, inner - same);
		fputs(statement ? " } }" : "))", out);
		from = first->end;
	}
	fwrite(text + from, 1, to - from, out);
}

static char *mutate(const char *path, const char *text, size_t size, size_t *length)
{
	struct mutation *mine[MAX_MUTATIONS] = { NULL };
	char *result = NULL;
	int n = 0;
	FILE *out;

	for (int i = 0; i < nmutations; i++) {
		if (strcmp(mutations[i].file, path) != 0)
			continue;
		find(&mutations[i], text, size);
		if (mutations[i].end)
			mine[n++] = &mutations[i];
	}
	qsort(mine, (size_t)n, sizeof(mine) / MAX_MUTATIONS, by_place);
	out = open_memstream(&result, length);
	if (!out)
		die("no memory");
	if (n)
		fprintf(out, "%s#line 1 \"%s\"\n", selector, path);
	put(out, text, 0, size, mine, n);
	if (!strcmp(path, DRIVER_MAIN))
		fputs(parameter, out);
	fclose(out);
	return result;
}

/* --------------------------------------------------------------------- files */

static void make_parents(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			die("%s: %s", path, strerror(errno));
		*slash = '/';
	}
}

static void copy(const char *source, const char *destination, const char *path)
{
	size_t size, length, before;
	char *from, *to, *text, *result, *old;
	struct stat st;
	FILE *f;

	if (asprintf(&from, "%s/%s", source, path) < 0 ||
	    asprintf(&to, "%s/%s", destination, path) < 0)
		die("no memory");
	text = read_file(from, &size);
	if (!text || stat(from, &st))
		die("%s: %s", from, strerror(errno));
	result = mutate(path, text, size, &length);
	old = read_file(to, &before);
	if (!old || before != length || memcmp(old, result, length) != 0) {
		make_parents(to);
		f = fopen(to, "w");
		if (!f || fwrite(result, 1, length, f) != length || fclose(f))
			die("%s: %s", to, strerror(errno));
	}
	if (chmod(to, st.st_mode & 0777))
		die("%s: %s", to, strerror(errno));
	free(old);
	free(result);
	free(text);
	free(from);
	free(to);
}

int main(int argc, char **argv)
{
	char *path = NULL;
	size_t room = 0;
	ssize_t n;

	if (argc != 4)
		die("usage: switches LIST SOURCE DESTINATION <PATHS");
	read_list(argv[1]);
	while ((n = getline(&path, &room, stdin)) > 0) {
		if (path[n - 1] == '\n')
			path[n - 1] = 0;
		copy(argv[2], argv[3], path);
	}
	free(path);
	for (int i = 0; i < nmutations; i++) {
		if (mutations[i].end || failed)
			continue;
		fprintf(stderr, "switches: mutation %d: there is no %s\n", mutations[i].number,
			mutations[i].file);
		failed = true;
	}
	return failed;
}
