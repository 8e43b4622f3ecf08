//! Check whether a run of the suite can be submitted.

use serde_json::Value;
use thiserror::Error;

use crate::suite::{DEFAULT_FOCUS, PARALLEL_SKIP};

/// Dry-run flags of the suite and of its runner, in all spellings.
const DRY_RUN_FLAGS: [&str; 4] = ["dry-run", "dryRun", "ginkgo.dry-run", "ginkgo.dryRun"];

/// Maximum length of an expression in a message, in characters.
const MAX_SHOWN: usize = 80;

/// Settings of the suite in its definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuiteSettings {
    /// Focus: `E2E_FOCUS`.
    pub focus: Option<String>,
    /// Skip: `E2E_SKIP`.
    pub skip: Option<String>,
    /// Whether the run was a dry run: `E2E_DRYRUN`.
    pub dry_run: bool,
    /// Image of the suite.
    pub image: Option<String>,
}

/// Reason why a run cannot be submitted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotSubmittable {
    /// The run was a dry run.
    #[error("it is a dry run: nothing was tested")]
    DryRun,
    /// The suite ran failed tests again.
    #[error("it ran failed tests again (`FlakeAttempts`): a test that passed only then has failed")]
    Retries,
    /// The run had another focus than the conformance tests.
    #[error("it ran the tests that `{0}` selects, not all conformance tests")]
    Focus(String),
    /// The run skipped some tests.
    #[error("it left out the tests that `{0}` selects")]
    Skip(String),
}

impl SuiteSettings {
    /// Reads the settings from the `definition.json` of an archive, either ours or Sonobuoy's.
    /// Missing settings are not known.
    pub fn from_definition(document: &Value) -> Self {
        let spec = &document.get("Definition").unwrap_or(document)["spec"];
        let mut settings = Self { image: spec["image"].as_str().map(str::to_owned), ..Self::default() };
        let mut parallel = false;
        for entry in spec["env"].as_array().into_iter().flatten() {
            let Some(name) = entry["name"].as_str() else { continue };
            let value = entry["value"].as_str().unwrap_or_default();
            // Like the image, treat an empty value as not set.
            let given = Some(value).filter(|value| !value.is_empty()).map(str::to_owned);
            match name {
                "E2E_FOCUS" => settings.focus = given,
                "E2E_SKIP" => settings.skip = given,
                "E2E_PARALLEL" => parallel = matches!(value, "y" | "Y" | "true"),
                // The image treats any value as true, even `false`.
                "E2E_DRYRUN" => settings.dry_run |= given.is_some(),
                "E2E_EXTRA_ARGS" | "E2E_EXTRA_GINKGO_ARGS" => settings.dry_run |= asks_for_dry_run(value),
                _ => {}
            }
        }
        if parallel {
            // For parallel runs, the image skips these tests by default.
            settings.skip.get_or_insert_with(|| PARALLEL_SKIP.to_owned());
        }
        settings
    }

    /// Returns the tag of the image, if it is a version: `v1.30.2`.
    pub fn image_version(&self) -> Option<&str> {
        let image = self.image.as_deref()?.split('@').next()?;
        let (_, tag) = image.rsplit_once('/').unwrap_or(("", image)).1.rsplit_once(':')?;
        tag.parse::<super::Release>().is_ok().then_some(tag)
    }

    /// Checks whether a run with these settings can be submitted.
    pub fn submittable(&self) -> Result<(), NotSubmittable> {
        let shown = |text: &str| match text.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text.to_owned(),
        };
        if self.dry_run {
            return Err(NotSubmittable::DryRun);
        }
        if let Some(focus) = self.focus.as_deref().filter(|focus| *focus != DEFAULT_FOCUS) {
            return Err(NotSubmittable::Focus(shown(focus)));
        }
        match self.skip.as_deref() {
            Some(skip) => Err(NotSubmittable::Skip(shown(skip))),
            None => Ok(()),
        }
    }
}

/// Returns whether arguments request a dry run. The separator may be another character than a
/// space, which does not matter here.
fn asks_for_dry_run(arguments: &str) -> bool {
    let ends = |text: &str| {
        text.starts_with("--") || !text.starts_with(|c: char| c.is_ascii_alphanumeric() || "-.=".contains(c))
    };
    let is_true = |after: &str| match after.strip_prefix('=') {
        None => ends(after),
        Some(value) => !value.strip_prefix("false").is_some_and(ends),
    };
    arguments.match_indices('-').any(|(at, _)| {
        let (before, flag) = arguments.split_at(at);
        // Go accepts one dash or two. One can also be a part of a name or value.
        let begins = match before.chars().next_back() {
            Some('-') => false,
            Some(c) if c == '=' || c.is_ascii_alphanumeric() => flag.starts_with("--"),
            _ => true,
        };
        begins && {
            let flag = flag.trim_start_matches('-');
            DRY_RUN_FLAGS.iter().any(|name| flag.strip_prefix(name).is_some_and(is_true))
        }
    })
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
        // Missing settings are not an error.
        assert_eq!(settings(&[]).submittable(), Ok(()));
        let disruptive = settings(&[("E2E_FOCUS", r"\[Conformance\]"), ("E2E_SKIP", r"\[Disruptive\]")]);
        assert!(matches!(disruptive.submittable(), Err(NotSubmittable::Skip(_))));
        let quick = settings(&[("E2E_FOCUS", "Pods should be submitted and removed")]);
        assert!(quick.submittable().unwrap_err().to_string().contains("`Pods should"));
        // The image treats any value as true.
        for value in ["true", "false", "0"] {
            assert_eq!(settings(&[("E2E_DRYRUN", value)]).submittable(), Err(NotSubmittable::DryRun), "{value}");
        }
        assert_eq!(settings(&[("E2E_DRYRUN", "")]).submittable(), Ok(()));
        for args in [
            "--a=b --dry-run",
            "--ginkgo.dryRun=true",
            "--a,--ginkgo.dry-run,--b",
            "--ginkgo.dry-run--b",
            "-ginkgo.dry-run",
            "-a=b -dry-run",
            "-a;-ginkgo.dryRun=true;-b",
        ] {
            assert_eq!(settings(&[("E2E_EXTRA_ARGS", args)]).submittable(), Err(NotSubmittable::DryRun), "{args}");
        }
        for args in ["--dry-run=false --dry-runner", "-dry-run=false", "--no-dry-run -ginkgo.skip=server-side-dry-run"]
        {
            assert_eq!(settings(&[("E2E_EXTRA_GINKGO_ARGS", args)]).submittable(), Ok(()), "{args}");
        }
        // Many dashes take no quadratic time.
        for args in ["-".repeat(1 << 20), "--a".repeat(1 << 18)] {
            assert_eq!(settings(&[("E2E_EXTRA_ARGS", args.as_str())]).submittable(), Ok(()));
        }
        // Empty values mean the image's defaults. Its default for parallel runs is to skip serial
        // tests.
        assert_eq!(settings(&[("E2E_FOCUS", ""), ("E2E_PARALLEL", "false")]).submittable(), Ok(()));
        let parallel = settings(&[("E2E_PARALLEL", "true"), ("E2E_SKIP", "")]).submittable();
        assert_eq!(parallel, Err(NotSubmittable::Skip(r"\[Serial\]".to_owned())));
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
