//! What is looked at before a run of the suite begins.

use plumbline_app::AppError;
use plumbline_conformance::lists::{Checked, SelectionError, check_list, check_selection};
use plumbline_conformance::submission::{Release, Required};
use plumbline_conformance::suite::{self, Chosen, chosen};
use plumbline_core::Definition;
use plumbline_core::config::Permissions;
use plumbline_kubernetes::manifest::ManifestOptions;

use super::{image, lists};
use crate::args::SuiteArgs;
use plumbline_app::Context;

/// Looks whether the suite can run as it is asked to: whether its tests exist, and, where `registries` may be asked, its image.
pub(crate) async fn look(
    context: &Context,
    args: &SuiteArgs,
    options: &ManifestOptions,
    registries: bool,
) -> Result<(), AppError> {
    let plugins = options.plugins.iter().map(|plugin| &plugin.definition);
    let Some(definition) = plugins.into_iter().find(|definition| definition.name.as_str() == suite::PLUGIN) else {
        return Ok(());
    };
    if options.rbac
        && matches!(options.config.aggregator_permissions, Permissions::NamespaceAdmin | Permissions::ClusterRead)
    {
        context.reporter.warning(&format!(
            "with the permissions `{}` most tests of `{}` fail: they create and delete whatever Kubernetes has",
            options.config.aggregator_permissions, definition.name
        ));
    }
    let version = &options.config.plumbline.kubernetes_version;
    if args.submitted.is_some_and(|submitted| !submitted.required) {
        required(context, version);
    }
    tests(context, args, definition, version).await?;
    let pulled = definition.spec.raw().get("imagePullPolicy").and_then(|policy| policy.as_str()) != Some("Never");
    match definition.spec.image() {
        Some(named) if registries && pulled => image::look(context, named).await,
        _ => Ok(()),
    }
}

/// Says now what would be known in hours: that nobody has said which tests a certificate requires.
fn required(context: &Context, version: &str) {
    let Ok(release) = version.parse::<Release>() else { return };
    if !Required::known().any(|(_, known)| known == release) {
        context.reporter.warning(&format!(
            "which tests {release} requires is not known to this program: whether all of them passed will not be checked"
        ));
        context.reporter.hint(
            "`--required FILE` takes the `conformance.yaml` of that version of Kubernetes, `--required image` asks the suite's image",
        );
    }
}

/// Whether any test is chosen.
async fn tests(context: &Context, args: &SuiteArgs, definition: &Definition, version: &str) -> Result<(), AppError> {
    let Some(Chosen { focus, skip }) = chosen(definition) else { return Ok(()) };
    let (focus, skip) = (Some(focus.as_str()), skip.as_deref());
    let version = Some(version).filter(|version| version.starts_with('v'));
    let checked = match &args.e2e_lists {
        None => check_selection(version, focus, skip),
        Some(place) => {
            let version = version.ok_or_else(|| {
                AppError::usage("of which version the names of tests are wanted is not known")
                    .hint("name it with `--kubernetes-version`, such as `v1.30.2`, or leave out `--e2e-lists`")
            })?;
            let list = lists::list(context, place, version).await?;
            check_list(&list, focus, skip)
        }
    };
    // Another image may have tests of its own.
    let own = definition.spec.image().is_some_and(is_of_the_project);
    match checked {
        Ok(checked) => {
            report_selection(context, &checked, args.chooses(), version.is_some());
            Ok(())
        }
        Err(error @ SelectionError::Expression { .. }) => Err(AppError::usage("the tests to run cannot be chosen")
            .because(&error)
            .hint("focus and skip are regular expressions as Go writes them; a `\\` before a character makes it an ordinary one")),
        Err(SelectionError::List(error)) if args.e2e_lists.is_none() => {
            tracing::info!("focus and skip are not checked: {error}");
            Ok(())
        }
        Err(error) if !own => {
            context.reporter.warning(&format!("{error}; the image may have others"));
            Ok(())
        }
        Err(error) => {
            let near = match &error {
                SelectionError::Nothing { near, .. } if !near.is_empty() => format!("near it:\n{}\n", near.join("\n")),
                _ => String::new(),
            };
            Err(AppError::usage("no test would run")
                .because(&error)
                .hint(format!("{near}`plumbline e2e` lists the tests, and what a focus selects of them")))
        }
    }
}

/// `registry.k8s.io/conformance:v1.30.2`, or the same in a registry of one's own.
fn is_of_the_project(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split([':', '@']).next() == Some("conformance")
}

/// Prints how many tests run. Without a choice of tests, a list of another version says nothing: what runs then is in every version.
fn report_selection(context: &Context, checked: &Checked, chosen: bool, known: bool) {
    let Checked { selected, total, version, warnings } = checked;
    if warnings.is_empty() && (chosen || known) {
        context.reporter.progress(&format!("{selected} of the {total} tests of {version} are chosen"));
    } else if chosen {
        context.reporter.progress(&format!(
            "{selected} of the {total} tests of {version} match; the cluster has another version, whose suite prints how many it runs"
        ));
    }
    if chosen && !known {
        context.reporter.warning("the version of the cluster is not known: it may have other tests");
    }
    for warning in warnings.iter().filter(|_| chosen) {
        context.reporter.warning(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_image_is_known_wherever_it_is() {
        for image in ["registry.k8s.io/conformance:v1.30.2", "mirror:5000/k8s/conformance@sha256:0", "conformance"] {
            assert!(is_of_the_project(image), "{image}");
        }
        assert!(!is_of_the_project("example.org/conformance/own:v1"));
        assert_eq!(suite::CONFIG_DIR, plumbline_kubernetes::names::PLUGIN_CONFIG_DIR);
    }
}
