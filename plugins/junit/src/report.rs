//! From the events of XML to items.

use plumbline_sdk::{Item, Output};

use crate::case::{Case, Part};
use crate::heading::Heading;
use crate::options::Options;
use crate::properties::Properties;
use crate::scan::{Flow, Handler};
use crate::tag::{Tag, local, same};
use crate::text::{Text, cut};
use crate::tree::Tree;

/// Elements open at once at most: real reports have up to ten.
const MAX_NESTING: usize = 1_000;

/// Bytes of an element's name at most: all that matter have at most 12. The names of all open elements are kept.
const MAX_ELEMENT_NAME: usize = 1_024;

/// Bytes of an element's name that are shown in a reason.
const MAX_SHOWN: usize = 60;

/// What an element is to the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `testsuites`: a bracket around suites, not an item.
    Suites,
    Suite,
    Case,
    /// An element of a test case whose text is kept.
    Part(Part),
    /// The same outside of any test case: it makes one.
    LoosePart(Part),
    /// Below an element whose text is kept: its text counts too.
    BelowPart,
    Properties,
    Property,
    /// Not known; what is in it does not matter.
    Other,
}

impl Kind {
    /// What the element is called, unless it has a prefix. `None`: anything.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Suites => Some("testsuites"),
            Self::Suite => Some("testsuite"),
            Self::Case => Some("testcase"),
            Self::Part(part) | Self::LoosePart(part) => Some(part.key()),
            Self::Properties => Some("properties"),
            Self::Property => Some("property"),
            Self::BelowPart | Self::Other => None,
        }
    }
}

/// One file on its way to items.
pub(crate) struct Report<'a> {
    options: &'a Options,
    tree: Tree<'a>,
    case: Option<Case>,
    properties: Option<Properties>,
    /// The names of the open elements one after the other, those that their kind tells left out; `open` says where each begins.
    names: Vec<u8>,
    open: Vec<(usize, Kind)>,
}

impl<'a> Report<'a> {
    /// The report of the file of that name and path.
    pub(crate) fn new(name: &str, path: &str, options: &'a Options, out: &'a mut Output) -> Self {
        let file = Item::new(0, name).meta("file", path).meta("type", "file");
        let tree = Tree::new(file, out);
        Self { options, tree, case: None, properties: None, names: Vec::new(), open: Vec::new() }
    }

    /// Emits what is left. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(mut self, problem: Option<String>) {
        match problem {
            None => self.tree.close(),
            Some(problem) => {
                if let Some(case) = self.case.take() {
                    self.tree.leaf(case.into_unfinished_item());
                }
                self.tree.abort(problem);
            }
        }
    }

    fn kind(&self, name: &[u8]) -> Result<Kind, String> {
        let Some((_, parent)) = self.open.last() else {
            return match name {
                b"testsuites" => Ok(Kind::Suites),
                b"testsuite" => Ok(Kind::Suite),
                other => Err(format!("root element `{}` is not `testsuites` or `testsuite`", shown(other))),
            };
        };
        Ok(match (parent, name) {
            // First, because nearly all are.
            (Kind::Suites | Kind::Suite, name) if same(name, b"testcase") => Kind::Case,
            (Kind::Suites | Kind::Suite, b"testsuite") => Kind::Suite,
            (Kind::Suites | Kind::Suite, b"testsuites") => Kind::Suites,
            (Kind::Suites | Kind::Suite, b"failure") => Kind::LoosePart(Part::Failure),
            (Kind::Suites | Kind::Suite, b"error") => Kind::LoosePart(Part::Error),
            (Kind::Suite | Kind::Case, b"properties") if self.options.keeps_properties() => Kind::Properties,
            (Kind::Case, name) => Part::of(name).map_or(Kind::Other, Kind::Part),
            (Kind::Properties, b"property") => Kind::Property,
            (Kind::Part(_) | Kind::LoosePart(_) | Kind::BelowPart | Kind::Property, _) => Kind::BelowPart,
            _ => Kind::Other,
        })
    }

    fn begin(&mut self, kind: Kind, tag: &Tag<'_>) {
        match kind {
            Kind::Suite => {
                let heading = Heading::of_suite(tag, self.options);
                let mut item = Item::new(0, heading.name);
                for (key, text) in heading.kept {
                    item = item.text(key, text);
                }
                self.tree.open_suite(item);
            }
            Kind::Case => self.case = Some(Case::new(Heading::of_case(tag, self.options))),
            Kind::Part(part) => {
                if let Some(case) = &mut self.case {
                    case.open_part(part, tag.attribute(b"message").as_deref());
                }
            }
            Kind::LoosePart(part) => {
                let mut case = Case::loose(part.key());
                case.open_part(part, tag.attribute(b"message").as_deref());
                self.case = Some(case);
            }
            Kind::Properties => self.properties = Some(Properties::default()),
            Kind::Property => {
                if let Some(properties) = &mut self.properties {
                    properties.open(tag);
                }
            }
            Kind::Suites | Kind::BelowPart | Kind::Other => {}
        }
    }

    fn finish_element(&mut self, kind: Kind) {
        match kind {
            Kind::Suite => self.tree.close_suite(),
            Kind::Case => self.finish_case(),
            Kind::Part(_) => {
                if let Some(case) = &mut self.case {
                    case.close_part();
                }
            }
            Kind::LoosePart(_) => {
                if let Some(case) = &mut self.case {
                    case.close_part();
                }
                self.finish_case();
            }
            Kind::Properties => self.finish_properties(),
            Kind::Property => {
                if let Some(properties) = &mut self.properties {
                    properties.close();
                }
            }
            Kind::Suites | Kind::BelowPart | Kind::Other => {}
        }
    }

    fn finish_case(&mut self) {
        if let Some(case) = self.case.take() {
            self.tree.leaf(case.into_item());
        }
    }

    fn finish_properties(&mut self) {
        let Some(properties) = self.properties.take().and_then(Properties::into_value) else { return };
        match &mut self.case {
            Some(case) => case.set_properties(properties),
            None => self.tree.add_properties(&properties),
        }
    }

    /// The name of the element that was opened last, whose name begins there if it is not the usual one of its kind.
    fn name(&self, begin: usize, kind: Kind) -> &[u8] {
        match self.names.get(begin..) {
            Some(name @ [_, ..]) => name,
            _ => kind.name().unwrap_or_default().as_bytes(),
        }
    }

    /// Where characters go, if anywhere.
    fn sink(&mut self) -> Option<&mut Text> {
        match &mut self.properties {
            Some(properties) => properties.text(),
            None => self.case.as_mut()?.text(),
        }
    }
}

impl Handler for Report<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), String> {
        let name = tag.name();
        if name.is_empty() {
            return Err("`<` begins no tag".to_owned());
        }
        if name.len() > MAX_ELEMENT_NAME {
            let shown = shown(name);
            return Err(format!("the name of an element is longer than {MAX_ELEMENT_NAME} bytes: `{shown}…`"));
        }
        if self.open.len() >= MAX_NESTING {
            return Err(format!("more than {MAX_NESTING} elements are open at once"));
        }
        let kind = self.kind(local(name))?;
        self.begin(kind, tag);
        self.open.push((self.names.len(), kind));
        if kind.name().is_none_or(|usual| !same(usual.as_bytes(), name)) {
            self.names.extend_from_slice(name);
        }
        Ok(())
    }

    fn end(&mut self, name: &[u8]) -> Result<Flow, String> {
        let Some((begin, kind)) = self.open.pop() else {
            return Err(format!("`</{}>` closes nothing", shown(name)));
        };
        let expected = self.name(begin, kind);
        if !same(expected, name) {
            let problem = format!("`</{}>` stands where `</{}>` is missing", shown(name), shown(expected));
            // It is still open, and is to be treated so.
            self.open.push((begin, kind));
            return Err(problem);
        }
        self.names.truncate(begin);
        self.finish_element(kind);
        // Only the first element of a file counts.
        Ok(if self.open.is_empty() { Flow::Stop } else { Flow::Continue })
    }

    fn text(&mut self, raw: &[u8]) {
        if let Some(text) = self.sink() {
            text.push(raw);
        }
    }

    fn reference(&mut self, name: &[u8]) {
        if let Some(text) = self.sink() {
            text.push_reference(name);
        }
    }

    fn end_of_file(&mut self) -> Result<(), String> {
        match self.open.last() {
            Some((begin, kind)) => {
                let name = self.name(*begin, *kind);
                Err(format!("the file ends before `</{}>`", shown(name)))
            }
            None => Err("the file has no element".to_owned()),
        }
    }
}

/// A name as it can be shown in a reason.
fn shown(name: &[u8]) -> String {
    cut(&String::from_utf8_lossy(name), MAX_SHOWN).to_owned()
}
