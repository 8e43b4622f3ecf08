//! `plumbline images check`

use std::collections::HashSet;
use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::registry;
use plumbline_conformance::images::{Source, State, compare, rewrite};
use plumbline_registry::{Cause, Client, Digest};
use serde_json::{Value, json};

use super::ask::reference;
use super::{gather, moves};
use crate::args::{DataFormat, ImagesCheckArgs};
use crate::context::context;
use crate::error::SYSTEM;
use crate::ui::say;

/// One image, and what was found of it.
struct Checked {
    image: String,
    target: String,
    state: State,
}

/// Says which images are missing behind a registry, or are others there.
pub(super) fn check(args: &ImagesCheckArgs) -> Result<ExitCode, AppError> {
    let context = context(&args.set.registry);
    let opened = args.from.as_deref().map(moves::open).transpose()?;
    let wanted = match (&opened, &args.from) {
        (Some(opened), Some(path)) => Wanted::Known(
            moves::entries(opened.layout(), path)?.into_iter().map(|(name, from)| (name, Some(from))).collect(),
        ),
        _ => Wanted::Gathered(Box::new(gather::gather(&context, &args.set)?)),
    };
    let mut unasked = None;
    let found = runtime()?.block_on(async {
        let client = registry::client(&context)?;
        let images = match wanted {
            Wanted::Known(images) => images,
            Wanted::Gathered(mut gathered) => {
                // Out of that registry: on the other side of an air gap there is nothing else to ask.
                if let Some(suite) = gathered.ask.take()
                    && let Err(error) =
                        gather::ask_suite(&context, &args.set, &client, &suite, args.prefix.as_ref(), &mut gathered.set)
                            .await
                {
                    unasked = Some(error);
                }
                // Without a prefix, they are looked for where they are: there is nothing else to compare with.
                let from = |image: &str| match args.offline || args.prefix.is_none() {
                    true => Ok(None),
                    false => reference(image).map(|reference| Some(Source::Registry(reference))),
                };
                let images = gathered.set.images().into_iter();
                images.map(|one| Ok((one.image.clone(), from(&one.image)?))).collect::<Result<Vec<_>, AppError>>()?
            }
        };
        look(&client, args, images).await
    })?;
    match unasked {
        // That the suite's image is missing is what was asked for; anything else leaves the question open.
        Some(error) if !found.iter().any(|one| matches!(one.state, State::Missing)) => Err(error),
        Some(_) => {
            say("the images of the suite are not looked for: its own image does not say which there are");
            print(args, &found)
        }
        None => print(args, &found),
    }
}

enum Wanted {
    Known(Vec<(String, Option<Source>)>),
    Gathered(Box<gather::Gathered>),
}

/// One after the other: each is two small questions.
async fn look(
    client: &Client,
    args: &ImagesCheckArgs,
    images: Vec<(String, Option<Source>)>,
) -> Result<Vec<Checked>, AppError> {
    let mut silent: HashSet<String> = HashSet::new();
    // SourceKind images should be, and nobody answers: each further question would take as long as the first.
    let mut gone: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for (image, from) in images {
        let target = args.prefix.as_ref().map_or_else(|| image.clone(), |prefix| rewrite(&image, prefix));
        let reference = reference(&target)?;
        let host = match &from {
            Some(Source::Registry(reference)) => Some(client.mirrored(reference).registry().to_owned()),
            _ => None,
        };
        let from = from.filter(|_| host.as_ref().is_none_or(|host| !silent.contains(host)));
        let asked = client.mirrored(&reference).registry().to_owned();
        let state = if gone.contains(&asked) {
            let cause = Cause::Connection(format!("`{asked}` is unreachable, and was not asked again"));
            State::Unknown(cause.of(format!("look for `{target}`")))
        } else {
            compare(client, from.as_ref(), &reference).await
        };
        if let State::Unknown(error) = &state
            && State::is_out_of_reach(error)
        {
            gone.insert(asked);
        }
        if let (State::There(_, Some(error)), Some(host)) = (&state, host)
            && State::is_out_of_reach(error)
        {
            say(&format!("`{host}` is unreachable: what is there is not compared with it ({})", error.cause));
            silent.insert(host);
        }
        found.push(Checked { image, target, state });
    }
    Ok(found)
}

impl Checked {
    /// A word for programs, and a line for people.
    fn told(&self) -> (&'static str, String) {
        let Self { image, target, state } = self;
        match state {
            State::Same(digest) => ("same", format!("same: `{target}` is {digest}")),
            State::There(digest, _) => ("there", format!("there: `{target}` is {digest}")),
            State::Missing => ("missing", format!("missing: `{target}`")),
            State::Differs { there, wanted } => {
                ("differs", format!("differs: `{target}` is {there}, and `{image}` is {wanted}"))
            }
            State::Unknown(error) => {
                ("unknown", format!("not known: `{target}`: failed to {}: {}", error.what, error.cause))
            }
        }
    }

    fn data(&self) -> Value {
        let (state, _) = self.told();
        let (there, wanted): (Option<Digest>, Option<Digest>) = match &self.state {
            State::Same(digest) => (Some(*digest), Some(*digest)),
            State::There(digest, _) => (Some(*digest), None),
            State::Differs { there, wanted } => (Some(*there), Some(*wanted)),
            State::Missing | State::Unknown(_) => (None, None),
        };
        let error = match &self.state {
            State::Unknown(error) | State::There(_, Some(error)) => {
                Some(format!("failed to {}: {}", error.what, error.cause))
            }
            _ => None,
        };
        json!({"image": self.image, "target": self.target, "state": state, "digest": there, "wanted": wanted, "error": error})
    }
}

fn print(args: &ImagesCheckArgs, found: &[Checked]) -> Result<ExitCode, AppError> {
    let count = |wanted: &str| found.iter().filter(|one| one.told().0 == wanted).count();
    let counts = ["same", "there", "missing", "differs", "unknown"].map(count);
    let [same, there, missing, differs, unknown] = counts;
    let mut out = anstream::stdout().lock();
    let printed = match args.output.format {
        DataFormat::Json => print_json(
            &json!({
                "images": found.iter().map(Checked::data).collect::<Vec<_>>(),
                "same": same, "there": there, "missing": missing, "differs": differs, "unknown": unknown,
            }),
            &mut out,
        ),
        DataFormat::Text => found.iter().try_for_each(|one| writeln!(out, "{}", one.told().1)).and_then(|()| {
            writeln!(
                out,
                "{} images: {same} the same, {there} there, {missing} missing, {differs} different, {unknown} not known",
                found.len()
            )
        }),
    };
    printed.map_err(|error| AppError::printing("what was found cannot be printed", &error))?;
    if let Some(prefix) = args.prefix.as_ref().filter(|_| missing + differs > 0) {
        say(&format!(
            "hint:  `plumbline images copy --to {prefix}`, or `images load … --to {prefix}`, brings them there"
        ));
    }
    Ok(match (missing + differs, unknown) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(SYSTEM),
        _ => ExitCode::from(1),
    })
}
