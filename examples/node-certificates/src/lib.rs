//! A check of a node: certificates that have expired, or will soon.
//!
//! It reads PEM files (`*.crt`, `*.pem`) and the certificates in kubeconfigs (`*.conf`,
//! `*.kubeconfig`) below `/etc/kubernetes` and `/var/lib/kubelet/pki`. Each certificate is an item
//! below that of its file. It fails if it is not valid now, or ends within the option `days`, 30 by
//! default. These are `unknown`: a file that cannot be read, a `*.crt` without a certificate, and a
//! link to a directory, which is not followed. A node without certificates is `skipped`.
#![forbid(unsafe_code)]

mod certificates;
mod files;

use plumbline_sdk::{Checker, Context, Item, Output, PluginInfo, Status};
use serde::Deserialize;

use crate::certificates::{Certificate, certificates};
use crate::files::find;

/// The directories in which Kubernetes keeps certificates of a node.
const DIRECTORIES: [&str; 2] = ["/etc/kubernetes", "/var/lib/kubelet/pki"];

const DAY: i64 = 24 * 60 * 60;

/// The check. The documentation of the crate describes it.
#[derive(Debug, Clone, Copy)]
pub struct NodeCertificates;

/// The options of the definition.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// The number of days that a certificate must still be valid.
    days: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { days: 30 }
    }
}

impl Checker for NodeCertificates {
    fn run(plugin: &PluginInfo, context: &mut Context, out: &mut Output) -> Result<(), String> {
        let Options { days } = plugin.options()?;
        let now = i64::try_from(context.now().as_secs()).map_err(|_| "the clock of the node is wrong".to_owned())?;
        let found = find(context, &DIRECTORIES);
        for error in found.errors {
            out.emit(Item::new(0, "directories").status(Status::Unknown).meta("error", error));
        }
        let (mut seen, total) = (0, found.files.len() as u64);
        for (number, file) in (1..).zip(found.files) {
            let read = context.read_to_string(&file).map_err(|error| error.to_string());
            match read.and_then(|text| certificates(&file, &text)) {
                Ok(found) if found.is_empty() => {}
                Ok(found) => {
                    seen += found.len();
                    out.emit(Item::new(0, &*file).meta("file", &*file));
                    found.iter().for_each(|certificate| out.emit(item(certificate, now, i64::from(days))));
                }
                Err(error) => {
                    seen += 1;
                    out.emit(Item::new(0, &*file).status(Status::Unknown).meta("error", error));
                }
            }
            context.progress(number, total, file);
        }
        if seen == 0 {
            let why = format!("found no certificates below {}", DIRECTORIES.join(" and "));
            out.emit(Item::new(0, "certificates").status(Status::Skipped).text("skipped", why));
        }
        Ok(())
    }
}

fn item(certificate: &Certificate, now: i64, days: i64) -> Item {
    let left = (certificate.not_after - now).div_euclid(DAY);
    let problem = if certificate.not_before > now {
        Some("the certificate is not valid yet".to_owned())
    } else if certificate.not_after < now {
        Some(format!("the certificate expired {} days ago", -left))
    } else if left < days {
        Some(format!("the certificate expires in {left} days"))
    } else {
        None
    };
    let status = if problem.is_some() { Status::Failed } else { Status::Passed };
    let item = Item::new(1, &*certificate.subject).status(status).meta("days-left", left.to_string());
    match problem {
        Some(problem) => item.text("failure", problem),
        None => item,
    }
}

plumbline_sdk::module! {
    name: "node-certificates",
    formats: [],
    default_files: [],
    rights: { "files": ["/etc/kubernetes", "/var/lib/kubelet/pki"] },
    check: NodeCertificates,
}
