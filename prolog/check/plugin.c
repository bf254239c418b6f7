/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm_conf.h"

/* ---- plugstack ---- */

enum { DEPTH_MAX = 4, FILES_MAX = 256 };

struct search {
    struct nt_plugstack_entry *entry;
    unsigned files;
};

static int search_file(struct search *s, const char *path, unsigned depth);

/* A relative pattern is relative to the including file. */
static int search_included(struct search *s, const char *from, const char *pattern, unsigned depth)
{
    char whole[NT_PLUGSTACK_PATH_BYTES];
    const char *slash = strrchr(from, '/');
    glob_t found;
    int dir = pattern[0] == '/' || slash == NULL ? 0 : (int)(slash - from) + 1;
    if (snprintf(whole, sizeof whole, "%.*s%s", dir, from, pattern) >= (int)sizeof whole ||
        glob(whole, GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    int got = 0;
    for (size_t k = 0; k < found.gl_pathc && got <= 0 && s->files < FILES_MAX; k++)
        got = search_file(s, found.gl_pathv[k], depth + 1);
    globfree(&found);
    return got > 0;
}

static bool is_ours(const char *plugin)
{
    const char *slash = strrchr(plugin, '/');
    return strcmp(slash != NULL ? slash + 1 : plugin, "spank_nettopo.so") == 0;
}

/* Reads a line "optional|required PLUGIN [ARGUMENT...]" or "include PATTERN". */
static int search_line(struct search *s, const char *path, char *line, unsigned depth)
{
    char *rest = line, *word[8];
    size_t words = 0;
    line[strcspn(line, "#")] = '\0';
    for (char *at; words < 8 && (at = strsep(&rest, " \t\r")) != NULL;)
        if (at[0] != '\0')
            word[words++] = at;
    if (words < 2)
        return 0;
    if (strcmp(word[0], "include") == 0)
        return depth < DEPTH_MAX ? search_included(s, path, word[1], depth) : 0;
    if (!is_ours(word[1]))
        return 0;
    struct nt_plugstack_entry *e = s->entry;
    *e = (struct nt_plugstack_entry){.required = strcmp(word[0], "required") == 0};
    snprintf(e->file, sizeof e->file, "%s", path);
    snprintf(e->plugin, sizeof e->plugin, "%s", word[1]);
    for (size_t k = 2; k < words; k++)
        if (strncmp(word[k], "conf=", 5) == 0)
            snprintf(e->conf, sizeof e->conf, "%s", word[k] + 5);
    return 1;
}

static int search_file(struct search *s, const char *path, unsigned depth)
{
    size_t bytes;
    char *text = nt_slurm_conf_load(path, &bytes);
    if (text == NULL)
        return -1;
    s->files++;
    int got = 0;
    for (size_t at = 0; at < bytes && got == 0;) {
        char line[2 * NT_PLUGSTACK_PATH_BYTES];
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t n = end != NULL ? (size_t)(end - text) - at : bytes - at;
        size_t kept = n < sizeof line ? n : sizeof line - 1;
        memcpy(line, text + at, kept);
        line[kept] = '\0';
        got = search_line(s, path, line, depth);
        at += n + 1;
    }
    free(text);
    return got;
}

int nt_plugstack_find(const char *path, struct nt_plugstack_entry *entry, struct nt_err *err)
{
    struct search s = {.entry = entry};
    int got = search_file(&s, path, 0);
    return got >= 0 ? got : nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
}

/* ---- plugin version ---- */

struct object {
    const unsigned char *at;
    size_t bytes;
};

/* Copies a part of the object; false if the part is outside it. */
static bool take(const struct object *o, uint64_t offset, void *to, size_t bytes)
{
    if (offset > o->bytes || bytes > o->bytes - offset)
        return false;
    memcpy(to, o->at + offset, bytes);
    return true;
}

static bool is_named(const struct object *o, uint64_t offset, const char *name)
{
    char text[32];
    size_t bytes = strlen(name) + 1;
    return bytes <= sizeof text && take(o, offset, text, bytes) && memcmp(text, name, bytes) == 0;
}

/* Converts an address to an offset in the file; false: there is none. */
static bool find_address(const struct object *o, const Elf64_Ehdr *head, uint64_t address,
                         uint64_t *offset)
{
    Elf64_Phdr part;
    for (unsigned k = 0; k < head->e_phnum; k++) {
        if (!take(o, head->e_phoff + (uint64_t)k * sizeof part, &part, sizeof part))
            return false;
        if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
            address - part.p_vaddr < part.p_filesz) {
            *offset = part.p_offset + (address - part.p_vaddr);
            return true;
        }
    }
    return false;
}

/* Searches one symbol table, whose names are at strings. */
static bool find_version(const struct object *o, const Elf64_Ehdr *head, const Elf64_Shdr *table,
                         uint64_t strings, uint32_t *version)
{
    Elf64_Sym symbol;
    for (uint64_t at = 0; at + sizeof symbol <= table->sh_size; at += sizeof symbol) {
        uint64_t offset;
        if (!take(o, table->sh_offset + at, &symbol, sizeof symbol))
            return false;
        if (symbol.st_size == sizeof *version &&
            is_named(o, strings + symbol.st_name, "plugin_version") &&
            find_address(o, head, symbol.st_value, &offset))
            return take(o, offset, version, sizeof *version);
    }
    return false;
}

int nt_plugin_version_read(const void *object, size_t bytes, uint32_t *version, struct nt_err *err)
{
    const struct object o = {object, bytes};
    static const unsigned one = 1;
    const unsigned char order = *(const unsigned char *)&one == 1 ? ELFDATA2LSB : ELFDATA2MSB;
    Elf64_Ehdr head;
    if (!take(&o, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != order ||
        head.e_type != ET_DYN)
        return nt_err_set(err, NT_ERR_INPUT, "not a shared object for this machine");
    for (unsigned k = 0; k < head.e_shnum; k++) {
        Elf64_Shdr table, names;
        if (!take(&o, head.e_shoff + (uint64_t)k * sizeof table, &table, sizeof table))
            break;
        if (table.sh_type == SHT_DYNSYM &&
            take(&o, head.e_shoff + (uint64_t)table.sh_link * sizeof names, &names, sizeof names) &&
            find_version(&o, &head, &table, names.sh_offset, version))
            return 0;
    }
    return nt_err_set(err, NT_ERR_INPUT, "not a Slurm plugin: it has no plugin_version");
}
