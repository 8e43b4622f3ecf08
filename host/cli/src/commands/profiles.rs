//! `plumbline conformance list` and `conformance show`: profiles of suites.

use std::io::{self, Write};
use std::process::ExitCode;

use plumbline_app::profiles::{self, CLUSTER_VERSION, ChosenProfile, FoundProfile, ListedProfile, profile_for};
use plumbline_app::sources::SourceKind;
use plumbline_app::suite::{SuiteOption, suite_options};
use plumbline_app::{AppError, Context};
use plumbline_bundle::profile::{OptionType, Profile, ProfileMode, ProfileOption, Source, SubmittedFile, Version};
use plumbline_core::text::Printable;
use serde_json::{Value, json};

use crate::args::shared::{OutputArgs, RemoteArgs, context, insert};
use crate::output::{field, print};
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct ShowProfileArgs {
    /// A profile: the name of a built-in or installed one, a directory, or a packed bundle
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: String,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// Lists the profiles that `conformance run` knows by name.
pub(crate) fn list(output: OutputArgs) -> Result<ExitCode, AppError> {
    let all = profiles::list()?;
    let data = json!({"profiles": all.iter().map(listed_data).collect::<Vec<_>>()});
    output.print("failed to print the profiles", &data, |out| print_list(&all, out))
}

/// Returns a profile as data. Keys are never removed or renamed.
fn listed_data(listed: &ListedProfile) -> Value {
    json!({
        "name": listed.name, "suite": listed.title, "description": listed.description, "version": listed.version,
        "origin": if listed.source.is_some() { "installed" } else { "built-in" }, "source": listed.source,
        "local": listed.local,
    })
}

fn print_list(all: &[ListedProfile], out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![["NAME", "VERSION", "ORIGIN", "SUITE"].map(Printable::from)];
    for listed in all {
        let version = listed.version.as_deref().unwrap_or(CLUSTER_VERSION);
        let origin = if listed.source.is_some() { "installed" } else { "built-in" };
        rows.push([&listed.name, version, origin, &listed.title].map(Printable::from));
    }
    print_rows(&rows, "", out)
}

/// Prints rows with aligned columns. The last column is not padded.
fn print_rows<const N: usize>(rows: &[[Printable; N]], indent: &str, out: &mut impl Write) -> io::Result<()> {
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    for row in rows {
        let mut line = indent.to_owned();
        for (at, cell) in row.iter().enumerate() {
            let pad = width(at).unwrap_or_default();
            line.push_str(&format!("{cell:pad$}  "));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Shows what a profile lets users set, and what is submitted.
pub(crate) fn show(args: &ShowProfileArgs) -> Result<ExitCode, AppError> {
    const FAILED: &str = "failed to print the profile";
    if let ChosenProfile::Suite(built_in) = profile_for(Some(&args.profile))? {
        let profile = &built_in.profile;
        return args.remote.output.print(FAILED, &built_in_data(profile), |out| print_built_in(profile, out));
    }
    let found = profiles::find(&context(&args.remote.registry), &args.profile)?;
    let places = places(&found);
    let kind = match found.kind {
        SourceKind::BuiltIn => "built-in",
        SourceKind::Installed => "installed",
        _ => "given",
    };
    let mut data = profile_data(&found.profile, kind);
    insert(&mut data, "digest", json!(found.bundle.digest()));
    insert(&mut data, "places", json!(places));
    args.remote.output.print(FAILED, &data, |out| print_profile(&found.profile, &origin(&found), &places, out))
}

/// The files of a submission to the CNCF, which are not copies of files of the archive.
const CNCF_FILES: [&str; 4] = plumbline_conformance::submission::FILES;

fn built_in_data(profile: &Profile) -> Value {
    let option = |option: &SuiteOption| json!({"flag": option.flag, "value": option.value, "help": option.help});
    let mut data = profile_data(profile, "built-in");
    insert(&mut data, "local", profile.local.is_some().into());
    insert(&mut data, "source", Value::Null);
    insert(&mut data, "places", json!(["cluster"]));
    insert(&mut data, "flags", suite_options().iter().map(option).collect());
    insert(&mut data, "submission", CNCF_FILES.map(|name| json!({"name": name})).to_vec().into());
    data
}

fn print_built_in(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    print_profile(profile, "built-in", &["cluster"], out)?;
    let rows: Vec<[Printable; 2]> = suite_options()
        .into_iter()
        .map(|SuiteOption { flag, value, help }| {
            let usage = value.map(|value| format!("{flag} {value}")).unwrap_or(flag);
            [usage, help].map(Printable::from)
        })
        .collect();
    writeln!(out, "submission (docs/submission.md):")?;
    CNCF_FILES.iter().try_for_each(|name| writeln!(out, "  {name}"))?;
    writeln!(out, "options of `plumbline conformance run` for this suite:")?;
    print_rows(&rows, "  ", out)
}

fn origin(found: &FoundProfile) -> String {
    let digest = found.bundle.digest();
    match found.kind {
        SourceKind::BuiltIn => format!("built-in, {digest}"),
        SourceKind::Installed => format!("installed, {digest}"),
        _ => format!("{}, {digest}", found.bundle.dir.display()),
    }
}

fn version(profile: &Profile) -> String {
    let shown = profile.shown_version();
    match &profile.version {
        Version::Fixed(text) => text.clone(),
        Version::Option(name) => match shown {
            Some(version) => format!("{version} (option `{name}`)"),
            None => format!("value of the option `{name}`"),
        },
        Version::Cluster => CLUSTER_VERSION.to_owned(),
        Version::Crd { name, annotation } => {
            format!("that of the cluster (annotation `{annotation}` of custom resource definition `{name}`)")
        }
    }
}

fn places(found: &FoundProfile) -> Vec<&'static str> {
    let process = found.bundle.definition.driver == plumbline_core::Driver::Process;
    let local = (found.profile.local.is_some() || process).then_some("local");
    local.into_iter().chain((!process).then_some("cluster")).collect()
}

fn print_profile(profile: &Profile, origin: &str, places: &[&str], out: &mut impl Write) -> io::Result<()> {
    field(out, "profile:", profile.name.as_str())?;
    field(out, "suite:", &profile.title)?;
    if let Some(description) = &profile.description {
        field(out, "description:", description)?;
    }
    field(out, "version:", version(profile))?;
    field(out, "origin:", origin)?;
    field(out, "runs:", places.join(", "))?;
    print_options(profile, out)?;
    if !profile.submission.is_empty() {
        writeln!(out, "submission:")?;
        let rows: Vec<[Printable; 2]> = profile.submission.iter().map(submitted_row).collect();
        print_rows(&rows, "  ", out)?;
    }
    Ok(())
}

fn print_options(profile: &Profile, out: &mut impl Write) -> io::Result<()> {
    if !profile.options.is_empty() {
        writeln!(out, "options:")?;
        let rows: Vec<[Printable; 4]> = profile.options.iter().map(option_row).collect();
        print_rows(&rows, "  ", out)?;
    }
    if !profile.modes.is_empty() {
        writeln!(out, "modes:")?;
        let row = |mode: &ProfileMode| {
            [mode.name.as_str(), if mode.default { "(default)" } else { "" }, &mode.description].map(Printable::from)
        };
        print_rows(&profile.modes.iter().map(row).collect::<Vec<_>>(), "  ", out)?;
    }
    Ok(())
}

/// Prints what a user can set of a profile, below the help of `conformance run`.
pub(super) fn print_help(context: &Context, reference: &str) -> Result<ExitCode, AppError> {
    let found = match profile_for(Some(reference))? {
        ChosenProfile::Suite(built_in) => built_in.profile.clone(),
        ChosenProfile::Bundle(reference) => profiles::find(context, &reference)?.profile,
    };
    print("failed to print the options of the profile", |out| {
        writeln!(out, "\nProfile `{}`, for `--set NAME=VALUE` and `--mode MODE`:", found.name)?;
        print_options(&found, out)
    })
}

pub(super) fn modes_of_profile(context: &Context, reference: &str, output: OutputArgs) -> Result<ExitCode, AppError> {
    let found = profiles::find(context, reference)?;
    let modes = &found.profile.modes;
    if modes.is_empty() && !output.is_json() {
        say(&format!("profile `{}` has no modes", found.profile.name));
    }
    let data = json!({"modes": modes});
    let text = modes.iter().map(mode_text).collect::<Vec<_>>().join("\n");
    output.print("failed to print the modes", &data, |out| write!(out, "{text}"))
}

fn mode_text(mode: &ProfileMode) -> String {
    let mut text = format!("Mode: {}{}\n", mode.name, if mode.default { " (default)" } else { "" });
    let mut row = |key: &str, value: Printable| text.push_str(&format!("{key}: {value}\n"));
    row("Description", mode.description.as_str().into());
    for (option, value) in &mode.set {
        row(option, value.into());
    }
    if let Some(file) = &mode.required {
        row("Required tests", file.into());
    }
    text
}

fn submitted_row(file: &SubmittedFile) -> [Printable; 2] {
    let source: Printable = match &file.source {
        Source::Archive(path) => path.into(),
        Source::Option(name) => format!("value of the option `{name}`").into(),
    };
    [file.name.as_str().into(), source]
}

fn option_row(option: &ProfileOption) -> [Printable; 4] {
    let kind = match &option.kind {
        OptionType::Enum(values) => values.join("|"),
        other => other.name().to_owned(),
    };
    let state = match (&option.default, option.required, option.secret) {
        (Some(default), ..) => format!("[default: {default}]"),
        (None, true, _) => "(required)".to_owned(),
        (None, false, true) => "(secret)".to_owned(),
        (None, false, false) => String::new(),
    };
    [option.name.as_str(), &kind, &state, &option.help].map(Printable::from)
}

/// Returns a profile as data. Keys are never removed or renamed.
fn profile_data(profile: &Profile, origin: &str) -> Value {
    let option = |option: &ProfileOption| {
        let values = match &option.kind {
            OptionType::Enum(values) => Some(values),
            _ => None,
        };
        json!({
            "name": option.name, "type": option.kind.name(), "values": values, "help": option.help,
            "default": option.default, "required": option.required, "secret": option.secret,
        })
    };
    let submitted = |file: &SubmittedFile| match &file.source {
        Source::Archive(path) => json!({"name": file.name, "from": path}),
        Source::Option(name) => json!({"name": file.name, "option": name}),
    };
    json!({
        "name": profile.name, "suite": profile.title, "description": profile.description,
        "version": profile.shown_version(), "origin": origin,
        "options": profile.options.iter().map(option).collect::<Vec<_>>(),
        "modes": profile.modes,
        "tests": profile.tests,
        "submission": profile.submission.iter().map(submitted).collect::<Vec<_>>(),
    })
}
