//! Rules about the kernel and what it has mounted.

use plumbline_sdk::Context;
use plumbline_sdk::context::FileError;

use crate::rule::{Outcome, exists, first_line};

/// The oldest release of the kernel that is supported.
const OLDEST: (u32, u32) = (4, 19);
/// The controllers that a kubelet needs.
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];

pub(crate) fn swap(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/swaps";
    let text = context.read_to_string(FILE)?;
    let mut lines = text.lines();
    if !lines.next().is_some_and(|head| head.starts_with("Filename")) {
        return Ok(Outcome::unparsed(FILE));
    }
    // The third column is the size in KiB.
    let sizes: Option<Vec<u64>> = lines.map(|line| line.split_whitespace().nth(2)?.parse().ok()).collect();
    Ok(match sizes.map(|sizes| sizes.iter().sum::<u64>()) {
        None => Outcome::unparsed(FILE),
        Some(0) => Outcome::Passed,
        Some(kib) => Outcome::Failed(format!("{}.{} GiB of swap in use", kib >> 20, ((kib & 0xf_ffff) * 10) >> 20)),
    })
}

pub(crate) fn bridge_filter(context: &mut Context) -> Result<Outcome, FileError> {
    // A kernel that contains the module has the first directory only.
    let is_loaded = exists(context, "/proc/sys/net/bridge")? || exists(context, "/sys/module/br_netfilter")?;
    Ok(Outcome::passed_if(is_loaded, || "the module is not loaded".to_owned()))
}

pub(crate) fn overlay(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/filesystems";
    let text = context.read_to_string(FILE)?;
    let mut names = text.lines().filter_map(|line| line.split_whitespace().next_back());
    if !text.contains("nodev") {
        return Ok(Outcome::unparsed(FILE));
    }
    Ok(Outcome::passed_if(names.any(|name| name == "overlay"), || {
        "the kernel does not support `overlay`, or its module is not loaded".to_owned()
    }))
}

pub(crate) fn control_groups(context: &mut Context) -> Result<Outcome, FileError> {
    const ROOT: &str = "/sys/fs/cgroup";
    context.metadata(ROOT)?;
    let text = match context.read_to_string(&format!("{ROOT}/cgroup.controllers")) {
        Ok(text) => text,
        Err(FileError::NotFound { .. }) => {
            return Ok(Outcome::Failed("the unified hierarchy is not mounted".to_owned()));
        }
        Err(error) => return Err(error),
    };
    let is_missing = |wanted: &&str| text.split_whitespace().all(|controller| controller != *wanted);
    let missing: Vec<&str> = CONTROLLERS.into_iter().filter(is_missing).collect();
    Ok(Outcome::passed_if(missing.is_empty(), || format!("missing controllers: {}", missing.join(", "))))
}

pub(crate) fn release(context: &mut Context) -> Result<Outcome, FileError> {
    const FILE: &str = "/proc/sys/kernel/osrelease";
    let text = first_line(context, FILE)?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Ok(match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => {
            Outcome::passed_if((major, minor) >= OLDEST, || format!("the release is {text}"))
        }
        _ => Outcome::unparsed(FILE),
    })
}
