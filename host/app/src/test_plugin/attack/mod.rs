//! A plugin that attacks the run and the cluster. Each attempt is a test that passes if it is
//! refused.

mod api;
mod attempts;
mod credentials;
mod phone;

use std::fs;

use super::AttackOptions;
use crate::context::Context;
use crate::error::AppError;

use attempts::Attempts;

/// The path of the DNS configuration of a pod.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// Makes every attempt, and writes the report and the done file.
pub(super) async fn attack(context: &Context, options: &AttackOptions) -> Result<(), AppError> {
    // Fails if a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let namespace = match &options.namespace {
        Some(namespace) => namespace.clone(),
        None => own_namespace()?,
    };
    let mut attempts = Attempts::new(context.reporter.as_ref());
    let loot = credentials::search(options, &mut attempts).await;
    api::attack(&namespace, &loot.tokens, &mut attempts).await;
    phone::attack(options, &namespace, &loot.certificates, &mut attempts).await;
    attempts.write(&options.results_dir)
}

/// The first search domain of a pod is `NAMESPACE.svc.DOMAIN`.
fn own_namespace() -> Result<String, AppError> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let domain = text.lines().find_map(|line| line.strip_prefix("search ")?.split_whitespace().next());
    let namespace = domain.and_then(|domain| domain.split_once(".svc.")).map(|(namespace, _)| namespace.to_owned());
    namespace.ok_or_else(|| AppError::usage("the namespace of the run is not known").hint("name it with `--namespace`"))
}
