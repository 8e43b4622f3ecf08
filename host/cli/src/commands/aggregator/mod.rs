//! `plumbline aggregator`: the role in the cluster that dispatches plugins and collects what they find.

mod beginning;
mod bundles;
mod configured;
mod end;
mod ground;
mod last;
mod plugins;
mod role;
mod send;

pub(crate) use role::aggregator;
