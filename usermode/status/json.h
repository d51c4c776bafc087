/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Reading JSON into a tree, enough for what the daemon writes. */
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
	/* BOOL, and NUMBER where it is an integer that fits. */
	unsigned long long number;
	/* STRING; NUMBER as it was written. */
	char *text;
	/* ARRAY, OBJECT. */
	struct json *first;
	struct json *next;
};

/* NULL: it is not JSON, or there is no memory. */
struct json *json_read(const char *text, size_t length);
void json_free(struct json *json);

/* Accessors that answer nothing (NULL, 0, "") where nothing is. */
const struct json *json_get(const struct json *object, const char *name);
unsigned long long json_number(const struct json *object, const char *name);
const char *json_text(const struct json *object, const char *name);
const struct json *json_first(const struct json *object, const char *name);
size_t json_count(const struct json *object, const char *name);

#endif /* STATUS_JSON_H */
