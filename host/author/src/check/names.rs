//! Finds names that resolve to more than one module.

use std::collections::BTreeMap;

use plumbline_sandbox::Roles;

use super::finding::Checked;
use super::host::Host;
use super::modules::Answer;

/// Reports a name that more than one module has. A run takes the first, and authors should not have
/// to know which one that is.
pub(super) fn check(answers: &[Answer], host: &Host<'_>, checked: &mut Checked) {
    let mut taken: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for answer in answers {
        for role in crate::build::role_names(answer.roles) {
            for name in &answer.names {
                match taken.get(&(role, name.as_str())) {
                    Some(first) if *first != answer.file => checked.error(
                        &answer.file,
                        format!("`{name}` names a {role} in `{first}` too"),
                        Some("a run takes the first by the order of their files: give each a name of its own"),
                    ),
                    Some(_) => {}
                    None => {
                        taken.insert((role, name), &answer.file);
                    }
                }
            }
        }
        for name in &answer.names {
            let shared = |built_in: &Roles| {
                let (a, b) = (answer.roles, built_in);
                a.post_processor && b.post_processor
                    || a.expectations && b.expectations
                    || a.summarizer && b.summarizer
                    || a.judge && b.judge
            };
            let built_in = host.built_in.iter().find(|info| {
                (info.name.as_deref() == Some(name) || info.formats.contains(name)) && shared(&info.roles)
            });
            if built_in.is_some() {
                checked.warning(
                    &answer.file,
                    format!("`{name}` is the name of a built-in module, which this one takes the place of"),
                    Some("for plugins of this bundle only; choose another name if that is not meant"),
                );
            }
        }
    }
}
