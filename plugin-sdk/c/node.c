/* Files and directories of the node, for checks. The C library reads them through WASI. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#ifdef CONTRACT_CHECK

/* Bytes of a piece: what the host returns at most. */
#define READ_BYTES (64u << 10)

/* Sets the error of the context, and returns the outcome. */
static plumbline_access failed(plumbline_context *context, plumbline_text path, plumbline_access access, const char *cause) {
    plumbline_clear(&context->error);
    plumbline_append_string(&context->error, "failed to read `");
    plumbline_append(&context->error, path);
    plumbline_append_string(&context->error, "`: ");
    plumbline_append_string(&context->error, cause);
    return access;
}

static plumbline_access failed_with(plumbline_context *context, plumbline_text path, int code) {
    switch (code) {
    case ENOENT:
        return failed(context, path, PLUMBLINE_NOT_FOUND, "it does not exist");
    case EACCES:
    case EPERM:
#ifdef ENOTCAPABLE
    case ENOTCAPABLE:
#endif
        return failed(context, path, PLUMBLINE_NOT_PERMITTED, "not permitted");
    default:
        return failed(context, path, PLUMBLINE_UNREADABLE, strerror(code));
    }
}

/* Finds the place of a path on disk. */
static plumbline_access locate(plumbline_context *context, plumbline_text path, char disk[PLUMBLINE_MAX_PATH]) {
    char name[PLUMBLINE_MAX_PATH];
    if (path.len >= sizeof name) return failed(context, path, PLUMBLINE_UNREADABLE, "the path is too long");
    if (path.len == 0 || path.ptr[0] != '/' || memchr(path.ptr, '\0', path.len) != NULL) {
        return failed(context, path, PLUMBLINE_NOT_GRANTED, "it is not an absolute path");
    }
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    switch (plumbline_locate(name, disk)) {
    case PLUMBLINE_READABLE:
        return PLUMBLINE_READABLE;
    case PLUMBLINE_NOT_GRANTED:
        return failed(context, path, PLUMBLINE_NOT_GRANTED, "no granted directory contains it");
    case PLUMBLINE_NOT_FOUND:
        return failed_with(context, path, ENOENT);
    default:
        return failed_with(context, path, EPERM);
    }
}

/* Opens a regular file or a directory. */
static plumbline_access open_path(plumbline_context *context, plumbline_text path, int flags, int *fd, struct stat *about) {
    char disk[PLUMBLINE_MAX_PATH];
    plumbline_access access = locate(context, path, disk);
    if (access != PLUMBLINE_READABLE) return access;
    if (stat(disk, about) != 0) return failed_with(context, path, errno);
    /* Opening a pipe would wait for its other end. */
    if (!S_ISREG(about->st_mode) && !S_ISDIR(about->st_mode)) return failed_with(context, path, EPERM);
    *fd = open(disk, O_RDONLY | flags);
    return *fd < 0 ? failed_with(context, path, errno) : PLUMBLINE_READABLE;
}

plumbline_access plumbline_read_attributes(plumbline_context *context, plumbline_text path, plumbline_attributes *attributes) {
    char disk[PLUMBLINE_MAX_PATH];
    plumbline_access access = locate(context, path, disk);
    if (access != PLUMBLINE_READABLE) return access;
    contract_string_t lowered = plumbline_lower(path), error = {NULL, 0};
    plumbline_plugin_ownership_option_attributes_t found;
    if (!plumbline_plugin_ownership_read(&lowered, &found, &error)) {
        access = PLUMBLINE_UNREADABLE;
        plumbline_clear(&context->error);
        plumbline_append(&context->error, plumbline_lift(error));
        contract_string_free(&error);
    } else if (!found.is_some) {
        access = failed_with(context, path, ENOENT);
    } else {
        *attributes = (plumbline_attributes){found.val.mode, found.val.uid, found.val.gid};
    }
    contract_string_free(&lowered);
    return access;
}

static plumbline_got next(plumbline_file *file) {
    ssize_t len;
    do {
        len = read(file->handle, file->piece, READ_BYTES);
    } while (len < 0 && errno == EINTR);
    if (len < 0) {
        file->error = plumbline_text_of(strerror(errno));
        return PLUMBLINE_BROKEN;
    }
    file->piece_len = (size_t)len;
    return len == 0 ? PLUMBLINE_END : PLUMBLINE_OK;
}

plumbline_access plumbline_open_file(plumbline_context *context, plumbline_text path, plumbline_file **file) {
    int fd;
    struct stat about;
    plumbline_access access = open_path(context, path, 0, &fd, &about);
    if (access != PLUMBLINE_READABLE) return access;
    if (S_ISDIR(about.st_mode)) {
        close(fd);
        return failed_with(context, path, EISDIR);
    }
    plumbline_file *opened = plumbline_grow(NULL, 1, sizeof *opened);
    char *name = plumbline_grow(NULL, path.len, 1);
    memcpy(name, path.ptr, path.len);
    *opened = (plumbline_file){.next = next, .handle = fd, .size = (uint64_t)about.st_size, .path = {name, path.len},
                               .state = PLUMBLINE_OK, .piece = plumbline_grow(NULL, READ_BYTES, 1)};
    *file = opened;
    return PLUMBLINE_READABLE;
}

void plumbline_close_file(plumbline_file *file) {
    close(file->handle);
    free(file->piece);
    free((char *)file->path.ptr);
    plumbline_free(&file->line);
    free(file);
}

plumbline_access plumbline_read_file(plumbline_context *context, plumbline_text path, plumbline_buffer *content) {
    plumbline_file *file;
    plumbline_clear(content);
    plumbline_access access = plumbline_open_file(context, path, &file);
    if (access != PLUMBLINE_READABLE) return access;
    plumbline_text piece;
    plumbline_got got;
    while (!content->cut && (got = plumbline_read(file, &piece)) == PLUMBLINE_OK) plumbline_append(content, piece);
    if (content->cut) {
        access = failed(context, path, PLUMBLINE_TOO_LARGE, "it is larger than the buffer may become");
    } else if (got == PLUMBLINE_BROKEN) {
        /* The error is a string of the C library. */
        access = failed(context, path, PLUMBLINE_UNREADABLE, plumbline_error(file).ptr);
    }
    plumbline_close_file(file);
    return access;
}

struct plumbline_directory {
    plumbline_context *context;
    DIR *stream;
    char *path;
};

plumbline_access plumbline_open_directory(plumbline_context *context, plumbline_text path, plumbline_directory **directory) {
    int fd;
    struct stat about;
    plumbline_access access = open_path(context, path, O_DIRECTORY, &fd, &about);
    if (access != PLUMBLINE_READABLE) return access;
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        int code = errno;
        close(fd);
        return failed_with(context, path, code);
    }
    plumbline_directory *opened = plumbline_grow(NULL, 1, sizeof *opened);
    char *name = plumbline_grow(NULL, path.len + 1, 1);
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    *opened = (plumbline_directory){context, stream, name};
    *directory = opened;
    return PLUMBLINE_READABLE;
}

plumbline_got plumbline_next_name(plumbline_directory *directory, plumbline_text *name) {
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory->stream);
        if (entry == NULL) {
            if (errno == 0) return PLUMBLINE_END;
            failed_with(directory->context, plumbline_text_of(directory->path), errno);
            return PLUMBLINE_BROKEN;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        *name = plumbline_text_of(entry->d_name);
        return PLUMBLINE_OK;
    }
}

void plumbline_close_directory(plumbline_directory *directory) {
    closedir(directory->stream);
    free(directory->path);
    free(directory);
}

#ifdef __wasi__

#include <wasi/api.h>

/* Whether a path is a directory, or in it. */
static bool contains(const char *directory, size_t len, const char *path) {
    while (len > 1 && directory[len - 1] == '/') len--;
    return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

plumbline_access plumbline_locate(const char *path, char disk[PLUMBLINE_MAX_PATH]) {
    char directory[PLUMBLINE_MAX_PATH];
    __wasi_prestat_t about;
    strcpy(disk, path);
    /* Descriptors from 3 on are granted directories, without gaps. */
    for (__wasi_fd_t fd = 3; __wasi_fd_prestat_get(fd, &about) == __WASI_ERRNO_SUCCESS; fd++) {
        size_t len = about.u.dir.pr_name_len;
        if (len >= sizeof directory) continue;
        if (__wasi_fd_prestat_dir_name(fd, (uint8_t *)directory, len) != __WASI_ERRNO_SUCCESS) continue;
        if (contains(directory, len, path)) return PLUMBLINE_READABLE;
    }
    return PLUMBLINE_NOT_GRANTED;
}

#endif
#endif
