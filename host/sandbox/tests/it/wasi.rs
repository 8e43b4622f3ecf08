//! Tests for WASI: present for runtimes that need it, but empty.

use plumbline_core::ModuleLimits;
use plumbline_sandbox::LogLevel;

use crate::handmade::{core, load, run};
use crate::support::one_second;

const STREAMS: &str = r#"
    (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
    (import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))
    (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush"
        (func $write (param i32 i32 i32 i32)))"#;

#[test]
fn it_is_all_there_and_holds_nothing() {
    let imports = r#"
        (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))
        (import "wasi:cli/environment@0.2.0" "get-arguments" (func $arguments (param i32)))
        (import "wasi:cli/environment@0.2.0" "initial-cwd" (func $directory (param i32)))
        (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
        (import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))
        (import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))
        (import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))
        (import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))
        (import "wasi:clocks/wall-clock@0.2.0" "now" (func $today (param i32)))"#;
    // Each check that holds logs its number, so a missing number is a failed check.
    let more = r#"
        (global $number (mut i32) (i32.const 48))
        (func $holds (param i32)
            (i32.store8 (i32.const 64) (global.get $number))
            (global.set $number (i32.add (global.get $number) (i32.const 1)))
            (if (local.get 0) (then (call $log (i32.const 1) (i32.const 64) (i32.const 1)))))"#;
    let body = "
        (call $arguments (i32.const 1024)) (call $holds (i32.eqz (i32.load (i32.const 1028))))
        (call $environment (i32.const 1024)) (call $holds (i32.eqz (i32.load (i32.const 1028))))
        (call $directories (i32.const 1024)) (call $holds (i32.eqz (i32.load (i32.const 1028))))
        (call $directory (i32.const 1024)) (call $holds (i32.eqz (i32.load8_u (i32.const 1024))))
        ;; The answer is an error, and the error is that the stream is closed.
        (call $read (call $stdin) (i64.const 10) (i32.const 1024))
        (call $holds (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 1)))
        (call $holds (i32.eq (i32.load8_u (i32.const 1028)) (i32.const 1)))
        (call $holds (i64.ne (call $random) (call $random)))
        (call $holds (i64.le_u (call $now) (call $now)))
        (call $today (i32.const 1024)) (call $holds (i64.gt_u (i64.load (i32.const 1024)) (i64.const 1700000000)))";
    assert!(std::env::vars().count() > 0 && std::env::args().count() > 0, "the host has what the module must not see");
    let called = run(&core(imports, more, body), &ModuleLimits::default());
    called.result.unwrap();
    let held: String = called.log.into_iter().map(|(_, line)| line).collect();
    assert_eq!(held, "012345678");
}

#[test]
fn standard_streams_are_lines_of_the_log() {
    let body = "
        (call $write (call $stdout) (i32.const 64) (i32.const 4) (i32.const 1024))
        (call $write (call $stderr) (i32.const 68) (i32.const 4) (i32.const 1024))";
    let called = run(&core(STREAMS, "", body), &ModuleLimits::default());
    called.result.unwrap();
    assert_eq!(called.log, [(LogLevel::Info, "stdout: text".into()), (LogLevel::Warning, "stderr: item".into())]);
}

#[test]
fn a_flood_on_standard_output_is_dropped_and_said_once() {
    // Writes 4 KiB of zeros 10,000 times to one stream.
    let body = "
        (local $stream i32) (local $left i32)
        (local.set $stream (call $stdout))
        (local.set $left (i32.const 10000))
        (loop $more
            (call $write (local.get $stream) (i32.const 8192) (i32.const 4096) (i32.const 1024))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $more (local.get $left)))";
    let called = run(&core(STREAMS, "", body), &ModuleLimits::default());
    assert_eq!(called.result.unwrap().log_dropped, 10_000 * 4096 - (64 << 10));
    let (warnings, lines): (Vec<_>, Vec<_>) = called.log.iter().partition(|(level, _)| *level == LogLevel::Warning);
    assert_eq!(warnings[0].1, "log limit `log-bytes` reached: 65536 bytes: later lines are dropped");
    assert_eq!((warnings.len(), lines.len()), (1, 1));
}

#[test]
fn a_sleeping_module_is_interrupted_at_the_time_limit() {
    let imports = r#"
        (import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $timer (param i64) (result i32)))
        (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))"#;
    // A timer of many years.
    let called = run(&core(imports, "", "(call $block (call $timer (i64.const 0x7fffffffffffffff)))"), &one_second());
    assert_eq!(called.failure(), "module `handmade` exceeded its limit `wall-seconds`: 1 second");
}

#[test]
fn an_exit_ends_the_call_and_not_the_host() {
    let imports = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
    let called = run(&core(imports, "", "(call $emit_item) (call $exit (i32.const 1))"), &ModuleLimits::default());
    let expected = "module `handmade` crashed: it called `exit` with code 1, which is not allowed";
    assert_eq!(called.failure(), expected);
    assert_eq!(called.items.len(), 1);
}

#[test]
fn random_bytes_are_bounded() {
    let imports = r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))"#;
    let called =
        run(&core(imports, "", "(call $random (i64.const 0xffffffffff) (i32.const 1024))"), &ModuleLimits::default());
    assert!(called.failure().starts_with("module `handmade` crashed: "), "{}", called.failure());
}

#[test]
fn handles_are_bounded() {
    let body = "(loop $more (drop (call $stdout)) (br $more))";
    let called = run(&core(STREAMS, "", body), &one_second());
    let failure = called.failure();
    assert!(failure.starts_with("module `handmade` crashed: "), "{failure}");
}

#[test]
fn a_module_without_wasi_calls_has_no_wasi_imports() {
    let module = load(&core("", "", "(call $emit_item)"));
    assert!(module.info().imports.iter().all(|import| !import.starts_with("wasi:")), "{:?}", module.info().imports);
}
