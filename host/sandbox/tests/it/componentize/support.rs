//! Handwritten core modules, and calls of the resulting components.

use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{LogLevel, ModuleFailure, PluginInfo, PostProcess, Sandbox, SandboxConfig};

/// Returns a core module with the role of a post-processor, from `imports`, further functions, and
/// the body of `process`.
pub(crate) fn core(imports: &str, more: &str, body: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
            (import "plumbline:plugin/output@0.1.0" "emit" (func $emit (param i32 i32)))
            {imports}
            ;; The adapter keeps its state in a page of its own, which it asks `cabi_realloc` for.
            (memory (export "memory") 4)
            {more}
            (global $next (mut i32) (i32.const 2048))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
                (global.get $next)
                (global.set $next (i32.add (global.get $next) (local.get 3))))
            (data (i32.const 64) "textitem")
            ;; An item at 512: depth 0, the name `item`, no status, no meta, no details.
            (func $emit_item
                (i32.store (i32.const 516) (i32.const 68))
                (i32.store (i32.const 520) (i32.const 4))
                (call $emit (i32.const 512) (i32.const 1)))
            (func (export "plumbline:plugin/post-processor@0.1.0#process")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                {body}
                (i32.const 16)))"#
    );
    wat::parse_str(wat).unwrap()
}

/// The outcome of one call.
pub(crate) struct Called {
    pub(crate) result: Result<(), ModuleFailure>,
    pub(crate) items: Vec<FlatItem>,
    pub(crate) log: Vec<String>,
}

/// Calls a component as a post-processor, without files.
pub(crate) fn call(component: &[u8]) -> Called {
    let sandbox = Sandbox::new(SandboxConfig { max_instances: 1, ..SandboxConfig::default() }).unwrap();
    let module = sandbox.load("made", component).unwrap();
    let plugin = PluginInfo { name: "p".into(), driver: "Job".into(), ..PluginInfo::default() };
    let (mut items, mut log): (_, Vec<(LogLevel, String)>) = (Vec::new(), Vec::new());
    let limits = ModuleLimits::default();
    let call = PostProcess { plugin: &plugin, files: Vec::new(), limits: &limits };
    let result = module.post_process(call, &mut items, &mut log).map(drop);
    Called { result, items, log: log.into_iter().map(|(_, line)| line).collect() }
}
