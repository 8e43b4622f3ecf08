//! `plumbline:plugin@0.1.x`.

mod bindings;
mod imports;
mod roles;

pub(crate) use bindings::post_processor::plumbline::plugin::types::{
    Detail as RawDetail, Item as RawItem, Status as RawStatus,
};
pub(crate) use roles::{Answer, Bound, add_to_linker};
