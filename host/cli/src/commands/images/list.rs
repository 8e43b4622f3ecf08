//! `plumbline images list`

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::registry;
use serde_json::json;

use super::gather;
use crate::args::{DataFormat, ImagesListArgs};
use crate::context::context;
use crate::ui::say;

/// Lists the images that a run needs.
pub(super) fn list(args: &ImagesListArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.set.registry);
    let mut gathered = gather::gather(&context, &args.set)?;
    if let Some(suite) = gathered.ask.take() {
        runtime()?.block_on(async {
            let client = registry::client(&context)?;
            gather::ask_suite(&context, &args.set, &client, &suite, None, &mut gathered.set).await
        })?;
    }
    let mut out = anstream::stdout().lock();
    let images = gathered.set.images();
    let printed = match args.output.format {
        DataFormat::Json => print_json(
            &json!({
                "kubernetesVersion": gathered.version,
                "images": images,
                "leftOut": gathered.set.left_out().collect::<Vec<_>>(),
            }),
            &mut out,
        ),
        DataFormat::Text => images.iter().try_for_each(|one| writeln!(out, "{}", one.image)),
    };
    printed.map_err(|error| AppError::printing("failed to print the images", &error))?;
    if args.output.format == DataFormat::Text {
        for one in gathered.set.left_out() {
            say(&format!("left out: {}: {}", one.image, one.reason));
        }
    }
    Ok(ExitCode::SUCCESS)
}
