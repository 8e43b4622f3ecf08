//! `plumbline:plugin@0.1.x`.

mod bindings;
mod imports;
mod roles;

pub(crate) use roles::{Answer, Bound, add_to_linker};
