//! Checks whether a later version of the contract is compatible with modules of an earlier one.

use std::collections::{BTreeMap, BTreeSet};

use wit_parser::{InterfaceId, WorldId, WorldItem, WorldKey};

use crate::contract::Contract;
use crate::shape::{Naming, Writer};

/// Returns everything of `frozen` that is missing or different in `current`, as a sentence with the
/// name for each. If the list is empty, every module that was built against `frozen` works with
/// `current`.
///
/// * Each interface, type and function of the frozen package exists with the same shape. A new
///   field in a record, or a new case in a variant, changes its memory layout, so it is
///   incompatible.
/// * Interfaces that modules import may gain functions and types, and modules may import new
///   interfaces. Interfaces that modules export (roles) may gain types, but not functions, because
///   existing modules do not have them.
/// * A world exports exactly what it exported before, and imports at least what it imported before.
///   A source for it therefore still builds.
#[must_use]
pub fn differences(frozen: &Contract, current: &Contract) -> Vec<String> {
    let mut said = Vec::new();
    let name = |contract: &Contract| (contract.package().name.namespace.clone(), contract.package().name.name.clone());
    if name(frozen) != name(current) {
        let names = (&frozen.package().name, &current.package().name);
        said.push(format!("the package was `{}`, and is `{}`", names.0, names.1));
    }
    let (before, now) = (members(frozen), members(current));
    for (name, shape) in &before {
        match now.get(name) {
            None => said.push(format!("`{name}` is gone")),
            Some(new) if new != shape => said.push(format!("`{name}` was `{shape}`, and is `{new}`")),
            Some(_) => {}
        }
    }
    let roles = roles(frozen);
    for (name, shape) in &now {
        let role = name.split_once('.').map_or(name.as_str(), |(interface, _)| interface);
        if roles.contains(role) && shape.contains("func(") && !before.contains_key(name) {
            said.push(format!("`{name}` is new in a role: modules that were built before do not export it"));
        }
    }
    worlds(frozen, current, &mut said);
    said
}

/// Returns the shapes of interfaces and their members, by `interface` and `interface.name`.
#[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
fn members(contract: &Contract) -> BTreeMap<String, String> {
    let writer = Writer { resolve: contract.resolve(), naming: Naming::Full };
    let mut members = BTreeMap::new();
    for (name, &id) in &contract.package().interfaces {
        members.insert(name.clone(), "interface".to_owned());
        let interface = &contract.resolve().interfaces[id];
        for (of, &ty) in &interface.types {
            // A type from another interface is compared there. Here, only its name matters, for
            // sources that use it.
            let shape = if writer.origin(ty) == ty {
                writer.kind(&writer.def(ty).kind)
            } else {
                format!("use {}", writer.full_name(ty).unwrap_or_default())
            };
            members.insert(format!("{name}.{of}"), shape);
        }
        for (of, function) in &interface.functions {
            members.insert(format!("{name}.{of}"), writer.signature(function));
        }
    }
    members
}

/// Returns the interfaces that any world of the package exports.
fn roles(contract: &Contract) -> BTreeSet<String> {
    contract.package().worlds.values().flat_map(|&world| sides(contract, world).1).collect()
}

/// Returns the imports and the exports of a world.
#[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
pub(crate) fn sides(contract: &Contract, world: WorldId) -> (BTreeSet<String>, BTreeSet<String>) {
    let world = &contract.resolve().worlds[world];
    let name = |(key, item): (&WorldKey, &WorldItem)| match (key, item) {
        (WorldKey::Name(name), _) => name.clone(),
        (WorldKey::Interface(id), _) => interface_name(contract, *id),
    };
    (world.imports.iter().map(name).collect(), world.exports.iter().map(name).collect())
}

#[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
fn interface_name(contract: &Contract, id: InterfaceId) -> String {
    contract.resolve().interfaces[id].name.clone().unwrap_or_default()
}

fn worlds(frozen: &Contract, current: &Contract, said: &mut Vec<String>) {
    for (name, &world) in &frozen.package().worlds {
        let Some(&new) = current.package().worlds.get(name) else {
            said.push(format!("the world `{name}` is gone"));
            continue;
        };
        let (before, now) = (sides(frozen, world), sides(current, new));
        for import in before.0.difference(&now.0) {
            said.push(format!("the world `{name}` no longer imports `{import}`"));
        }
        for export in before.1.difference(&now.1) {
            said.push(format!("the world `{name}` no longer exports `{export}`"));
        }
        for export in now.1.difference(&before.1) {
            said.push(format!("the world `{name}` asks for `{export}` too: make a new world for it"));
        }
    }
}
