//! Whether the suite's image is where its name says.

use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::Context;
use plumbline_registry::{Client, Patience, Reference, Settings};

/// What the registry is waited for: nodes may reach it where this machine cannot, so that nothing hangs on the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks for `image` in its registry. What is not there, no node can pull; a registry that does not answer says nothing.
pub(super) async fn look(context: &Context, image: &str) -> Result<(), AppError> {
    let unsure =
        |why: &str| context.reporter.warning(&format!("whether there is an image `{image}` is not known: {why}"));
    // A name without a registry stands for another one on every node, as its runtime is set up.
    let Ok(reference) = image.parse::<Reference>() else {
        unsure("its name does not begin with a registry");
        return Ok(());
    };
    let patience = Patience { connect: PATIENCE, read: PATIENCE, answer: PATIENCE, attempts: 1, ..Patience::default() };
    let client = match Client::new(Settings { patience, ..context.registries.clone() }) {
        Ok(client) => client,
        Err(error) => {
            unsure(&format!("failed to {error}: {}", error.cause));
            return Ok(());
        }
    };
    match tokio::time::timeout(PATIENCE, client.manifest(&reference)).await {
        Err(_) => unsure(&format!("its registry did not answer within {} s", PATIENCE.as_secs())),
        Ok(Err(error)) if error.is_not_found() => {
            return Err(AppError::usage(format!("there is no image `{image}`")).because(&*error.cause).hint(
                "name a version that there is a release of with `--kubernetes-version`, such as `v1.30.2`, or another image with `--kube-conformance-image`; `--skip-preflight` leaves this check out, for an image that is on the nodes already",
            ));
        }
        Ok(Err(error)) => unsure(&error.cause.to_string()),
        Ok(Ok(_)) => {}
    }
    Ok(())
}
