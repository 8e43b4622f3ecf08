//! Whether a run of the suite was one that can be submitted.

use serde_json::Value;
use thiserror::Error;

/// What selects the conformance tests, and nothing else.
const CONFORMANCE: &str = r"\[Conformance\]";

/// Characters of an expression that are shown.
const MAX_SHOWN: usize = 80;

/// What the suite was told, by its definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteSettings {
    /// Which tests: `E2E_FOCUS`.
    pub focus: Option<String>,
    /// Which not: `E2E_SKIP`.
    pub skip: Option<String>,
    /// Nothing was tested: `E2E_DRYRUN`.
    pub dry_run: bool,
    /// The image.
    pub image: Option<String>,
}

/// Why a run cannot be submitted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotSubmittable {
    /// Nothing was tested.
    #[error("it is a dry run: nothing was tested")]
    DryRun,
    /// Other tests were selected.
    #[error("it ran the tests that `{0}` selects, not all conformance tests")]
    Focus(String),
    /// Some were left out.
    #[error("it left out the tests that `{0}` selects")]
    Skip(String),
}

impl SuiteSettings {
    /// Reads the `definition.json` of an archive, ours or the incumbent's. What it does not say is not known.
    #[must_use]
    pub fn from_definition(document: &Value) -> Self {
        let spec = &document.get("Definition").unwrap_or(document)["spec"];
        let mut settings = Self { image: spec["image"].as_str().map(str::to_owned), ..Self::default() };
        for entry in spec["env"].as_array().into_iter().flatten() {
            let Some(name) = entry["name"].as_str() else { continue };
            let value = entry["value"].as_str().unwrap_or_default();
            match name {
                "E2E_FOCUS" => settings.focus = Some(value.to_owned()),
                "E2E_SKIP" => settings.skip = Some(value.to_owned()),
                // As the suite reads it: anything but nothing and `false` is yes.
                "E2E_DRYRUN" => settings.dry_run = !matches!(value, "" | "false"),
                _ => {}
            }
        }
        settings
    }

    /// The tag of the image, where it is a version: `v1.30.2`.
    #[must_use]
    pub fn image_version(&self) -> Option<&str> {
        let image = self.image.as_deref()?.split('@').next()?;
        let (_, tag) = image.rsplit_once('/').unwrap_or(("", image)).1.rsplit_once(':')?;
        tag.parse::<super::Release>().is_ok().then_some(tag)
    }

    /// Why a run with these settings cannot be submitted, if it cannot.
    ///
    /// # Errors
    /// [`NotSubmittable`]
    pub fn submittable(&self) -> Result<(), NotSubmittable> {
        let shown = |text: &str| match text.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text.to_owned(),
        };
        if self.dry_run {
            return Err(NotSubmittable::DryRun);
        }
        if let Some(focus) = self.focus.as_deref().filter(|focus| *focus != CONFORMANCE) {
            return Err(NotSubmittable::Focus(shown(focus)));
        }
        match self.skip.as_deref().filter(|skip| !skip.is_empty()) {
            Some(skip) => Err(NotSubmittable::Skip(shown(skip))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(env: &[(&str, &str)]) -> SuiteSettings {
        let env: Vec<Value> = env.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        SuiteSettings::from_definition(&json!({"spec": {"image": "registry.k8s.io/conformance:v1.30.2", "env": env}}))
    }

    #[test]
    fn only_the_whole_conformance_suite_is_submitted() {
        assert_eq!(settings(&[("E2E_FOCUS", r"\[Conformance\]"), ("E2E_SKIP", "")]).submittable(), Ok(()));
        // Not known is not wrong.
        assert_eq!(settings(&[]).submittable(), Ok(()));
        let disruptive = settings(&[("E2E_FOCUS", r"\[Conformance\]"), ("E2E_SKIP", r"\[Disruptive\]")]);
        assert!(matches!(disruptive.submittable(), Err(NotSubmittable::Skip(_))));
        let quick = settings(&[("E2E_FOCUS", "Pods should be submitted and removed")]);
        assert!(quick.submittable().unwrap_err().to_string().contains("`Pods should"));
        assert_eq!(settings(&[("E2E_DRYRUN", "true")]).submittable(), Err(NotSubmittable::DryRun));
        assert_eq!(settings(&[("E2E_DRYRUN", "false")]).submittable(), Ok(()));
    }

    #[test]
    fn old_definitions_are_wrapped_and_images_name_versions() {
        let old = json!({"Definition": {"spec": {"image": "k8s.gcr.io/conformance:v1.21.1@sha256:ab", "env": null}}});
        assert_eq!(SuiteSettings::from_definition(&old).image_version(), Some("v1.21.1"));
        for image in ["localhost:5000/conformance", "conformance:latest", "conformance"] {
            let settings = SuiteSettings { image: Some(image.to_owned()), ..SuiteSettings::default() };
            assert_eq!(settings.image_version(), None, "{image}");
        }
        assert_eq!(SuiteSettings::from_definition(&json!([1])), SuiteSettings::default());
    }
}
