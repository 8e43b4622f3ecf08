/* A judge for the tests of the library: excuses failures that stand in the evidence, and counts what it read. */
#include <plumbline.h>
#include <string.h>

const char *plumbline_judge(const plumbline_plugin *plugin, plumbline_tree *tree, plumbline_file **evidence, size_t count,
                            plumbline_rulings *out) {
    plumbline_buffer known = {.limit = 1 << 16}, read = {.limit = 64}, source = {.limit = 1 << 14};
    for (size_t i = 0; i < count; i++) {
        plumbline_text line;
        plumbline_got got;
        while ((got = plumbline_line(evidence[i], 100, &line)) == PLUMBLINE_OK || got == PLUMBLINE_CUT) {
            plumbline_append(&known, line);
            plumbline_append_string(&known, "\n");
        }
        if (got == PLUMBLINE_BROKEN) return "the evidence cannot be read";
    }
    /* More than the host takes, and it ends in the middle of a character. */
    for (int i = 0; i < 5000; i++) plumbline_append_string(&source, "\xC3\xBC");
    plumbline_judged judged;
    uint64_t items = 0;
    while (plumbline_next_judged(tree, &judged) == PLUMBLINE_OK) {
        items++;
        if (!plumbline_is_failure(&judged) || judged.ruled) continue;
        plumbline_text rest = plumbline_buffer_text(&known);
        while (rest.len > 0) {
            plumbline_text line = plumbline_cut(rest, '\n', &rest);
            if (line.len != judged.item.name.len || memcmp(line.ptr, judged.item.name.ptr, line.len) != 0) continue;
            plumbline_rule(out, judged.index, (plumbline_ruling){PLUMBLINE_TEXT("known-failure"), false, judged.item.set,
                                                                 plumbline_buffer_text(&source)});
        }
    }
    plumbline_append_number(&read, items);
    plumbline_report(out, (plumbline_check){.id = PLUMBLINE_TEXT("READ-1"), .name = PLUMBLINE_TEXT("name"), .outcome = PLUMBLINE_FAILED,
                                            .want = PLUMBLINE_TEXT("\xFF"), .got = plumbline_buffer_text(&read)});
    plumbline_free(&known);
    plumbline_free(&read);
    plumbline_free(&source);
    plumbline_text next = plugin->options, key, value;
    return plumbline_next_option(&next, &key, &value) ? "there are no options" : NULL;
}
