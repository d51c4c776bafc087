/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A JSON reader that builds a tree, sufficient for the daemon's output. */
#ifndef STATUS_JSON_H
#define STATUS_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json {
	enum json_type type;
	/* In an object: the member's name. */
	char *name;
	/* The value of BOOL, and of NUMBER if it is an integer that fits. */
	unsigned long long number;
	/* The value of STRING; the text of NUMBER. */
	char *text;
	/* Elements of ARRAY and OBJECT. */
	struct json *first;
	struct json *next;
};

/* Returns NULL if the text is not JSON, or there is no memory. */
struct json *json_read(const char *text, size_t length);
void json_free(struct json *json);

/* Accessors. If the member does not exist, they return NULL, 0 or "". */
const struct json *json_get(const struct json *object, const char *name);
unsigned long long json_number(const struct json *object, const char *name);
const char *json_text(const struct json *object, const char *name);
const struct json *json_first(const struct json *object, const char *name);
size_t json_count(const struct json *object, const char *name);

#endif /* STATUS_JSON_H */
