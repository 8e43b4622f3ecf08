//! Generates `docs/wit.md`, the documentation of the contract.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use wit_parser::{
    Docs, Function, FunctionKind, Interface, PackageId, Resolve, Type, TypeDef, TypeDefKind, TypeId, WorldId, WorldItem,
};

use crate::error::BindingsError;
use crate::registry::Files;
use crate::shape::{Naming, Writer};

/// The path of the page.
const PAGE: &str = "docs/wit.md";

/// Returns the page.
pub(crate) fn files(resolve: &Resolve, package: PackageId) -> Result<Files, BindingsError> {
    let mut page = Page { writer: Writer { resolve, naming: Naming::Short }, text: String::new() };
    page.package(package).map_err(|error| BindingsError::Generator { what: PAGE, cause: error.to_string() })?;
    Ok(Files::from([(PathBuf::from(PAGE), page.text.into_bytes())]))
}

/// A page that is being written.
struct Page<'a> {
    writer: Writer<'a>,
    text: String,
}

/// The section of the page that an interface belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Role,
    Given,
    Data,
}

impl Page<'_> {
    #[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
    fn package(&mut self, id: PackageId) -> std::fmt::Result {
        let resolve = self.writer.resolve;
        let package = &resolve.packages[id];
        writeln!(self.text, "<!-- Generated from wit/ by `cargo xtask bindings`: do not edit. -->\n")?;
        writeln!(self.text, "# The contract: `{}`\n", package.name)?;
        self.docs(&package.docs)?;
        writeln!(
            self.text,
            "The files in [`wit/`](../wit) are the contract itself.\n\
             [`wit/since_v0.1.0/`](../wit/since_v0.1.0) is the frozen generation that existing modules are built\n\
             against. [authors-guide.md](authors-guide.md) shows how to write a module.\n"
        )?;
        let mut interfaces: Vec<&Interface> = package.interfaces.values().map(|&id| &resolve.interfaces[id]).collect();
        interfaces.sort_by_key(|interface| interface.name.clone());
        let worlds: Vec<WorldId> = package.worlds.values().copied().collect();
        self.worlds(&worlds)?;
        let parts = [
            (Part::Role, "Roles", "A module exports at least one of these."),
            (Part::Given, "Imports", "A module may import these from the host."),
            (Part::Data, "Data", "Several interfaces share these types."),
        ];
        for (part, title, what) in parts {
            writeln!(self.text, "## {title}\n\n{what}\n")?;
            for interface in &interfaces {
                if self.part(&worlds, interface) == part {
                    self.interface(interface)?;
                }
            }
        }
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.text.push('\n');
        Ok(())
    }

    #[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
    fn part(&self, worlds: &[WorldId], interface: &Interface) -> Part {
        let exported = worlds.iter().flat_map(|&id| self.writer.resolve.worlds[id].exports.values());
        let mut exported = exported.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => self.writer.resolve.interfaces[*id].name.as_deref(),
            _ => None,
        });
        match interface.name.as_deref() {
            Some(name) if exported.any(|exported| exported == name) => Part::Role,
            _ if interface.functions.is_empty() => Part::Data,
            _ => Part::Given,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
    fn worlds(&mut self, worlds: &[WorldId]) -> std::fmt::Result {
        writeln!(self.text, "## Worlds\n\nA module is built against a world.\n")?;
        let mut worlds: Vec<_> = worlds.iter().map(|&id| &self.writer.resolve.worlds[id]).collect();
        worlds.sort_by_key(|world| (world.exports.len(), world.name.clone()));
        for world in worlds {
            writeln!(self.text, "### <a id=\"{0}\"></a>world `{0}`\n", world.name)?;
            self.docs(&world.docs)?;
            for (word, items) in [("imports", &world.imports), ("exports", &world.exports)] {
                let names: BTreeSet<String> = items
                    .values()
                    .filter_map(|item| match item {
                        WorldItem::Interface { id, .. } => self.writer.resolve.interfaces[*id].name.clone(),
                        _ => None,
                    })
                    .collect();
                let links: Vec<String> = names.iter().map(|name| format!("[`{name}`](#{name})")).collect();
                writeln!(self.text, "* {word}: {}", links.join(", "))?;
            }
            writeln!(self.text)?;
        }
        Ok(())
    }

    fn interface(&mut self, interface: &Interface) -> std::fmt::Result {
        let name = interface.name.as_deref().unwrap_or_default();
        writeln!(self.text, "### <a id=\"{name}\"></a>interface `{name}`\n")?;
        self.docs(&interface.docs)?;
        let functions = interface.functions.values();
        let (free, methods): (Vec<&Function>, Vec<&Function>) = functions.partition(|function| of(function).is_none());
        for function in free {
            self.function(name, &function.name, function)?;
        }
        for (type_name, &id) in &interface.types {
            if self.writer.origin(id) != id {
                continue;
            }
            self.type_definition(name, type_name, self.writer.def(id))?;
            for function in methods.iter().filter(|function| of(function) == Some(id)) {
                let short = function.name.rsplit_once('.').map_or(function.name.as_str(), |(_, short)| short);
                self.function(&format!("{name}.{type_name}"), short, function)?;
            }
        }
        Ok(())
    }

    fn type_definition(&mut self, interface: &str, name: &str, def: &TypeDef) -> std::fmt::Result {
        let kind = match &def.kind {
            TypeDefKind::Type(_) => "type",
            other => other.as_str(),
        };
        writeln!(self.text, "#### <a id=\"{interface}.{name}\"></a>{kind} `{name}`\n")?;
        self.docs(&def.docs)?;
        let rows: Vec<(&str, Option<&Type>, &Docs)> = match &def.kind {
            TypeDefKind::Record(record) => {
                record.fields.iter().map(|field| (field.name.as_str(), Some(&field.ty), &field.docs)).collect()
            }
            TypeDefKind::Variant(variant) => {
                variant.cases.iter().map(|case| (case.name.as_str(), case.ty.as_ref(), &case.docs)).collect()
            }
            TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| (case.name.as_str(), None, &case.docs)).collect(),
            TypeDefKind::Flags(flags) => {
                flags.flags.iter().map(|flag| (flag.name.as_str(), None, &flag.docs)).collect()
            }
            TypeDefKind::Resource => return Ok(()),
            other => {
                return writeln!(self.text, "`{}`\n", self.writer.kind(other));
            }
        };
        let typed = rows.iter().any(|(_, ty, _)| ty.is_some());
        let what = if matches!(def.kind, TypeDefKind::Record(_)) { "field" } else { "case" };
        writeln!(
            self.text,
            "{}",
            if typed { format!("| {what} | type | |\n|---|---|---|") } else { format!("| {what} | |\n|---|---|") }
        )?;
        for (name, ty, docs) in rows {
            let about = docs.contents.as_deref().unwrap_or_default();
            let about = about.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            let ty = ty.map(|ty| self.linked(ty)).unwrap_or_default();
            let row = if typed { format!("| `{name}` | {ty} | {about} |") } else { format!("| `{name}` | {about} |") };
            writeln!(self.text, "{}", row.replace("|  |", "| |"))?;
        }
        writeln!(self.text)
    }

    fn function(&mut self, place: &str, name: &str, function: &Function) -> std::fmt::Result {
        writeln!(self.text, "#### <a id=\"{place}.{name}\"></a>`{name}`\n")?;
        writeln!(self.text, "```wit\n{name}: {}\n```\n", self.writer.signature(function))?;
        self.docs(&function.docs)?;
        let mut named = Vec::new();
        for ty in function.params.iter().map(|param| &param.ty).chain(&function.result) {
            self.names(ty, &mut named);
        }
        let mut links: Vec<String> = Vec::new();
        for id in named {
            let link = self.link(id);
            if !links.contains(&link) && of(function).is_none_or(|receiver| self.writer.origin(id) != receiver) {
                links.push(link);
            }
        }
        if !links.is_empty() {
            writeln!(self.text, "Types: {}.\n", links.join(", "))?;
        }
        Ok(())
    }

    /// Returns a type for a table, with a link to the first named type in it.
    fn linked(&self, ty: &Type) -> String {
        let mut named = Vec::new();
        self.names(ty, &mut named);
        let text = self.writer.ty(ty);
        match named.first().and_then(|&id| self.writer.full_name(id)) {
            Some(target) => format!("[`{text}`](#{target})"),
            None => format!("`{text}`"),
        }
    }

    fn link(&self, id: TypeId) -> String {
        let full = self.writer.full_name(id).unwrap_or_default();
        let short = full.rsplit_once('.').map_or(full.as_str(), |(_, short)| short);
        format!("[`{short}`](#{full})")
    }

    /// Collects the named types in a type, in the order in which they are written.
    fn names(&self, ty: &Type, found: &mut Vec<TypeId>) {
        let Type::Id(id) = ty else { return };
        let def = self.writer.def(*id);
        if def.name.is_some() {
            found.push(*id);
            return;
        }
        match &def.kind {
            TypeDefKind::Handle(wit_parser::Handle::Own(id) | wit_parser::Handle::Borrow(id)) => found.push(*id),
            TypeDefKind::List(ty) | TypeDefKind::Option(ty) | TypeDefKind::FixedLengthList(ty, _) => {
                self.names(ty, found)
            }
            TypeDefKind::Tuple(tuple) => tuple.types.iter().for_each(|ty| self.names(ty, found)),
            TypeDefKind::Map(key, value) => [key, value].into_iter().for_each(|ty| self.names(ty, found)),
            TypeDefKind::Result(result) => {
                [&result.ok, &result.err].into_iter().flatten().for_each(|ty| self.names(ty, found))
            }
            TypeDefKind::Future(ty) | TypeDefKind::Stream(ty) => ty.iter().for_each(|ty| self.names(ty, found)),
            _ => {}
        }
    }

    fn docs(&mut self, docs: &Docs) -> std::fmt::Result {
        match docs.contents.as_deref().map(str::trim) {
            Some(text) if !text.is_empty() => writeln!(self.text, "{text}\n"),
            _ => Ok(()),
        }
    }
}

/// Returns the resource that a function belongs to.
fn of(function: &Function) -> Option<TypeId> {
    match function.kind {
        FunctionKind::Method(id)
        | FunctionKind::AsyncMethod(id)
        | FunctionKind::Static(id)
        | FunctionKind::AsyncStatic(id)
        | FunctionKind::Constructor(id) => Some(id),
        FunctionKind::Freestanding | FunctionKind::AsyncFreestanding => None,
    }
}
