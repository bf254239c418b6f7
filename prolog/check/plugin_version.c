/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_version.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

struct object {
    const unsigned char *at;
    size_t bytes;
};

/* Copies a part; false when it does not lie in the object. */
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

/* Where in the file an address is; false: nowhere. */
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

/* Of one table of symbols, whose names are at strings. */
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
        return nt_err_set(err, NT_ERR_INPUT, "no shared object of this machine");
    for (unsigned k = 0; k < head.e_shnum; k++) {
        Elf64_Shdr table, names;
        if (!take(&o, head.e_shoff + (uint64_t)k * sizeof table, &table, sizeof table))
            break;
        if (table.sh_type == SHT_DYNSYM &&
            take(&o, head.e_shoff + (uint64_t)table.sh_link * sizeof names, &names, sizeof names) &&
            find_version(&o, &head, &table, names.sh_offset, version))
            return 0;
    }
    return nt_err_set(err, NT_ERR_INPUT, "no plugin of Slurm: it has no plugin_version");
}
