/* SPDX-License-Identifier: Apache-2.0 */
/* What nettopo.conf(5) and spank_nettopo(8) state of keys and items, against the program: each key
 * has its default in parentheses, and "from A to B" is what it takes. The figures of all pages are
 * held by tests/house stated. */
#include <ctype.h>

#include "asserts.h"
#include "conf.h"
#include "option.h"

enum { TEXT_MAX = 65536, KEYS = 33 };

/* A text of the tree without roff's font changes and escapes. */
static char *page(const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        skip(); /* not started from the top of the tree */
    char *text = calloc(1, TEXT_MAX);
    assert_non_null(text);
    size_t bytes = fread(text, 1, TEXT_MAX - 1, file), out = 0;
    fclose(file);
    for (size_t k = 0; k < bytes; k++) {
        if (text[k] == '\\' && text[k + 1] == 'f') {
            k += 2;
            continue;
        }
        if (text[k] != '\\')
            text[out++] = text[k];
    }
    text[out] = '\0';
    return text;
}

struct key {
    char name[32], value[64];
    const char *words, *end; /* of its entry */
};

/* Entries begin with .BR KEY " = ... (DEFAULT)". */
static size_t read_keys(const char *text, struct key key[KEYS])
{
    size_t n = 0;
    for (const char *at = strstr(text, ".TP\n.BR "); at != NULL; at = strstr(at + 1, ".TP\n.BR ")) {
        const char *line = at + strlen(".TP\n.BR "), *next = strstr(at + 1, "\n.TP\n");
        const char *open = NULL, *stop = strchr(line, '\n');
        assert_non_null(stop);
        for (const char *c = line; c < stop; c++)
            open = *c == '(' ? c : open;
        if (strncmp(line, "prolog \"", 8) == 0)
            continue; /* where they were installed */
        assert_below(n, KEYS);
        struct key *k = &key[n++];
        if (open == NULL ||
            sscanf(line, "%31[a-z_] \" =", k->name) != 1 || /* the default is what is in () */
            sscanf(open, "(%63[^)])", k->value) != 1)
            fail_msg("no key and default: %.*s", (int)(stop - line), line);
        if (strcmp(k->value, "empty") == 0)
            k->value[0] = '\0';
        k->words = stop;
        k->end = next != NULL ? next : strstr(stop, "\n.PP");
    }
    return n;
}

static bool takes(const char *name, const char *value)
{
    struct nt_conf conf;
    char line[128];
    nt_conf_default(&conf);
    /* the one budget must not be above the other */
    const char *other = strcmp(name, "budget_default") == 0 ? "budget_max = 3600\n"
                        : strcmp(name, "budget_max") == 0   ? "budget_default = 0.1\n"
                                                            : "";
    int bytes = snprintf(line, sizeof line, "%s%s = %s\n", other, name, value);
    return nt_conf_parse("f", line, (size_t)bytes, &conf, &err) == 0;
}

/* The number that is one step of its last digit away. */
static void beside(const char *number, int step, char text[32])
{
    const char *point = strchr(number, '.');
    int places = point == NULL ? 0 : (int)strlen(point + 1);
    double unit = 1;
    for (int k = 0; k < places; k++)
        unit /= 10;
    snprintf(text, 32, "%.*f", places, strtod(number, NULL) + step * unit);
}

static void holds_bounds(const char *name, const char *low, const char *high)
{
    char below[32], above[32];
    beside(low, -1, below);
    beside(high, 1, above);
    if (!takes(name, low) || !takes(name, high))
        fail_msg("%s: from %s to %s is stated, and not taken", name, low, high);
    if (takes(name, above) || (below[0] != '-' && takes(name, below)))
        fail_msg("%s: from %s to %s is stated, and more is taken", name, low, high);
}

TEST(the_manual_has_the_defaults_of_the_installed_file)
{
    char *manual = page("etc/man/nettopo.conf.5"), *file = page("etc/nettopo.conf");
    struct key key[KEYS];
    size_t n = read_keys(manual, key), installed = 0;
    assert_int_equal(n, KEYS - 2);
    for (size_t k = 0; k < n; k++) {
        char line[128];
        snprintf(line, sizeof line, "\n#%s =%s%s\n", key[k].name, *key[k].value != '\0' ? " " : "",
                 key[k].value);
        if (strstr(file, line) == NULL)
            fail_msg("nettopo.conf(5) says %s = %s, etc/nettopo.conf does not", key[k].name,
                     key[k].value);
        assert_true(takes(key[k].name, key[k].value));
    }
    for (const char *at = strstr(file, "\n#"); at != NULL; at = strstr(at + 1, "\n#"))
        installed += islower((unsigned char)at[2]) ? 1 : 0;
    assert_int_equal(installed, KEYS);
    free(manual);
    free(file);
}

TEST(bounds_are_what_is_taken)
{
    char *manual = page("etc/man/nettopo.conf.5"), low[32], high[32];
    struct key key[KEYS];
    size_t n = read_keys(manual, key), bounds = 0;
    for (size_t k = 0; k < n; k++)
        for (const char *at = strstr(key[k].words, "from "); at != NULL && at < key[k].end;
             at = strstr(at + 1, "from ")) {
            if (sscanf(at, "from %31[0-9.]%*[^0-9]%31[0-9.]", low, high) != 2)
                continue;
            size_t bytes = strlen(high);
            if (high[bytes - 1] == '.')
                high[bytes - 1] = '\0'; /* of the sentence */
            holds_bounds(key[k].name, low, high);
            bounds++;
        }
    assert_int_equal(bounds, 7);
    free(manual);
}

static bool option_takes(const char *text)
{
    struct nt_option option;
    return nt_option_parse(text, &option, &err) == 0;
}

TEST(items_have_the_defaults_that_are_stated)
{
    char *manual = page("etc/man/spank_nettopo.8"), words[64];
    struct nt_option option;
    must(nt_option_parse(NULL, &option, &err));
    snprintf(words, sizeof words, ".BR %s \" (default)\"", nt_level_name(option.level));
    assert_non_null(strstr(manual, words));
    snprintf(words, sizeof words, ".BR %.30s \" (default), \"", option.pattern);
    assert_non_null(strstr(manual, words));
    assert_int_equal(option.sweep, NT_SWEEP_AUTO);
    assert_non_null(strstr(manual, ".BR auto \" (default)\""));
    assert_true(option_takes("budget=0.1") && option_takes("budget=3600"));
    assert_false(option_takes("budget=0.09") || option_takes("budget=3600.1"));
    free(manual);
}

RUN_TESTS
