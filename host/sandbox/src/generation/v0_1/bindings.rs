//! Bindings generated from the WIT. Each role has a world of its own, and a component is bound to
//! each role that it exports.

/// The role `post-processor` with its imports.
pub(crate) mod post_processor {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/post-processor-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: { "plumbline:plugin/input.file": crate::call::input::FileHandle },
    });
}

/// The role `expectations`, with the same imports as above.
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

/// The role `summarizer`, which also imports the tree to read.
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
            "plumbline:plugin/results.items": crate::call::input::ItemsHandle,
        },
    });
}

/// The role `judge`, which also imports the finished tree and the interface for rulings.
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

/// The role `check`, which also imports objects of the cluster and the interface for progress.
pub(crate) mod check {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "plumbline:plugin/check-module",
        imports: { default: trappable },
        require_store_data_send: true,
        with: {
            "plumbline:plugin/types": super::post_processor::plumbline::plugin::types,
            "plumbline:plugin/output": super::post_processor::plumbline::plugin::output,
            "plumbline:plugin/log": super::post_processor::plumbline::plugin::log,
            "plumbline:plugin/cluster.objects": crate::call::cluster::ObjectsHandle,
        },
    });
}
