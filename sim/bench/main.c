// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* vnet-sim-bench: runs the papers' experiments and prints text, JSON and plots. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <strings.h>
#include <unistd.h>

#include "bench.h"

#define BAR 50

static const struct experiment *const experiments[] = {
	&experiment_e2,  &experiment_e4,  &experiment_e5,  &experiment_e6,
	&experiment_e7,  &experiment_e8,  &experiment_e9,  &experiment_e10,
	&experiment_e11, &experiment_e16, &experiment_e25, &experiment_incast,
};

#define EXPERIMENTS (sizeof(experiments) / sizeof(experiments[0]))

static const char help[] =
	"vnet bench sim [--json] [--plot DIRECTORY] [--list] [E4 ...]\n"
	"\n"
	"The papers' experiments in the simulator (all, or those that are named), beside what\n"
	"was published: figures in virtual time, the same on any machine.\n"
	"\n"
	"  --json            as JSON\n"
	"  --plot DIRECTORY  write each one's figures (.dat) and a gnuplot script (.gp) there,\n"
	"                    and run gnuplot, if it is there, for .png and .svg\n"
	"  --list            which there are\n";

/* --------------------------------------------------------------------- reports */

void report_row(struct report *r, const char *label, const double *cells)
{
	if (r->rows == MAX_ROWS)
		return;
	r->label[r->rows] = label;
	memcpy(r->cell[r->rows++], cells, r->columns * sizeof(*cells));
}

void report_verdict(struct report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->verdict, sizeof(r->verdict), format, args);
	va_end(args);
}

static void print_number(double x)
{
	if (x == (double)(long long)x && x < 1e9 && x > -1e9)
		printf(" %14.0f", x);
	else
		printf(" %14.*f", x < 10 ? 3 : x < 1000 ? 2 : 1, x);
}

/* Print a bar for each row, scaled to the largest one. */
static void print_bars(const struct report *r, u32 column)
{
	double most = 0;
	u32 i, j, n;

	for (i = 0; i < r->rows; i++)
		most = r->cell[i][column] > most ? r->cell[i][column] : most;
	if (most <= 0)
		return;
	printf("  %s\n", r->column[column]);
	for (i = 0; i < r->rows; i++) {
		if (r->label[i])
			printf("  %14s |", r->label[i]);
		else
			printf("  %14g |", r->cell[i][0]);
		n = (u32)(r->cell[i][column] / most * BAR + 0.5);
		for (j = 0; j < n; j++)
			putchar('#');
		putchar('\n');
	}
}

static void print_text(const struct report *r)
{
	u32 i, j;

	printf("%s: %s\n", r->name, r->title);
	printf("  published: %s\n\n ", r->published);
	for (j = 0; j < r->columns; j++)
		printf(" %14s", r->column[j]);
	putchar('\n');
	for (i = 0; i < r->rows; i++) {
		printf(" ");
		for (j = 0; j < r->columns; j++) {
			if (!j && r->label[i])
				printf(" %14s", r->label[i]);
			else
				print_number(r->cell[i][j]);
		}
		putchar('\n');
	}
	putchar('\n');
	for (i = 0; i < r->plots; i++)
		print_bars(r, r->plot[i]);
	printf("\n  %s\n\n", r->verdict);
}

static void print_json(const struct report *r, bool first)
{
	u32 i, j;

	printf("%s\n  {\"name\": \"%s\", \"title\": \"%s\",\n   \"published\": \"%s\",\n"
	       "   \"verdict\": \"%s\",\n   \"rows\": [",
	       first ? "" : ",", r->name, r->title, r->published, r->verdict);
	for (i = 0; i < r->rows; i++) {
		printf("%s\n    {", i ? "," : "");
		for (j = 0; j < r->columns; j++) {
			printf("%s\"%s\": ", j ? ", " : "", r->column[j]);
			if (!j && r->label[i])
				printf("\"%s\"", r->label[i]);
			else
				printf("%.6g", r->cell[i][j]);
		}
		printf("}");
	}
	printf("\n   ]}");
}

static FILE *plot_file(const char *directory, const char *name, const char *suffix)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", directory, name, suffix);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static void write_data(const struct report *r, const char *directory)
{
	FILE *file = plot_file(directory, r->name, "dat");
	u32 i, j;

	for (i = 0; i < r->rows; i++) {
		for (j = 0; j < r->columns; j++) {
			if (!j && r->label[i])
				fprintf(file, "\"%s\" ", r->label[i]);
			else
				fprintf(file, "%.6g ", r->cell[i][j]);
		}
		fprintf(file, "\n");
	}
	fclose(file);
}

static void write_plot(const struct report *r, const char *directory)
{
	FILE *file;
	u32 i;

	write_data(r, directory);
	file = plot_file(directory, r->name, "gp");
	fprintf(file,
		"set terminal png size 900,600\nset output '%s.png'\nset title \"%s: %s\"\n"
		"set xlabel '%s'\nset yrange [0:*]\nset key outside bottom\nset grid\n",
		r->name, r->name, r->title, r->column[0]);
	if (r->label[0])
		fprintf(file, "set style data histogram\nset style fill solid\n");
	for (i = 0; i < r->plots; i++) {
		fprintf(file, "%s'%s.dat' using ", i ? ", " : "plot ", r->name);
		if (r->label[0])
			fprintf(file, "%u:xtic(1)", r->plot[i] + 1);
		else
			fprintf(file, "1:%u with linespoints", r->plot[i] + 1);
		fprintf(file, " title '%s'", r->column[r->plot[i]]);
	}
	fprintf(file,
		"\nset terminal svg size 900,600 dynamic background 'white'\n"
		"set output '%s.svg'\nreplot\n",
		r->name);
	fclose(file);
}

static void run_gnuplot(const struct report *r, const char *directory)
{
	char command[1100];

	snprintf(command, sizeof(command),
		 "cd '%s' && command -v gnuplot >/dev/null && gnuplot '%s.gp'", directory, r->name);
	if (!strchr(directory, '\'') && system(command))
		fprintf(stderr, "vnet-sim-bench: no gnuplot: %s/%s.gp waits for one\n", directory,
			r->name);
}

/* ------------------------------------------------------------------------ main */

/* Index of the experiment with this name, or EXPERIMENTS if there is none. */
static u32 find(const char *name)
{
	u32 i;

	for (i = 0; i < EXPERIMENTS; i++) {
		if (!strcasecmp(experiments[i]->name, name))
			break;
	}
	return i;
}

static void list(void)
{
	u32 i;

	for (i = 0; i < EXPERIMENTS; i++)
		printf("%-4s %s\n", experiments[i]->name, experiments[i]->about);
}

/* The command line. */
struct orders {
	bool wanted[EXPERIMENTS];
	bool any;
	bool json;
	const char *plots;
};

static void understand(struct orders *o, int argc, char **argv)
{
	int i;
	u32 n;

	for (i = 1; i < argc; i++) {
		n = find(argv[i]);
		if (n < EXPERIMENTS) {
			o->wanted[n] = true;
			o->any = true;
		} else if (!strcmp(argv[i], "--help")) {
			fputs(help, stdout);
			exit(0);
		} else if (!strcmp(argv[i], "--list")) {
			list();
			exit(0);
		} else if (!strcmp(argv[i], "--json")) {
			o->json = true;
		} else if (!strcmp(argv[i], "--plot") && i + 1 < argc) {
			o->plots = argv[++i];
		} else {
			fprintf(stderr,
				"vnet-sim-bench: what is '%s'? see: vnet bench sim --help\n",
				argv[i]);
			exit(2);
		}
	}
}

static void conduct(const struct orders *o, const struct experiment *e, bool first)
{
	struct report report;

	memset(&report, 0, sizeof(report));
	report.name = e->name;
	e->run(&report);
	if (o->json)
		print_json(&report, first);
	else
		print_text(&report);
	fflush(stdout);
	if (o->plots) {
		/* If mkdir() fails, plot_file() reports it. */
		(void)mkdir(o->plots, 0777);
		write_plot(&report, o->plots);
		run_gnuplot(&report, o->plots);
	}
}

int main(int argc, char **argv)
{
	struct orders orders = { .json = false };
	bool first = true;
	u32 n;

	understand(&orders, argc, argv);
	if (orders.json)
		printf("[");
	for (n = 0; n < EXPERIMENTS; n++) {
		if (orders.any && !orders.wanted[n])
			continue;
		conduct(&orders, experiments[n], first);
		first = false;
	}
	if (orders.json)
		printf("\n]\n");
	return 0;
}
