//! A tag that opens an element, from either parser.

use std::borrow::Cow;
use std::slice;

use quick_xml::events::BytesStart;
use quick_xml::events::attributes::Attributes as OtherAttributes;

/// An attribute as in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    /// The name with its prefix.
    pub(crate) key: &'a [u8],
    /// The value without its quotes, with references unresolved.
    pub(crate) value: &'a [u8],
}

/// A tag that opens an element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tag<'a> {
    /// A tag that [`crate::plain`] has read.
    Plain { name: &'a [u8], attributes: &'a [Attribute<'a>] },
    /// A tag that quick-xml has read, which tolerates malformed tags.
    Other(&'a BytesStart<'a>),
}

impl<'a> Tag<'a> {
    /// Returns the name with its prefix.
    pub(crate) fn name(&self) -> &'a [u8] {
        match self {
            Self::Plain { name, .. } => name,
            Self::Other(tag) => tag.name().into_inner(),
        }
    }

    /// Returns why the first malformed attribute is one, such as one without quotes.
    pub(crate) fn malformed(&self) -> Option<String> {
        match self {
            Self::Plain { .. } => None,
            Self::Other(tag) => {
                let error = tag.attributes().with_checks(false).find_map(Result::err);
                error.map(|error| error.to_string())
            }
        }
    }

    /// Returns the attributes in order: names without prefix, and values as in the file. Malformed
    /// attributes are skipped (see [`Tag::malformed`]).
    pub(crate) fn attributes(&self) -> Attributes<'a> {
        match self {
            Self::Plain { attributes, .. } => Attributes::Plain(attributes.iter()),
            Self::Other(tag) => Attributes::Other(tag.attributes().with_checks(false).clone()),
        }
    }

    /// Returns the value of the first attribute with this name in any case, as in the file.
    pub(crate) fn attribute(&self, name: &[u8]) -> Option<Cow<'a, [u8]>> {
        self.attributes().find(|(key, _)| same_in_any_case(key, name)).map(|(_, value)| value)
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

/// Returns whether two names are equal. Names are short and one of them is usually a constant, so
/// comparing inline is cheaper than calling a general memory comparison.
#[inline(always)]
pub(crate) fn same(name: &[u8], other: &[u8]) -> bool {
    name.len() == other.len() && name.iter().zip(other).all(|(name, other)| name == other)
}

/// Returns whether two names are equal in any case. XML is case-sensitive, but `FAILURES="1"` has
/// an obvious meaning.
#[inline(always)]
pub(crate) fn same_in_any_case(name: &[u8], other: &[u8]) -> bool {
    name.len() == other.len() && name.iter().zip(other).all(|(name, other)| name.eq_ignore_ascii_case(other))
}

/// Returns a name without its prefix.
pub(crate) fn local(name: &[u8]) -> &[u8] {
    // Names are short, so a loop is faster than a call of `memchr`.
    let prefix = name.iter().position(|&byte| byte == b':');
    prefix.and_then(|colon| name.get(colon + 1..)).unwrap_or(name)
}
