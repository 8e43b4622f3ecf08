//! The names of a new project.

use crate::project::AuthorError;

/// Maximum length in bytes of a DNS label.
const MAX_NAME: usize = 63;

/// Checks that `name` is valid for a project. It becomes the name of a plugin, a module and a
/// package, and a part of identifiers.
///
/// # Errors
/// The name is invalid.
pub fn check_name(name: &str) -> Result<(), AuthorError> {
    let bytes = name.as_bytes();
    let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let good = bytes.len() <= MAX_NAME
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(|byte| *byte != b'-')
        && bytes.iter().all(inside);
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME + 1).collect();
    Err(AuthorError::input(format!("`{shown}` cannot be a project's name")).hint(
        "use lower-case letters, digits and `-`, beginning with a letter, not ending with `-`, at most 63: `my-format`",
    ))
}

/// The names that replace the placeholders of a template.
pub(super) struct Names<'a> {
    name: &'a str,
    ident: String,
    type_name: String,
}

impl<'a> Names<'a> {
    /// Derives the names from a valid project name.
    pub(super) fn of(name: &'a str) -> Self {
        let word = |word: &str| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
        };
        Self { name, ident: name.replace('-', "_"), type_name: name.split('-').map(word).collect() }
    }

    /// Returns a text of the template with the names filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("__NAME__", self.name).replace("__IDENT__", &self.ident).replace("__TYPE__", &self.type_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_used_everywhere_are_refused() {
        for good in ["a", "my-format", "x2", &"a".repeat(63)] {
            check_name(good).unwrap();
        }
        for bad in ["", "A", "2x", "-a", "a-", "a_b", "a.b", "../x", "a b", "ü", &"a".repeat(64)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn each_place_gets_the_name_in_its_own_spelling() {
        let names = Names::of("my-format-2");
        assert_eq!(names.fill("__NAME__ __IDENT__ __TYPE__ _NAME_"), "my-format-2 my_format_2 MyFormat2 _NAME_");
    }
}
