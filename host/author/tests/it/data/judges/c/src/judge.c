#include <plumbline.h>
#include <string.h>

static bool is_in(plumbline_text list, plumbline_text name) {
    while (list.len > 0) {
        plumbline_text line = plumbline_cut(list, '\n', &list);
        if (line.len == name.len && memcmp(line.ptr, name.ptr, name.len) == 0) return true;
    }
    return false;
}

const char *plumbline_judge(const plumbline_plugin *plugin, plumbline_tree *tree, plumbline_file **evidence, size_t count,
                            plumbline_rulings *out) {
    plumbline_buffer list = {.limit = 1 << 20}, got = {.limit = 64};
    for (size_t i = 0; i < count; i++) {
        plumbline_text line;
        plumbline_got read;
        while ((read = plumbline_line(evidence[i], 1000, &line)) == PLUMBLINE_OK || read == PLUMBLINE_CUT) {
            plumbline_append(&list, line);
            plumbline_append_string(&list, "\n");
        }
        if (read == PLUMBLINE_BROKEN) return "the list cannot be read";
    }
    plumbline_text rest = plugin->options, key, value;
    uint64_t most = 0;
    while (plumbline_next_option(&rest, &key, &value)) {
        if (plumbline_equal(key, "at-most") && plumbline_number(value, &most)) continue;
        return "the option `at-most` is a number, and there is no other";
    }
    uint64_t excused = 0;
    plumbline_judged judged;
    plumbline_got read;
    while ((read = plumbline_next_judged(tree, &judged)) == PLUMBLINE_OK) {
        if (!plumbline_is_failure(&judged) || judged.ruled) continue;
        if (!is_in(plumbline_buffer_text(&list), judged.item.name)) continue;
        plumbline_rule(out, judged.index,
                       (plumbline_ruling){.word = PLUMBLINE_TEXT("quarantined"), .counts = false, .reason = judged.item.set,
                                          .source = plumbline_path(evidence[0])});
        excused++;
    }
    if (read == PLUMBLINE_BROKEN) return "the tree cannot be read";
    plumbline_append_number(&got, excused);
    plumbline_report(out, (plumbline_check){.id = PLUMBLINE_TEXT("QUARANTINE-001"), .name = PLUMBLINE_TEXT("few are excused"),
                                            .outcome = excused <= most ? PLUMBLINE_PASSED : PLUMBLINE_FAILED,
                                            .got = plumbline_buffer_text(&got)});
    return NULL;
}
