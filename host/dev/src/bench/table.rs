//! Tables in the format of docs/benchmarks.md.

use comfy_table::{Table, presets};

/// Prints a title and a Markdown table.
pub(crate) fn print<const N: usize>(title: &str, header: [&str; N], rows: &[[String; N]]) {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    println!("\n## {title}\n\n{table}");
}
