//! What the files of a release are made from.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::docs::{self, Docs};
use super::provenance::Source;
use super::{chart, check_bundles, profiles, sbom};
use crate::error::Error;
use crate::image::Tree;
use crate::paths::Workspace;
use crate::program::{self, Platform};

/// A static program.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) platform: Platform,
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Program {
    pub(super) fn read(platform: Platform, path: PathBuf) -> Result<Self, Error> {
        let bytes = fs::read(&path).map_err(Error::io("read the program", &path))?;
        if program::is_static(&bytes) {
            Ok(Self { platform, path, bytes })
        } else {
            Err(Error::unexpected(format!(
                "`{}` is not a static binary, so it runs only on some systems",
                path.display()
            )))
        }
    }
}

/// Everything that determines the bytes of the files.
#[derive(Debug)]
pub(super) struct Inputs {
    /// At least one program.
    pub(super) programs: Vec<Program>,
    pub(super) docs: Docs,
    /// The files of the Helm chart.
    pub(super) chart: Tree,
    /// The bundles of the profiles, by name.
    pub(super) profiles: BTreeMap<String, Vec<u8>>,
    /// The bundles of the example checks, by name.
    pub(super) checks: BTreeMap<String, Vec<u8>>,
    pub(super) sbom: Vec<u8>,
    pub(super) source: Source,
}

impl Inputs {
    /// Reads the repository, and lets a program print its completions and man pages, and pack the
    /// profiles and checks.
    pub(super) fn collect(workspace: &Workspace, programs: Vec<Program>) -> Result<Self, Error> {
        let native = programs.iter().find(|program| program.platform.is_native());
        let Some(printer) = native.or(programs.first()) else {
            return Err(Error::Usage("no program to release".to_owned()));
        };
        Ok(Self {
            docs: docs::collect(workspace, printer)?,
            chart: chart::read(workspace.root())?,
            profiles: profiles::collect(workspace, printer)?,
            checks: check_bundles::collect(workspace, printer)?,
            sbom: sbom::generate(workspace)?,
            source: Source::of(workspace.root())?,
            programs,
        })
    }
}
