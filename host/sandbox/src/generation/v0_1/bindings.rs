//! Generated from the WIT. Each role has a world of its own: a component is bound to every role that it exports, one at a time.

/// The role `post-processor`, and the interfaces that it imports.
pub(crate) mod post_processor {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/post-processor-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: { "plumbline:plugin/input.file": crate::call::files::FileHandle },
    });
}

/// The role `expectations`; what it imports is the same as above.
pub(crate) mod expectations {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/expectations-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: {
            "plumbline:plugin/types": super::post_processor::plumbline::plugin::types,
            "plumbline:plugin/log": super::post_processor::plumbline::plugin::log,
        },
    });
}

/// The role `summarizer`; beside what the others import it has the tree to read from.
pub(crate) mod summarizer {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/summarizer-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: {
            "plumbline:plugin/types": super::post_processor::plumbline::plugin::types,
            "plumbline:plugin/output": super::post_processor::plumbline::plugin::output,
            "plumbline:plugin/log": super::post_processor::plumbline::plugin::log,
            "plumbline:plugin/results.items": crate::call::reading::ItemsHandle,
        },
    });
}

/// The role `judge`; beside what the others import it has the finished tree to read from, and to speak of.
pub(crate) mod judge {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/judge-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: {
            "plumbline:plugin/types": super::post_processor::plumbline::plugin::types,
            "plumbline:plugin/input": super::post_processor::plumbline::plugin::input,
            "plumbline:plugin/log": super::post_processor::plumbline::plugin::log,
            "plumbline:plugin/judgement.tree": crate::call::judgement::TreeHandle,
        },
    });
}
