/* SPDX-License-Identifier: Apache-2.0
 * The reader of JSON documents accepts what RFC 8259 allows and refuses everything else, at the place of the fault. */
#include "bench/report/json.h"

#include <math.h>

#include "tests/check.h"

static const struct {
  const char *text, *why; /* why: NULL: it is accepted */
} cases[] = {
    {"{}", NULL},
    {" [ ] \n", NULL},
    {"\xef\xbb\xbf{}", NULL}, /* a byte order mark */
    {"null", NULL},
    {"-0.5e+3", NULL},
    {"[0, 1e9, -1.25E-7, 0.5]", NULL},
    {"\"\\u20ac \\ud83d\\udc09 \\n\"", NULL},
    {"{\"a\": {\"b\": [1, {\"c\": false}]}}", NULL},
    {"", "line 1, column 1: the document ends too early"},
    {"  \n  ", "line 2, column 3: the document ends too early"},
    {"{} x", "line 1, column 4: there is text after the document"},
    {"{\n  \"a\" 1\n}", "line 2, column 7: a colon is expected"},
    {"{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: a comma or the closing bracket is expected"},
    {"[1,]", "line 1, column 4: a value is expected"},
    {"{\"a\": 1,}", "line 1, column 9: a text in double quotes is expected"},
    {"{a: 1}", "line 1, column 2: a text in double quotes is expected"},
    {"[1 2]", "line 1, column 4: a comma or the closing bracket is expected"},
    {"[1", "line 1, column 3: a comma or the closing bracket is expected"},
    {"[01]", "line 1, column 3: a comma or the closing bracket is expected"},
    {"[+1]", "line 1, column 2: a value is expected"},
    {"[.5]", "line 1, column 2: a value is expected"},
    {"[1.]", "line 1, column 4: a digit is expected"},
    {"[1e]", "line 1, column 4: a digit is expected"},
    {"[-]", "line 1, column 3: a digit is expected"},
    {"[1e999]", "line 1, column 7: the number is too large"},
    {"[NaN]", "line 1, column 2: a value is expected"},
    {"[nul]", "line 1, column 2: a value is expected"},
    {"[True]", "line 1, column 2: a value is expected"},
    {"['a']", "line 1, column 2: a value is expected"},
    {"\"a", "line 1, column 3: the text has no end"},
    {"\"a\\x\"", "line 1, column 4: \\ is followed by no character that JSON escapes"},
    {"\"\\u12g4\"", "line 1, column 6: four hexadecimal digits are expected after \\u"},
    {"\"\\u12", "line 1, column 6: four hexadecimal digits are expected after \\u"},
    {"\"a\tb\"", "line 1, column 3: a control character in a text must be escaped"},
    {"\"\xc3\xa4\xff\"", "line 1, column 3: this is not UTF-8"}, /* columns count characters */
    {"\"\xc3\"", "line 1, column 2: this is not UTF-8"},
    {"\"\xed\xa0\x80\"", "line 1, column 2: this is not UTF-8"},
    {"// {}", "line 1, column 1: a value is expected"},
};

static void check_cases(void) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    json_document document;
    char why[JSON_WHY] = "";
    const size_t bytes = strlen(cases[i].text);
    char *const exact = malloc(bytes + !bytes); /* without a NUL at the end, so that a sanitizer sees reads beyond it */
    if (!exact) abort();
    memcpy(exact, cases[i].text, bytes);
    const bool fine = json_read(exact, bytes, &document, why);
    CHECK(fine == !cases[i].why, "%s: %s", cases[i].text, fine ? "accepted" : why);
    CHECK(fine || !cases[i].why || strcmp(why, cases[i].why) == 0, "%s: %s", cases[i].text, why);
    if (fine) json_free(&document);
    free(exact);
  }
}

static void check_values(void) {
  static const char text[] =
      "{\"t\": \"\\u0041\\u00e4\\u20ac\\ud83d\\udc09\\ud83dx\\u0000\\/\", \"n\": -12.5, \"c\": 3, \"f\": true, \"f\": "
      "false,"
      " \"l\": [1, 2, 3], \"o\": {\"x\": null}}";
  json_document document;
  char why[JSON_WHY];
  if (!json_read(text, strlen(text), &document, why)) {
    CHECK(false, "%s", why);
    return;
  }
  const json_value *const root = document.root;
  CHECK(strcmp(json_text(root, "t"), "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x89\xef\xbf\xbdx\xef\xbf\xbd/") == 0, "%s",
        json_text(root, "t"));
  CHECK(json_number(root, "n") == -12.5 && json_count(root, "n") == 0, "%g", json_number(root, "n"));
  CHECK(json_count(root, "c") == 3, "%zu", json_count(root, "c"));
  CHECK(json_flag(root, "f"), "of two members of one name the second counts");
  CHECK(json_get(root, "l")->count == 3 && json_list(root, "l")->next->next->number == 3, "the list is another");
  CHECK(json_get(json_get(root, "o"), "x")->kind == JSON_NULL, "null is something else");
  /* What is missing or of another type gives a neutral value. */
  CHECK(!json_get(root, "z") && !json_get(NULL, "z") && !json_get(json_list(root, "l"), "z"), "something is found");
  CHECK(!*json_text(root, "n") && !*json_text(root, "z") && !*json_text(NULL, "z"), "a text is found");
  CHECK(isnan(json_number(root, "t")) && isnan(json_number(root, "o")), "a number is found");
  CHECK(!json_list(root, "o") && !json_list(root, "t") && !json_flag(root, "n"), "a list or a flag is found");
  json_free(&document);
}

static void check_depth(void) {
  char text[2 * JSON_DEEPEST + 3], why[JSON_WHY];
  json_document document;
  memset(text, '[', JSON_DEEPEST);
  memset(text + JSON_DEEPEST, ']', JSON_DEEPEST);
  const bool fine = json_read(text, 2 * JSON_DEEPEST, &document, why);
  CHECK(fine, "%s", why);
  if (fine) json_free(&document);
  memset(text, '[', JSON_DEEPEST + 1);
  memset(text + JSON_DEEPEST + 1, ']', JSON_DEEPEST + 1);
  CHECK(!json_read(text, 2 * JSON_DEEPEST + 2, &document, why), "%d levels are accepted", JSON_DEEPEST + 1);
}

int main(void) {
  check_cases();
  check_values();
  check_depth();
  return checks_end("json_test");
}
