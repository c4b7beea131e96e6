/* The note is among the segments that the loader has mapped, so no file is read. */
#include "base/build_id.h"

#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char id[2 * 64 + 1];

/* The build id among the notes of a segment, which are aligned as the segment is. */
static void read_notes(const char *at, const char *end, size_t align)
{
    ElfW(Nhdr) note;
    while (at + sizeof note <= end) {
        memcpy(&note, at, sizeof note);
        const char *name = at + sizeof note;
        const char *content = name + (note.n_namesz + align - 1) / align * align;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(name, "GNU", sizeof "GNU") == 0 && 2 * note.n_descsz < sizeof id) {
            for (size_t i = 0; i < note.n_descsz; ++i) {
                (void)snprintf(id + 2 * i, 3, "%02x", (unsigned char)content[i]);
            }
        }
        at = content + (note.n_descsz + align - 1) / align * align;
    }
}

/* Ends with the object that holds this code. */
static int read_object(struct dl_phdr_info *object, size_t size, void *unused)
{
    const uintptr_t here = (uintptr_t)&id;
    bool own = false;
    (void)size, (void)unused;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        const uintptr_t from = object->dlpi_addr + p->p_vaddr;
        own = own || (p->p_type == PT_LOAD && here >= from && here - from < p->p_memsz);
    }
    for (int i = 0; own && i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) *p = &object->dlpi_phdr[i];
        const char *notes = (const char *)(object->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_NOTE) read_notes(notes, notes + p->p_memsz, p->p_align == 8 ? 8 : 4);
    }
    return own;
}

static void read_id(void)
{
    (void)dl_iterate_phdr(read_object, NULL);
}

const char *cs_build_id(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_id);
    return id;
}
