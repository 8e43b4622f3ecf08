//! Post-processing of a plugin: reads every result set with the module, adds errors, rolls up
//! statuses, and writes the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Read, Write};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use plumbline_archive::atomic::AtomicFile;
use plumbline_core::rollup::{REASON, Tally};
use plumbline_core::{FlatItem, Status};
use plumbline_sandbox::{InputFile, ModuleFailure, PostProcess};

use super::calls::{CallSink, RunLog, summarize, summary_item};
use super::detect::Detectors;
use super::failures::Failures;
use super::files::{ResultSet, Selection, SetDirectory, SetFile, result_sets};
use super::items::{
    EXIT_FILE, error_item, failure_item, is_crash, is_no_tests, is_stdout, unknown_item, unread_item, unusable_item,
};
use super::outcome::{
    Decided, Detected, Detections, Outcome, PostProcessError, Subject, Usage, io_error, is_of_data, reason,
};
use super::replay::keep;
use super::spool::{LeafCounts, Spool, SpoolWriter};
use super::yaml;
use crate::modules::LazyModule;

/// Maximum number of pieces of work per thread: balances the load with few open files.
const PIECES_PER_THREAD: usize = 4;

/// Post-processes the plugin's directory `dir` (with `results/` and `errors/`) with `module`, and
/// atomically writes the tree to the file `tree`. In an archive, that file is
/// [`TREE_FILE`](super::TREE_FILE) in `dir`.
///
/// Blocking, with one thread per core. Temporary files in `scratch` take about as much space as the
/// tree, and twice as much with a summarizer.
///
/// It waits for modules that are being compiled. An item replaces the output of an unusable one.
///
/// # Errors
/// Only when this machine fails, such as for a full disk.
pub fn post_process(
    subject: &Subject<'_>,
    dir: &Path,
    module: &LazyModule,
    scratch: &Path,
    tree: &Path,
) -> Result<Outcome, PostProcessError> {
    match process(subject, dir, module, scratch, tree) {
        Err(PostProcessError::Io { source, .. }) if is_of_data(&source) => {
            write_unknown(subject, scratch, tree, source.to_string())
        }
        Err(error @ PostProcessError::Pattern { .. }) => write_unknown(subject, scratch, tree, error.to_string()),
        done => done,
    }
}

fn process(
    subject: &Subject<'_>,
    dir: &Path,
    module: &LazyModule,
    scratch: &Path,
    tree: &Path,
) -> Result<Outcome, PostProcessError> {
    let name = &subject.plugin.name;
    let reading = || io_error(format!("failed to list the results of plugin `{name}`"));
    let selection = Selection::new(subject.result_files, &module.info().default_files)
        .map_err(|source| PostProcessError::Pattern { module: module.name(), source })?;
    let sets = |top: &str| result_sets(dir, top, subject.per_node).map_err(reading());
    let (results, errors) = (sets("results")?, sets("errors")?);

    let work = Work {
        subject,
        module,
        detectors: Detectors::new(&subject.detectors)?,
        selection: &selection,
        scratch,
        findings: Mutex::default(),
    };
    let failed = || io_error(format!("failed to post-process plugin `{name}`"));
    let mut spools = run_all(&work, &results, run_results).map_err(failed())?;
    // The meaning of errors depends on the results.
    spools.extend(run_all(&work, &errors, run_errors).map_err(failed())?);
    spools.retain(|spool| spool.items > 0);
    let Findings { mut usage, detections, decided, .. } = work.findings.into_inner();
    let mut summary = None;
    // Without results, a summary must not make it look as if there were some.
    if let Some(module) = subject.summarizer.as_ref().filter(|_| !spools.is_empty()) {
        let summarised = summarize(subject, module, scratch, spools, &mut usage)
            .map_err(io_error(format!("failed to summarise the results of plugin `{name}`")))?;
        spools = summarised.0;
        summary = Some(summarised.1).filter(|summary| summary.items > 0);
    }
    let outcome = write_tree(subject, tree, spools, summary, decided)
        .map_err(io_error(format!("failed to write the result tree of plugin `{name}`")))?;
    Ok(Outcome { usage, detections: subject.is_auto().then_some(detections), ..outcome })
}

/// Adds the items of a set to a spool.
type RunSet = fn(&Work<'_>, &ResultSet, &mut SpoolWriter) -> io::Result<()>;

/// Input of all threads, and what they find.
struct Work<'a> {
    subject: &'a Subject<'a>,
    module: &'a LazyModule,
    detectors: Detectors<'a>,
    selection: &'a Selection,
    scratch: &'a Path,
    findings: Mutex<Findings>,
}

#[derive(Default)]
struct Findings {
    usage: Usage,
    detections: Detections,
    /// Result sets with a failure, by node. Errors and exit codes depend on them.
    failed: BTreeSet<Option<String>>,
    /// Result sets of which nothing was read, by node.
    unread: BTreeSet<Option<String>>,
    /// Result sets in which something ran, by node.
    ran: BTreeSet<Option<String>>,
    decided: Decided,
}

/// Processes every set. Adjacent sets share a spool. Spools are in the order of their sets.
fn run_all(work: &Work<'_>, sets: &[SetDirectory], run: RunSet) -> io::Result<Vec<Spool>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(sets.len()).max(1);
    let per_piece = sets.len().div_ceil(threads * PIECES_PER_THREAD).max(1);
    let pieces: Vec<&[SetDirectory]> = sets.chunks(per_piece).collect();
    let done: Mutex<Vec<Option<io::Result<Spool>>>> = Mutex::new(pieces.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((at, piece)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    pieces.get(at).map(|piece| (at, piece))
                } {
                    let spool = catch_unwind(AssertUnwindSafe(|| run_piece(work, piece, run)));
                    let spool = spool.unwrap_or_else(|_| Err(io::Error::other("reading the results panicked")));
                    if let Some(slot) = done.lock().get_mut(at) {
                        *slot = Some(spool);
                    }
                }
            });
        }
    });
    let done = done.into_inner();
    done.into_iter()
        .map(|slot| slot.unwrap_or_else(|| Err(io::Error::other("a result set was not processed"))))
        .collect()
}

fn run_piece(work: &Work<'_>, sets: &[SetDirectory], run: RunSet) -> io::Result<Spool> {
    let reads_again = work.subject.summarizer.is_some() || work.subject.keep_items.is_some();
    let mut spool = SpoolWriter::create(work.scratch, work.subject.per_node, reads_again)?;
    for directory in sets {
        run(work, &directory.list()?, &mut spool)?;
    }
    spool.finish()
}

/// Adds the item of the set's node, if it has one. Returns how deep the items of the set are.
fn push_node(set: &ResultSet, spool: &mut SpoolWriter) -> io::Result<u32> {
    let Some(node) = &set.node else { return Ok(0) };
    let meta = [("type".to_owned(), "node".to_owned())].into();
    spool.push(&FlatItem { name: node.clone(), meta, ..FlatItem::default() })?;
    Ok(1)
}

/// Adds the items of a result set, and an item if nothing ran, which the definition allows.
fn run_results(work: &Work<'_>, set: &ResultSet, spool: &mut SpoolWriter) -> io::Result<()> {
    let leaves = spool.leaves();
    let shift = push_node(set, spool)?;
    let items = spool.items;
    let files: Vec<&SetFile> = set.files.iter().filter(|file| work.selection.takes(file)).collect();
    // If nothing may run, no file is missing. Nodes of different roles may write different files.
    let may_be_empty = set.node.is_some() || (work.subject.allow_empty && files.is_empty());
    let missing = if may_be_empty { Vec::new() } else { work.selection.missing(&files) };
    let read = if work.subject.is_auto() {
        run_detected(work, &files, set, shift, spool)
    } else {
        run_module(work, work.module, &files, set, shift, spool)
    };
    let fault = match read {
        Err(error) if is_of_data(&error) => Some(error.to_string()),
        read => read.map(|()| set.fault.clone())?,
    };
    if let Some(reason) = fault {
        let node = set.node.as_deref().unwrap_or("global");
        tracing::warn!(plugin = work.subject.plugin.name, node, "failed to read results: {reason}");
        work.findings.lock().usage.broke(reason.clone());
        spool.push(&unknown_item(reason, None, shift))?;
    }
    for name in missing {
        spool.push(&unknown_item(format!("result file {name} is missing"), None, shift))?;
    }
    // If the set has no items, the node itself is a leaf, which does not count.
    let leaves = if spool.items == items { LeafCounts::default() } else { spool.leaves().since(leaves) };
    if leaves.failed > 0 {
        work.findings.lock().failed.insert(set.node.clone());
    }
    if !leaves.ran_nothing() && !leaves.is_unread() {
        work.findings.lock().ran.insert(set.node.clone());
    }
    if work.subject.allow_empty && leaves.ran_nothing() {
        work.findings.lock().decided.by_allow_empty = true;
        let name = "nothing ran".to_owned();
        let meta = [(REASON.to_owned(), "`plumbline.allow-empty` allows it".to_owned())].into();
        spool.push(&FlatItem { depth: shift, name, status: Some(Status::Passed), meta, ..FlatItem::default() })?;
    } else if leaves.is_unread() {
        work.findings.lock().unread.insert(set.node.clone());
    }
    Ok(())
}

/// Adds items for errors and for the ends of executions.
///
/// A nonzero exit code has no item if the results contain a failure: suites exit so anyway, and no
/// list of known failures could excuse it. A crash always has one, because tests after it did not
/// run.
///
/// Exit code 0 has an item only if no result was read.
fn run_errors(work: &Work<'_>, set: &ResultSet, spool: &mut SpoolWriter) -> io::Result<()> {
    let (failed, unread, ran) = {
        let findings = work.findings.lock();
        let has = |sets: &BTreeSet<Option<String>>| sets.contains(&set.node);
        (has(&findings.failed), has(&findings.unread), has(&findings.ran))
    };
    let shift = u32::from(set.node.is_some());
    let (mut items, mut dropped) = (Vec::new(), false);
    for file in &set.files {
        let Some(item) = error_item(file, shift)? else { continue };
        match (file.name() == EXIT_FILE, &item.status) {
            (true, Some(Status::Passed)) if unread => {
                work.findings.lock().decided.by_exit_code = true;
                items.push(item);
            }
            (true, Some(Status::Passed)) => dropped = true,
            (true, _) if is_no_tests(&item) && !ran => dropped = true,
            (true, _) if failed && !is_crash(&item) => dropped = true,
            _ => items.push(item),
        }
    }
    if items.is_empty() && dropped {
        return Ok(());
    }
    push_node(set, spool)?;
    items.iter().try_for_each(|item| spool.push(item))
}

/// Calls each module that detects some of `files` with those files, and lists the rest as not read.
fn run_detected(
    work: &Work<'_>,
    files: &[&SetFile],
    set: &ResultSet,
    shift: u32,
    spool: &mut SpoolWriter,
) -> io::Result<()> {
    let mut groups: Vec<(&LazyModule, Vec<&SetFile>)> = Vec::new();
    let mut unread: Vec<&SetFile> = Vec::new();
    for file in files {
        let Some((module, format)) = work.detectors.find(file)? else {
            unread.push(file);
            continue;
        };
        work.findings.lock().detections.add(Detected { file: file.path.clone(), format, module: module.name() });
        match groups.iter_mut().find(|(known, _)| known.info().digest == module.info().digest) {
            Some((_, group)) => group.push(file),
            None => groups.push((module, vec![file])),
        }
    }
    for (module, group) in &groups {
        run_module(work, module, group, set, shift, spool)?;
    }
    for file in unread {
        let is_stdout = is_stdout(work.subject, file);
        if !is_stdout {
            work.findings.lock().detections.unread += 1;
        }
        // The standard output of a tool is also in its log.
        if !is_stdout || groups.is_empty() {
            spool.push(&unread_item(file, is_stdout, shift))?;
        }
    }
    Ok(())
}

fn run_module(
    work: &Work<'_>,
    lazy: &LazyModule,
    files: &[&SetFile],
    set: &ResultSet,
    shift: u32,
    spool: &mut SpoolWriter,
) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let module = match lazy.wait() {
        Ok(module) => module,
        Err(error) => {
            work.findings.lock().usage.broke(error.to_string());
            return spool.push(&unusable_item(&error, shift));
        }
    };
    let files: Vec<InputFile> = files.iter().map(|file| input_file(file)).collect();
    let name = lazy.name();
    let mut log = RunLog::new(&work.subject.plugin.name, &name);
    let call = PostProcess { plugin: &work.subject.plugin, files, limits: &work.subject.limits };
    let below_node = |item: FlatItem| FlatItem { depth: item.depth + shift, ..item };
    let mut sink = CallSink::new(spool, &work.subject.limits, below_node);
    let called = module.post_process(call, &mut sink, &mut log).map_err(|failure| log.explain(failure));
    work.findings.lock().usage.count(&called);
    match called {
        Ok(_) => Ok(()),
        Err(ModuleFailure::Host(error)) => Err(error),
        Err(failure) => {
            let node = set.node.as_deref().unwrap_or("global");
            tracing::warn!(plugin = work.subject.plugin.name, node, "{failure}");
            spool.push(&failure_item(&failure, shift))
        }
    }
}

fn input_file(file: &SetFile) -> InputFile {
    let absolute = file.absolute.clone();
    InputFile {
        path: file.path.clone(),
        size: file.size,
        open: Box::new(move || File::open(absolute).map(|file| Box::new(file) as Box<dyn Read + Send>)),
    }
}

/// Writes the tree. `summary` has items that follow those of the result sets.
fn write_tree(
    subject: &Subject<'_>,
    tree: &Path,
    mut spools: Vec<Spool>,
    summary: Option<Spool>,
    decided: Decided,
) -> io::Result<Outcome> {
    let sets = spools.len();
    spools.extend(summary);
    let custom_mode = spools.iter().any(|spool| spool.custom_leaf);
    let mut roots = Tally::default();
    let mut outcome = Outcome::default();
    let mut failures = Failures::default();
    for (at, spool) in spools.iter_mut().enumerate() {
        // Only result sets have nodes, not the summary.
        let resolved = spool.resolve(custom_mode, subject.per_node && at < sets)?;
        outcome.items += spool.items;
        failures.append(std::mem::take(&mut spool.failures));
        for (status, n) in &resolved.roots {
            roots.add_many(status, *n);
        }
        for (status, n) in resolved.counts {
            *outcome.total.counts.entry(status).or_default() += n;
        }
        for (name, node) in resolved.per_root {
            match outcome.nodes.get_mut(&name) {
                // A node can be below both `results` and `errors`.
                Some(known) => known.merge(node, custom_mode),
                None => drop(outcome.nodes.insert(name, node)),
            }
        }
    }
    outcome.failures = failures.into_list(outcome.nodes.len() as u64);
    outcome.total.status = if outcome.items == 0 { Status::Unknown } else { roots.result(custom_mode) };

    let mut meta: BTreeMap<String, String> = [("type".to_owned(), "summary".to_owned())].into();
    outcome.reason = match subject.nothing_expected {
        Some(why) if outcome.items == 0 => Some(why.to_owned()),
        _ => reason(&outcome.total, &subject.plugin.format, decided),
    };
    if let Some(reason) = &outcome.reason {
        meta.insert(REASON.into(), reason.clone());
    }
    if !subject.warnings.is_empty() {
        meta.insert("warning".into(), subject.warnings.join("; "));
    }
    let mut out = BufWriter::with_capacity(256 << 10, AtomicFile::create(tree)?);
    let mut head = String::new();
    yaml::root(&mut head, &subject.plugin.name, outcome.total.status.as_str(), &meta, !spools.is_empty());
    out.write_all(head.as_bytes())?;
    for spool in &mut spools {
        spool.write(&mut out)?;
    }
    out.into_inner().map_err(IntoInnerError::into_error)?.commit()?;
    if let Some(path) = &subject.keep_items {
        keep(path, spools, sets, subject.per_node)?;
    }
    Ok(outcome)
}

/// Writes the tree of a plugin whose results could not be read: one item with the reason.
fn write_unknown(
    subject: &Subject<'_>,
    scratch: &Path,
    tree: &Path,
    reason: String,
) -> Result<Outcome, PostProcessError> {
    tracing::warn!(plugin = subject.plugin.name, "failed to read the results: {reason}");
    let usage = Usage { broken: vec![reason.clone()], ..Usage::default() };
    let written = SpoolWriter::create(scratch, false, subject.keep_items.is_some()).and_then(|mut spool| {
        spool.push(&summary_item(unknown_item(reason, None, 0)))?;
        write_tree(subject, tree, Vec::new(), Some(spool.finish()?), Decided::default())
    });
    let outcome =
        written.map_err(io_error(format!("failed to write the result tree of plugin `{}`", subject.plugin.name)))?;
    Ok(Outcome { usage, ..outcome })
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
