//! The macro that turns a crate into a module.

/// Turns this crate into a module.
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
/// Call the macro once per crate, with these keys in this order. Keys in brackets are optional:
///
/// * `name`: the name by which bundles and definitions refer to the module. It has at most 63
///   lower-case letters, digits, `-` and `.`. If the name of the package starts with
///   `plumbline-module-`, the rest must be the name of the module, because the packed file is named
///   after it. The packer checks this.
/// * `formats`: the values of `result-format` that the module handles. Leave it empty if the module
///   is not a post-processor.
/// * `default_files`: glob patterns of the files that the module reads if a definition has no
///   `result-files`.
/// * \[`detect`\]: a JSON array of rules by which the host detects files of these formats, such as
///   `[{"title": "Lines", "prefix": ["lines 1"]}]`. The keys of a rule are `title`, `files`,
///   `prefix`, `contains` and `xml-root` (see `docs/authors.md`). The host applies the rules
///   without running the module: to every file of a plugin with `result-format: auto`, and after
///   `plumbline run --local -- COMMAND`.
/// * \[`limits`\]: a JSON object of limits that the module asks for, such as
///   `{"memory": 536870912, "wall-seconds": 900}`. The definition and the operator's cap decide
///   what a call gets.
/// * \[`schema`\]: a JSON Schema of the options, for people and tools that write or check a
///   definition. The module must still validate its options; see
///   [`PluginInfo::options`](crate::PluginInfo::options).
/// * \[`rights`\]: a JSON object of the rights that a check needs, such as
///   `{"files": ["/proc"], "env": ["CLUSTER_NAME"]}` (see `docs/checks.md`).
/// * \[`post_processor`\], \[`expectations`\], \[`summarizer`\], \[`judge`\], \[`check`\]: the types
///   that implement the roles. At least one is required.
///
/// For `wasm32`, the macro generates the exports of a component of the package `plumbline:plugin`.
/// It also generates the custom section `plumbline:module`, from which the host reads all of the
/// above without running the module. For every other target it generates no code except
/// compile-time checks, so the tests of the crate run natively.
///
/// An invalid name is a compile error:
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
/// So is a module without a role:
///
/// ```compile_fail
/// plumbline_sdk::module! { name: "idle", formats: [], default_files: [] }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! module {
    // Append a comma: each entry of `__module` ends with a comma, and one more is accepted at the
    // end.
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
        $(rights: $rights:tt,)?
        $(post_processor: $post_processor:ty,)?
        $(expectations: $expectations:ty,)?
        $(summarizer: $summarizer:ty,)?
        $(judge: $judge:ty,)?
        $(check: $check:ty,)?
        $(,)?
    ) => {
        $crate::__module_metadata!(
            $name, [$($format),*], [$($pattern),*], [$($detect)?], [$($limits)?], [$($schema)?], [$($rights)?]
        );
        const _: () = {
            const ROLES: &[&str] = &[
                $(::std::stringify!($post_processor),)?
                $(::std::stringify!($expectations),)?
                $(::std::stringify!($summarizer),)?
                $(::std::stringify!($judge),)?
                $(::std::stringify!($check),)?
            ];
            ::std::assert!(
                !ROLES.is_empty(),
                "a module implements a role: `post_processor`, `expectations`, `summarizer`, `judge` or `check`"
            );
        };
        $($crate::__module_role!(PostProcessor, post_processor, $post_processor);)?
        $($crate::__module_role!(Expectations, expectations, $expectations);)?
        $($crate::__module_role!(Summarizer, summarizer, $summarizer);)?
        $($crate::__module_role!(Judge, judge, $judge);)?
        $($crate::__module_role!(Checker, check_role, $check);)?
    };
}

/// Checks on every target that the type implements the role, and exports it from a component.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_role {
    ($role:ident, $bindings:ident, $type:ty) => {
        const _: () = {
            const fn plays_the_role<T: $crate::$role>() {}
            plays_the_role::<$type>()
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Component = $crate::guest::Component<$type>;
    $crate::guest::$bindings::export!(Component with_types_in $crate::guest::$bindings);
        };
    };
}

/// Generates the custom section, and checks the name.
#[doc(hidden)]
#[macro_export]
macro_rules! __module_metadata {
    ($name:literal, [$($format:literal),*], [$($pattern:literal),*], [$($detect:tt)?], [$($limits:tt)?], [$($schema:tt)?], [$($rights:tt)?]) => {
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
                rights: $crate::__module_json!($($rights)?),
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
