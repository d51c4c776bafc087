// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* More than the daemon's nesting, and little enough for any stack. */
#define MAX_DEPTH 32

struct reader {
	const char *at;
	const char *end;
	int depth;
};

static struct json *read_value(struct reader *r);

static void skip_space(struct reader *r)
{
	while (r->at < r->end && strchr(" \t\r\n", *r->at))
		r->at++;
}

/* If the text continues with this word, consume it. */
static bool take(struct reader *r, const char *word)
{
	size_t length = strlen(word);

	skip_space(r);
	if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
		return false;
	r->at += length;
	return true;
}

static struct json *new_json(enum json_type type)
{
	struct json *json = calloc(1, sizeof(*json));

	if (json)
		json->type = type;
	return json;
}

/* The daemon writes \u escapes for control characters only; they are shown as '?'. */
static bool read_escape(struct reader *r, char *to)
{
	static const char from[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
	const char *simple;

	if (r->at == r->end)
		return false;
	if (*r->at == 'u') {
		char digits[5] = { 0 };

		if (r->end - r->at < 5)
			return false;
		memcpy(digits, r->at + 1, 4);
		r->at += 5;
		*to = '?';
		return strspn(digits, "0123456789abcdefABCDEF") == 4;
	}
	simple = strchr(from, *r->at++);
	if (!simple || !*simple)
		return false;
	*to = meaning[simple - from];
	return true;
}

/* Read a string after its opening quote. Returns a copy, or NULL. */
static char *read_string(struct reader *r)
{
	/* The escaped text is never shorter than its meaning. */
	const char *close = r->at;
	char *text, *to;

	while (close < r->end && *close != '"')
		close += *close == '\\' ? 2 : 1;
	if (close >= r->end)
		return NULL;
	text = malloc((size_t)(close - r->at) + 1);
	if (!text)
		return NULL;
	for (to = text; r->at < close; to++) {
		*to = *r->at++;
		if (*to == '\\' && !read_escape(r, to)) {
			free(text);
			return NULL;
		}
	}
	*to = '\0';
	r->at++;
	return text;
}

static struct json *read_number(struct reader *r)
{
	size_t length = 0;
	struct json *json = new_json(JSON_NUMBER);

	while (r->at + length < r->end && strchr("+-.0123456789eE", r->at[length]))
		length++;
	if (json && length)
		json->text = strndup(r->at, length);
	if (!json || !json->text) {
		json_free(json);
		return NULL;
	}
	json->number = strtoull(json->text, NULL, 10);
	r->at += length;
	return json;
}

static bool read_member_name(struct reader *r, char **name)
{
	if (!take(r, "\""))
		return false;
	*name = read_string(r);
	return *name && take(r, ":");
}

/* Read an array or an object after its opening bracket. */
static struct json *read_list(struct reader *r, enum json_type type)
{
	const char *close = type == JSON_OBJECT ? "}" : "]";
	struct json *list = new_json(type);
	struct json **link = list ? &list->first : NULL;
	char *name = NULL;

	if (!list || take(r, close))
		return list;
	do {
		if (type == JSON_OBJECT && !read_member_name(r, &name))
			goto err;
		*link = read_value(r);
		if (!*link)
			goto err;
		(*link)->name = name;
		name = NULL;
		link = &(*link)->next;
	} while (take(r, ","));
	if (take(r, close))
		return list;
err:
	free(name);
	json_free(list);
	return NULL;
}

static struct json *read_one(struct reader *r)
{
	struct json *json;

	if (take(r, "{"))
		return read_list(r, JSON_OBJECT);
	if (take(r, "["))
		return read_list(r, JSON_ARRAY);
	if (take(r, "null"))
		return new_json(JSON_NULL);
	if (take(r, "false"))
		return new_json(JSON_BOOL);
	if (take(r, "true")) {
		json = new_json(JSON_BOOL);
		if (json)
			json->number = 1;
		return json;
	}
	if (!take(r, "\""))
		return read_number(r);
	json = new_json(JSON_STRING);
	if (json)
		json->text = read_string(r);
	if (json && json->text)
		return json;
	json_free(json);
	return NULL;
}

static struct json *read_value(struct reader *r)
{
	struct json *json;

	if (r->depth == MAX_DEPTH)
		return NULL;
	r->depth++;
	json = read_one(r);
	r->depth--;
	return json;
}

struct json *json_read(const char *text, size_t length)
{
	struct reader r = { .at = text, .end = text + length };
	struct json *json = read_value(&r);

	skip_space(&r);
	if (json && r.at != r.end) {
		json_free(json);
		return NULL;
	}
	return json;
}

void json_free(struct json *json)
{
	while (json) {
		struct json *next = json->next;

		json_free(json->first);
		free(json->name);
		free(json->text);
		free(json);
		json = next;
	}
}

/* ---------------------------------------------------------------- accessors */

const struct json *json_get(const struct json *object, const char *name)
{
	const struct json *json = object ? object->first : NULL;

	while (json && (!json->name || strcmp(json->name, name) != 0))
		json = json->next;
	return json;
}

unsigned long long json_number(const struct json *object, const char *name)
{
	const struct json *json = json_get(object, name);

	return json ? json->number : 0;
}

const char *json_text(const struct json *object, const char *name)
{
	const struct json *json = json_get(object, name);

	return json && json->text ? json->text : "";
}

const struct json *json_first(const struct json *object, const char *name)
{
	const struct json *json = json_get(object, name);

	return json ? json->first : NULL;
}

size_t json_count(const struct json *object, const char *name)
{
	const struct json *json;
	size_t count = 0;

	for (json = json_first(object, name); json; json = json->next)
		count++;
	return count;
}
