//! Summarizes the imports of a module: what it may ask the host for.

/// What a module does with some interfaces.
struct Capability {
    /// Packages, which end with a slash, and interfaces.
    interfaces: &'static [&'static str],
    does: &'static str,
    /// Whether only a check gets it. In other modules, the functions return an error, and WASI has no
    /// files and no variables.
    of_checks: bool,
}

const fn of_all(interfaces: &'static [&'static str], does: &'static str) -> Capability {
    Capability { interfaces, does, of_checks: false }
}

const fn of_checks(interfaces: &'static [&'static str], does: &'static str) -> Capability {
    Capability { interfaces, does, of_checks: true }
}

/// Interfaces that only carry types or values of others have no entry.
const CAPABILITIES: &[Capability] = &[
    of_all(&["plumbline:plugin/input"], "read the files of a result"),
    of_all(&["plumbline:plugin/results"], "read the items of its plugin"),
    of_all(&["plumbline:plugin/judgement"], "judge the items of its plugin"),
    of_all(&["plumbline:plugin/output"], "emit items"),
    of_checks(&["wasi:filesystem/", "plumbline:plugin/ownership"], "read granted directories"),
    of_checks(&["wasi:cli/environment"], "read granted environment variables"),
    of_checks(&["plumbline:plugin/cluster"], "read granted objects of the cluster"),
    of_checks(&["plumbline:plugin/network"], "reach granted hosts"),
    of_all(&["wasi:clocks/"], "read clocks and wait"),
    of_all(&["wasi:random/"], "get random numbers"),
    of_checks(&["plumbline:plugin/progress"], "report progress"),
    of_all(&["plumbline:plugin/log", "wasi:cli/stdout", "wasi:cli/stderr"], "write to the log"),
];

/// Returns what a module with these imports may do, one phrase for each capability. It says nothing
/// about imports that a host rejects.
pub fn capabilities<S: AsRef<str>>(imports: &[S], is_check: bool) -> Vec<&'static str> {
    let imported = |capability: &&Capability| {
        let begins = |name: &str| capability.interfaces.iter().any(|interface| belongs(name, interface));
        imports.iter().any(|name| begins(name.as_ref()))
    };
    let given = CAPABILITIES.iter().filter(|capability| is_check || !capability.of_checks);
    given.filter(imported).map(|capability| capability.does).collect()
}

/// Returns whether `interface` is the package or the interface of an import.
fn belongs(name: &str, interface: &str) -> bool {
    let rest = name.strip_prefix(interface);
    rest.is_some_and(|rest| interface.ends_with('/') || rest.is_empty() || rest.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_phrase_for_each_capability() {
        let imports = [
            "plumbline:plugin/types@0.1.0",
            "plumbline:plugin/output@0.1.0",
            "plumbline:plugin/log@0.1.0",
            "wasi:cli/stdout@0.2.6",
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:io/streams@0.2.6",
            "wasi:clocks/monotonic-clock@0.2.6",
            "plumbline:plugin/output-of-another-release@0.1.0",
        ];
        let of = |is_check| capabilities(&imports, is_check);
        assert_eq!(of(true), ["emit items", "read granted directories", "read clocks and wait", "write to the log"]);
        // WASI is empty for all other modules.
        assert_eq!(of(false), ["emit items", "read clocks and wait", "write to the log"]);
        assert!(capabilities::<&str>(&[], true).is_empty());
    }
}
