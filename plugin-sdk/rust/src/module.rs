//! The macro that makes a crate a module.

/// Makes this crate a module.
///
/// ```
/// # use plumbline_sdk::{InputFile, Output, PluginInfo, PostProcessor};
/// # struct Lines;
/// # impl PostProcessor for Lines {
/// #     fn process(_: &PluginInfo, _: Vec<InputFile>, _: &mut Output) -> Result<(), String> { Ok(()) }
/// # }
/// plumbline_sdk::module! {
///     name: "lines",
///     formats: ["lines"],
///     default_files: ["**/*.txt"],
///     post_processor: Lines,
/// }
/// # fn main() {}
/// ```
///
/// In this order; what is in brackets may be left out:
///
/// * `name`: how bundles and definitions call the module: lower-case letters, digits, `-` and `.`, at most 63. It is the package's name
///   without `plumbline-module-`, if that is how it begins: the packed file is called so too, and the packer checks that the two agree;
/// * `formats`: the values of `result-format` that it answers to; empty for a module that is no post-processor;
/// * `default_files`: glob patterns of the files that it takes when a definition has no `result-files`;
/// * \[`detect`\]: a JSON array of rules by which the host detects files of its formats, such as
///   `[{"title": "Lines", "prefix": ["lines 1"]}]`. The host applies them without running the module: to every file of a plugin whose
///   `result-format` is `auto`, and after `plumbline run --local -- COMMAND`. A rule's keys are `title`, `files`, `prefix`, `contains`
///   and `xml-root` (docs/authors.md);
/// * \[`limits`\]: a JSON object of limits that it asks for, such as `{"memory": 536870912, "wall-seconds": 900}`. It is a wish: what a
///   call gets is settled by the definition and the operator's cap;
/// * \[`schema`\]: a JSON Schema of its `options`, for whoever writes or checks a definition. The module still reads its options with
///   care: see [`PluginInfo::options`](crate::PluginInfo::options);
/// * \[`post_processor`\], \[`expectations`\], \[`summarizer`\], \[`judge`\], at least one of them: the types that play the roles.
///
/// For `wasm32` this generates the exports of a component of the package `plumbline:plugin` and the custom section
/// `plumbline:module`, from which the host learns all of the above without running anything. For every other target it generates
/// nothing, so the crate's tests run natively.
///
/// A name that cannot be one does not compile:
///
/// ```compile_fail
/// # use plumbline_sdk::{Expectations, Expected, Node, PluginInfo};
/// # struct Once;
/// # impl Expectations for Once {
/// #     fn expected_results(_: &PluginInfo, _: Option<&serde_json::Value>, _: &[Node]) -> Result<Vec<Expected>, String> {
/// #         Ok(vec![Expected::Global])
/// #     }
/// # }
/// plumbline_sdk::module! { name: "Once", formats: [], default_files: [], expectations: Once }
/// # fn main() {}
/// ```
///
/// A module that plays no role neither:
///
/// ```compile_fail
/// plumbline_sdk::module! { name: "idle", formats: [], default_files: [] }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! module {
    // A comma more than needed: `__module` takes entries that each end with one, and then a comma or none.
    ($($all:tt)+) => {
        $crate::__module! { $($all)+, }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __module {
    (
        name: $name:literal,
        formats: [$($format:literal),* $(,)?],
        default_files: [$($pattern:literal),* $(,)?],
        $(detect: $detect:tt,)?
        $(limits: $limits:tt,)?
        $(schema: $schema:tt,)?
        $(post_processor: $post_processor:ty,)?
        $(expectations: $expectations:ty,)?
        $(summarizer: $summarizer:ty,)?
        $(judge: $judge:ty,)?
        $(,)?
    ) => {
        $crate::__module_metadata!($name, [$($format),*], [$($pattern),*], [$($detect)?], [$($limits)?], [$($schema)?]);
        const _: () = {
            const ROLES: &[&str] = &[
                $(::std::stringify!($post_processor),)?
                $(::std::stringify!($expectations),)?
                $(::std::stringify!($summarizer),)?
                $(::std::stringify!($judge),)?
            ];
            ::std::assert!(!ROLES.is_empty(), "a module plays a role: `post_processor`, `expectations`, `summarizer` or `judge`");
        };
        $($crate::__module_role!(PostProcessor, post_processor, __module_post_processor_guest, $post_processor);)?
        $($crate::__module_role!(Expectations, expectations, __module_expectations_guest, $expectations);)?
        $($crate::__module_role!(Summarizer, summarizer, __module_summarizer_guest, $summarizer);)?
        $($crate::__module_role!(Judge, judge, __module_judge_guest, $judge);)?
    };
}

/// Checks on every target that the type plays the role, and exports it from a component.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_role {
    ($role:ident, $bindings:ident, $guest:ident, $type:ty) => {
        const _: () = {
            const fn plays_the_role<T: $crate::$role>() {}
            plays_the_role::<$type>()
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;
            $crate::$guest!(Component, $type);
    $crate::guest::$bindings::export!(Component with_types_in $crate::guest::$bindings);
        };
    };
}

/// The custom section, and the check of the name.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_metadata {
    ($name:literal, [$($format:literal),*], [$($pattern:literal),*], [$($detect:tt)?], [$($limits:tt)?], [$($schema:tt)?]) => {
        const _: () = {
            const NAME: &str = $name;
            ::std::assert!(
                $crate::metadata::is_name(NAME),
                "a module's name has lower-case letters, digits, `-` and `.`, and begins and ends with a letter or digit"
            );
            #[cfg(target_arch = "wasm32")]
            const METADATA: $crate::metadata::Metadata = $crate::metadata::Metadata {
                name: NAME,
                formats: &[$($format),*],
                default_files: &[$($pattern),*],
                detect: $crate::__module_json!($($detect)?),
                limits: $crate::__module_json!($($limits)?),
                schema: $crate::__module_json!($($schema)?),
            };
            #[cfg(target_arch = "wasm32")]
            #[used]
            #[unsafe(link_section = "plumbline:module")]
            static SECTION: [u8; METADATA.length()] = METADATA.json();
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __module_json {
    () => {
        ::std::option::Option::None
    };
    ($json:tt) => {
        ::std::option::Option::Some(::std::stringify!($json))
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __module_post_processor_guest {
    ($component:ident, $type:ty) => {
        impl $crate::guest::post_processor::exports::plumbline::plugin::post_processor::Guest for $component {
            fn process(
                plugin: $crate::guest::types::PluginInfo,
                files: ::std::vec::Vec<$crate::guest::post_processor::plumbline::plugin::input::File>,
            ) -> ::std::result::Result<(), ::std::string::String> {
                $crate::guest::process::<$type>(plugin, files)
            }
        }
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __module_expectations_guest {
    ($component:ident, $type:ty) => {
        impl $crate::guest::expectations::exports::plumbline::plugin::expectations::Guest for $component {
            fn expected_results(
                plugin: $crate::guest::types::PluginInfo,
                pod_spec: ::std::option::Option<::std::string::String>,
                nodes: ::std::vec::Vec<$crate::guest::expectations::exports::plumbline::plugin::expectations::Node>,
            ) -> ::std::result::Result<
                ::std::vec::Vec<$crate::guest::expectations::exports::plumbline::plugin::expectations::ExpectedResult>,
                ::std::string::String,
            > {
                $crate::guest::expected_results::<$type>(plugin, pod_spec, nodes)
            }
        }
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __module_summarizer_guest {
    ($component:ident, $type:ty) => {
        impl $crate::guest::summarizer::exports::plumbline::plugin::summarizer::Guest for $component {
            fn summarize(
                plugin: $crate::guest::types::PluginInfo,
                items: $crate::guest::summarizer::plumbline::plugin::results::Items,
            ) -> ::std::result::Result<(), ::std::string::String> {
                $crate::guest::summarize::<$type>(plugin, items)
            }
        }
    };
}

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __module_judge_guest {
    ($component:ident, $type:ty) => {
        impl $crate::guest::judge::exports::plumbline::plugin::judge::Guest for $component {
            fn judge(
                plugin: $crate::guest::types::PluginInfo,
                tree: $crate::guest::judge::plumbline::plugin::judgement::Tree,
                evidence: ::std::vec::Vec<$crate::guest::post_processor::plumbline::plugin::input::File>,
            ) -> ::std::result::Result<(), ::std::string::String> {
                $crate::guest::judge_tree::<$type>(plugin, tree, evidence)
            }
        }
    };
}
