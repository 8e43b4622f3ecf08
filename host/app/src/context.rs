//! What use cases need from the program that calls them.

use std::sync::Arc;

use plumbline_registry::Settings;

use crate::error::AppError;

/// Receives what use cases report while they run. Results and errors are returned instead.
pub trait Reporter: Send + Sync {
    /// Something failed that the use case can continue without.
    fn error(&self, _error: &AppError) {}

    /// Something is wrong or suspicious, and the use case continues.
    fn warning(&self, _text: &str) {}

    /// What to do about the warning before it.
    fn hint(&self, _text: &str) {}

    /// Something that is not obvious from the results.
    fn note(&self, _text: &str) {}

    /// What the use case does now, or has just done.
    fn progress(&self, _text: &str) {}
}

/// A reporter that drops everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Reporter for Silent {}

/// The settings of the caller that most use cases share. Cloning is cheap.
#[derive(Clone)]
pub struct Context {
    /// How registries are reached, wherever a reference `oci://…` or an image is used.
    pub registries: Settings,
    /// Where warnings and progress go.
    pub reporter: Arc<dyn Reporter>,
}

impl Context {
    /// A context with the registry settings of the environment, that reports to `reporter`.
    pub fn new(reporter: impl Reporter + 'static) -> Self {
        Self { registries: Settings::from_environment(|name| std::env::var_os(name)), reporter: Arc::new(reporter) }
    }
}
