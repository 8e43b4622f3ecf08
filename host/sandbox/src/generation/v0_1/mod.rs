//! `plumbline:plugin@0.1.x`.

mod bindings;
mod input_impl;
mod judgement_impl;
mod log_impl;
mod output_impl;
mod results_impl;
mod roles;

pub(crate) use roles::{Answer, Bound, add_to_linker};
