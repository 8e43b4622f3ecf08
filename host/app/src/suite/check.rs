//! Checks before a run whether the tests and the image of the suite exist.

use std::path::Path;
use std::time::Duration;

use plumbline_conformance::images::is_suite_image;
use plumbline_conformance::lists::{Checked, SelectionError, TestList, check_list, check_selection, read_dir};
use plumbline_conformance::submission::{Release, Required};
use plumbline_conformance::suite::{Chosen, chosen};
use plumbline_core::Definition;
use plumbline_core::config::Permissions;
use plumbline_kubernetes::manifest::ManifestOptions;
use plumbline_registry::{Client, Reference, Settings, Timeouts};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::profiles::{no_selection, suite_plugin, suite_profile, suite_required, suite_tests};
use crate::sources::url;
use crate::suite::SuiteOptions;
use crate::suite::test_names::{list_at, read_error};

/// Checks that tests are selected, and, if `registries` may be asked, that the image of the suite
/// exists.
pub async fn check(
    context: &Context,
    options: &SuiteOptions,
    manifest: &ManifestOptions,
    registries: bool,
) -> Result<(), AppError> {
    let plugins = manifest.plugins.iter().map(|plugin| &plugin.definition);
    let own = suite_plugin()?;
    let Some(definition) = plugins.into_iter().find(|definition| own == Some(definition.name.as_str())) else {
        return Ok(());
    };
    if manifest.rbac
        && matches!(manifest.config.aggregator_permissions, Permissions::NamespaceAdmin | Permissions::ClusterRead)
    {
        context.reporter.warning(&format!(
            "with the permissions `{}`, most tests of `{}` fail: they create and delete all kinds of objects",
            manifest.config.aggregator_permissions, definition.name
        ));
    }
    let version = &manifest.config.plumbline.kubernetes_version;
    if options.submitted.is_some_and(|submitted| !submitted.required) {
        warn_of_unknown_requirements(context, version)?;
    }
    check_tests(context, options, definition, version).await?;
    let pulled = definition.spec.raw().get("imagePullPolicy").and_then(|policy| policy.as_str()) != Some("Never");
    match definition.spec.image() {
        Some(named) if registries && pulled => check_image(context, named).await,
        _ => Ok(()),
    }
}

/// Warns if the tests that a certificate requires are not known, before the run takes hours.
fn warn_of_unknown_requirements(context: &Context, version: &str) -> Result<(), AppError> {
    let Ok(release) = version.parse::<Release>() else { return Ok(()) };
    if !Required::known(&suite_required()?).any(|(_, known)| known == release) {
        context.reporter.warning(&format!(
            "the required tests of {release} are unknown to this program: it does not check whether all of them passed"
        ));
        context.reporter.hint(
            "pass the `conformance.yaml` of that Kubernetes version with `--required FILE`, or ask the suite's image with `--required image`",
        );
    }
    Ok(())
}

async fn check_tests(
    context: &Context,
    options: &SuiteOptions,
    definition: &Definition,
    version: &str,
) -> Result<(), AppError> {
    let Some(Chosen { focus, skip }) = chosen(definition) else { return Ok(()) };
    let (focus, skip) = (Some(focus.as_str()), skip.as_deref());
    let version = Some(version).filter(|version| version.starts_with('v'));
    let prefix = suite_profile()?.profile.name_prefix();
    let checked = match &options.e2e_lists {
        None => check_selection(&suite_tests()?, version, prefix, focus, skip),
        Some(place) => {
            let version = version.ok_or_else(|| {
                AppError::usage("the Kubernetes version of the test names is unknown")
                    .hint("name it with `--kubernetes-version`, such as `v1.30.2`, or leave out `--e2e-lists`")
            })?;
            let list = read_list(context, place, version).await?;
            check_list(&list, prefix, focus, skip)
        }
    };
    // Other images may have other tests.
    let own = definition.spec.image().is_some_and(is_suite_image);
    match checked {
        Ok(checked) => {
            report_selection(context, &checked, options.selects(), version.is_some());
            Ok(())
        }
        Err(SelectionError::List(error)) if options.e2e_lists.is_none() => {
            tracing::info!("focus and skip are not checked: {error}");
            Ok(())
        }
        Err(error) if !own && !matches!(error, SelectionError::Expression { .. }) => {
            context.reporter.warning(&format!("{error}; the image may have other tests"));
            Ok(())
        }
        Err(error) => {
            let all = "list the tests that a focus selects with `plumbline conformance tests`";
            Err(no_selection(&error, all))
        }
    }
}

/// Reports how many tests run. If no tests are selected and the version is unknown, it reports
/// nothing, because every version has tests then.
fn report_selection(context: &Context, checked: &Checked, chosen: bool, known: bool) {
    let Checked { selected, total, version, warnings } = checked;
    if warnings.is_empty() && (chosen || known) {
        context.reporter.progress(&format!("selected {selected} of the {total} tests of {version}"));
    } else if chosen {
        context.reporter.progress(&format!(
            "{selected} of {total} tests of {version} match; the cluster runs another version, so the number may differ"
        ));
    }
    if chosen && !known {
        context.reporter.warning("the cluster's version is unknown: it may have other tests");
    }
    for warning in warnings.iter().filter(|_| chosen) {
        context.reporter.warning(warning);
    }
    // Only lists of this program have warnings.
    if chosen && !warnings.is_empty() {
        context.reporter.hint(
            "the suite in the cluster decides which tests run; for an exact check, write its list to `DIR/VERSION.txt` with `plumbline conformance tests --input image --version VERSION`, and add `--e2e-lists DIR`",
        );
    }
}

/// How long the registry may take to answer. Nodes may reach it even if this machine cannot.
const PATIENCE: Duration = Duration::from_secs(10);

/// Checks that `image` is in its registry. If the registry does not answer, that is a warning.
async fn check_image(context: &Context, image: &str) -> Result<(), AppError> {
    let unsure =
        |why: &str| context.reporter.warning(&format!("failed to check whether image `{image}` exists: {why}"));
    // The runtime of each node completes a name without a registry.
    let Ok(reference) = image.parse::<Reference>() else {
        unsure("its name has no registry");
        return Ok(());
    };
    let patience = Timeouts { connect: PATIENCE, read: PATIENCE, answer: PATIENCE, attempts: 1, ..Timeouts::default() };
    let client = match Client::new(Settings { patience, ..context.registries.clone() }) {
        Ok(client) => client,
        Err(error) => {
            unsure(&format!("failed to {error}: {}", error.cause));
            return Ok(());
        }
    };
    match tokio::time::timeout(PATIENCE, client.manifest(&reference)).await {
        Err(_) => unsure(&format!("no response from its registry within {} s", PATIENCE.as_secs())),
        Ok(Err(error)) if error.is_not_found() => {
            return Err(AppError::usage(format!("image `{image}` not found")).because(&*error.cause).hint(
                "set a released version with `--kubernetes-version`, such as `v1.30.2`, or another image with `--kube-conformance-image`; if the image is already on the nodes, skip this check with `--skip-preflight`",
            ));
        }
        Ok(Err(error)) => unsure(&error.cause.to_string()),
        Ok(Ok(_)) => {}
    }
    Ok(())
}

/// Reads the list of `version` from a directory of lists, or from a URL with a list for each
/// version.
async fn read_list(context: &Context, place: &str, version: &str) -> Result<TestList, AppError> {
    let (context, there, version) = (context.clone(), place.to_owned(), version.to_owned());
    // Reading files and downloads blocks.
    let read = tokio::task::spawn_blocking(move || match url::is_url(&there) {
        true => list_at(&context, &there, &version),
        false => read_dir(Path::new(&there), &version),
    });
    let read = read.await.unwrap_or_else(|error| Err(read_error(place, error.to_string())));
    let place = url::without_credentials(place);
    read.usage_error(format_args!("invalid names of tests in `{place}`")).hint(
        "pass a directory with `VERSION.gz`, or its URL, to `--e2e-lists`; without it, Plumbline uses its own lists",
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn files_of_a_definition_are_where_the_suite_looks_for_them() {
        assert_eq!(plumbline_conformance::suite::CONFIG_DIR, plumbline_kubernetes::names::PLUGIN_CONFIG_DIR);
    }
}
