//! Catalogues of messages, for tests: every variant of an error type, printed as the command line
//! prints it. [`samples!`] makes the errors, and does not compile if it misses a variant.
//!
//! ```
//! use plumbline_catalogue::{Catalogue, samples};
//! # use std::fmt::{Display, Formatter, Result};
//!
//! #[derive(Debug)]
//! enum Wrong {
//!     Key { name: String },
//!     Empty,
//! }
//! # impl std::error::Error for Wrong {}
//! # impl Display for Wrong {
//! #     fn fmt(&self, f: &mut Formatter<'_>) -> Result { f.write_str("it is wrong") }
//! # }
//! let mut catalogue = Catalogue::default();
//! catalogue.add(samples!(Wrong { Key { name = "drivr".to_owned() }, Empty {} }), |_| None);
//! assert!(catalogue.text().starts_with("Wrong::Key\nerror: it is wrong\n"));
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Returns every variant of an error type with its name: `samples!(Type { Variant { field, other =
/// value }, Tuple { 0 }, Unit {} })`. A field without a value gets the [`Sample`] of its type.
#[macro_export]
macro_rules! samples {
    ($error:ident { $($variant:ident { $($field:tt $(= $value:expr)?),* }),+ $(,)? }) => {{
        // Does not compile if a variant is missing.
        let _ = |error: &$error| match error { $($error::$variant { .. } => ()),+ };
        vec![$((
            concat!(stringify!($error), "::", stringify!($variant)),
            $error::$variant { $($field: $crate::sample!($($value)?)),* },
        )),+]
    }};
}

/// Returns the value, or the sample of the type that is expected.
#[doc(hidden)]
#[macro_export]
macro_rules! sample {
    () => {
        $crate::Sample::sample()
    };
    ($value:expr) => {
        $value
    };
}

/// A type with a value for messages.
pub trait Sample {
    /// Returns the value.
    fn sample() -> Self;
}

macro_rules! values {
    ($($type:ty = $value:expr),+ $(,)?) => {
        $(impl Sample for $type {
            fn sample() -> Self {
                $value
            }
        })+
    };
}

values! {
    String = "example".to_owned(),
    &'static str = "example",
    PathBuf = PathBuf::from("dir/file"),
    io::Error = io::Error::from(io::ErrorKind::PermissionDenied),
    Duration = Duration::from_secs(30),
    i32 = 1,
    u16 = 503,
    u32 = 2,
    u64 = 4096,
    usize = 4096,
    bool = true,
    Option<PathBuf> = Some(PathBuf::sample()),
    Option<&'static str> = Some(<&str>::sample()),
    Vec<String> = vec![String::sample()],
}

/// Messages of errors, one below the other.
#[derive(Debug, Default)]
pub struct Catalogue {
    text: String,
    without_hint: Vec<String>,
}

impl Catalogue {
    /// Adds errors with their causes and hints.
    pub fn add<E: Error>(&mut self, errors: Vec<(&str, E)>, hint: impl Fn(&E) -> Option<String>) {
        for (name, error) in errors {
            self.text += if self.text.is_empty() { "" } else { "\n" };
            self.text += name;
            self.text.push('\n');
            let mut shown = error.to_string();
            self.line("error", &shown);
            let mut next = error.source();
            while let Some(cause) = next {
                let text = cause.to_string();
                if !shown.contains(&text) {
                    self.line("cause", &text);
                }
                shown = text;
                next = cause.source();
            }
            hint(&error).iter().for_each(|hint| self.line("hint", hint));
        }
    }

    /// Adds errors as [`Catalogue::add`] does, with their exit codes (docs/exit-codes.md): 2 if the
    /// user caused the error, and 4 if the system did.
    pub fn add_with_code<E: Error>(
        &mut self,
        errors: Vec<(&str, E)>,
        is_usage: impl Fn(&E) -> bool,
        hint: impl Fn(&E) -> Option<String>,
    ) {
        for (name, error) in errors {
            let code = if is_usage(&error) { 2 } else { 4 };
            if code == 2 && hint(&error).is_none() {
                self.without_hint.push(name.to_owned());
            }
            self.add(vec![(name, error)], &hint);
            self.line("code", &code.to_string());
        }
    }

    fn line(&mut self, label: &str, text: &str) {
        let text = text.replace('\n', "\n       ");
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{:7}{text}", format!("{label}:"));
    }

    /// Returns the errors with exit code 2 that have no hint.
    pub fn without_hint(&self) -> &[String] {
        &self.without_hint
    }

    /// Returns the catalogue, for a snapshot.
    pub fn text(&self) -> &str {
        &self.text
    }
}
