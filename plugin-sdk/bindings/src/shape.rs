//! Formats types and functions as in WIT.

use wit_parser::{Function, FunctionKind, Handle, Resolve, Result_, Type, TypeDef, TypeDefKind, TypeId, TypeOwner};

/// How to write the names of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// As in the source: `item`.
    Short,
    /// With the interface that defines the type: `types.item`. The result does not depend on the
    /// interface through which a type is used.
    Full,
}

/// Formats the types of one package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) resolve: &'a Resolve,
    pub(crate) naming: Naming,
}

impl<'a> Writer<'a> {
    /// Returns the definition of a type.
    #[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
    pub(crate) fn def(self, id: TypeId) -> &'a TypeDef {
        &self.resolve.types[id]
    }

    /// Returns the original definition behind a chain of `use`.
    pub(crate) fn origin(self, id: TypeId) -> TypeId {
        match self.def(id).kind {
            TypeDefKind::Type(Type::Id(next)) => self.origin(next),
            _ => id,
        }
    }

    /// Returns `interface.type` for the original definition of `id`; `None` for a type without a
    /// name.
    #[expect(clippy::indexing_slicing, reason = "identifiers come from the same arena")]
    pub(crate) fn full_name(self, id: TypeId) -> Option<String> {
        let def = self.def(self.origin(id));
        let name = def.name.as_deref()?;
        let owner = match def.owner {
            TypeOwner::Interface(interface) => self.resolve.interfaces[interface].name.as_deref(),
            TypeOwner::World(_) | TypeOwner::None => None,
        };
        Some(owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}.{name}")))
    }

    /// Formats a type where it is used.
    pub(crate) fn ty(self, ty: &Type) -> String {
        match ty {
            Type::Bool => "bool".to_owned(),
            Type::U8 => "u8".to_owned(),
            Type::U16 => "u16".to_owned(),
            Type::U32 => "u32".to_owned(),
            Type::U64 => "u64".to_owned(),
            Type::S8 => "s8".to_owned(),
            Type::S16 => "s16".to_owned(),
            Type::S32 => "s32".to_owned(),
            Type::S64 => "s64".to_owned(),
            Type::F32 => "f32".to_owned(),
            Type::F64 => "f64".to_owned(),
            Type::Char => "char".to_owned(),
            Type::String => "string".to_owned(),
            Type::ErrorContext => "error-context".to_owned(),
            Type::Id(id) => self.named(*id),
        }
    }

    fn named(self, id: TypeId) -> String {
        let def = self.def(id);
        match (&def.name, self.naming) {
            (Some(name), Naming::Short) => name.clone(),
            (Some(name), Naming::Full) => self.full_name(id).unwrap_or_else(|| name.clone()),
            (None, _) => self.kind(&def.kind),
        }
    }

    /// Formats the definition of a named type, without documentation.
    pub(crate) fn kind(self, kind: &TypeDefKind) -> String {
        let list = |parts: Vec<String>| parts.join(", ");
        let optional = |ty: &Option<Type>| ty.as_ref().map(|ty| self.ty(ty));
        match kind {
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter().map(|field| format!("{}: {}", field.name, self.ty(&field.ty)));
                format!("record {{ {} }}", list(fields.collect()))
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter().map(|case| match &case.ty {
                    Some(ty) => format!("{}({})", case.name, self.ty(ty)),
                    None => case.name.clone(),
                });
                format!("variant {{ {} }}", list(cases.collect()))
            }
            TypeDefKind::Enum(cases) => {
                format!("enum {{ {} }}", list(cases.cases.iter().map(|case| case.name.clone()).collect()))
            }
            TypeDefKind::Flags(flags) => {
                format!("flags {{ {} }}", list(flags.flags.iter().map(|flag| flag.name.clone()).collect()))
            }
            TypeDefKind::Resource => "resource".to_owned(),
            TypeDefKind::Handle(Handle::Own(id)) => self.named(*id),
            TypeDefKind::Handle(Handle::Borrow(id)) => format!("borrow<{}>", self.named(*id)),
            TypeDefKind::Tuple(tuple) => format!("tuple<{}>", list(tuple.types.iter().map(|ty| self.ty(ty)).collect())),
            TypeDefKind::Option(ty) => format!("option<{}>", self.ty(ty)),
            TypeDefKind::Result(Result_ { ok, err }) => match (optional(ok), optional(err)) {
                (None, None) => "result".to_owned(),
                (Some(ok), None) => format!("result<{ok}>"),
                (ok, Some(err)) => format!("result<{}, {err}>", ok.as_deref().unwrap_or("_")),
            },
            TypeDefKind::List(ty) => format!("list<{}>", self.ty(ty)),
            TypeDefKind::Map(key, value) => format!("map<{}, {}>", self.ty(key), self.ty(value)),
            TypeDefKind::FixedLengthList(ty, length) => format!("list<{}, {length}>", self.ty(ty)),
            TypeDefKind::Future(ty) => optional(ty).map_or_else(|| "future".to_owned(), |ty| format!("future<{ty}>")),
            TypeDefKind::Stream(ty) => optional(ty).map_or_else(|| "stream".to_owned(), |ty| format!("stream<{ty}>")),
            TypeDefKind::Type(ty) => self.ty(ty),
            TypeDefKind::Unknown => "unknown".to_owned(),
        }
    }

    /// Formats a function's signature without its name: `func(max: u32) -> list<u8>`. The receiver
    /// of a method is omitted.
    pub(crate) fn signature(self, function: &Function) -> String {
        let method = matches!(function.kind, FunctionKind::Method(_) | FunctionKind::AsyncMethod(_));
        let params = function.params.iter().skip(usize::from(method));
        let params: Vec<String> = params.map(|param| format!("{}: {}", param.name, self.ty(&param.ty))).collect();
        let result = function.result.as_ref().map(|ty| format!(" -> {}", self.ty(ty))).unwrap_or_default();
        let word = match function.kind {
            FunctionKind::AsyncFreestanding | FunctionKind::AsyncMethod(_) | FunctionKind::AsyncStatic(_) => {
                "async func"
            }
            FunctionKind::Static(_) => "static func",
            FunctionKind::Constructor(_) => "constructor",
            FunctionKind::Freestanding | FunctionKind::Method(_) => "func",
        };
        format!("{word}({}){result}", params.join(", "))
    }
}
