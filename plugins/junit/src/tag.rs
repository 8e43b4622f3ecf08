//! A tag that opens an element, whoever has read it.

use std::borrow::Cow;
use std::slice;

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attributes as OtherAttributes;

/// An attribute as it stands in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    /// With its prefix.
    pub(crate) key: &'a [u8],
    /// Without its quotes, references unresolved.
    pub(crate) value: &'a [u8],
}

/// A tag that opens an element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tag<'a> {
    /// Read by [`crate::plain`].
    Plain { name: &'a [u8], attributes: &'a [Attribute<'a>] },
    /// Read by quick-xml, which copes with tags that are not as they should be.
    Other(&'a BytesStart<'a>),
}

impl<'a> Tag<'a> {
    /// The name, with its prefix.
    pub(crate) fn name(&self) -> &'a [u8] {
        match self {
            Self::Plain { name, .. } => name,
            Self::Other(tag) => tag.name().into_inner(),
        }
    }

    /// The attributes in their order: names without prefix, and values as they stand in the file. What cannot be read as an
    /// attribute is passed over.
    pub(crate) fn attributes(&self) -> Attributes<'a> {
        match self {
            Self::Plain { attributes, .. } => Attributes::Plain(attributes.iter()),
            Self::Other(tag) => Attributes::Other(tag.attributes().with_checks(false).clone()),
        }
    }

    /// The value of the first attribute of that name, as it stands in the file.
    pub(crate) fn attribute(&self, name: &[u8]) -> Option<Cow<'a, [u8]>> {
        self.attributes().find(|(key, _)| same(key, name)).map(|(_, value)| value)
    }
}

/// Iterator over the attributes of a [`Tag`].
#[derive(Debug)]
pub(crate) enum Attributes<'a> {
    Plain(slice::Iter<'a, Attribute<'a>>),
    Other(OtherAttributes<'a>),
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], Cow<'a, [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Plain(attributes) => {
                attributes.next().map(|attribute| (local(attribute.key), Cow::Borrowed(attribute.value)))
            }
            Self::Other(attributes) => attributes
                .by_ref()
                .flatten()
                .next()
                .map(|attribute| (local(attribute.key.into_inner()), attribute.value)),
        }
    }
}

/// Whether two names are the same. They are short, and one of them is mostly known: comparing it in place costs less than the call of
/// a function for memory of any length.
#[inline(always)]
pub(crate) fn same(name: &[u8], other: &[u8]) -> bool {
    name.len() == other.len() && name.iter().zip(other).all(|(name, other)| name == other)
}

/// A name without its prefix.
pub(crate) fn local(name: &[u8]) -> &[u8] {
    // Names are short: a loop is done before a search for a byte has begun.
    let prefix = name.iter().position(|&byte| byte == b':');
    prefix.and_then(|colon| name.get(colon + 1..)).unwrap_or(name)
}
