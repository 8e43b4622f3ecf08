//! Converts XML events to items.

use std::borrow::Cow;

use plumbline_sdk::text::cut;
use plumbline_sdk::{Item, Output, Status, log};

use crate::case::{Case, Part};
use crate::heading::{Heading, Options};
use crate::kind::Kind;
use crate::properties::{Properties, is_dry_run};
use crate::scan::Handler;
use crate::tag::{Tag, local, same};
use crate::text::Text;
use crate::totals::{Listed, Totals};
use crate::tree::Tree;

/// Maximum number of open elements: real reports have up to ten.
const MAX_NESTING: usize = 1_000;

/// Maximum size in bytes of an element's name. All known ones have at most 12, and the names of all
/// open elements are kept.
const MAX_ELEMENT_NAME: usize = 1_024;

/// Maximum number of bytes of an element's name in a reason.
const MAX_SHOWN: usize = 60;

/// Maximum number of open test cases. No tool nests them on purpose.
const MAX_OPEN_CASES: usize = 8;

/// The reason why a dry run is `unknown` whose test cases were emitted before it was known.
const LATE_DRY_RUN: &str = "the property `DryRun` follows test cases, which then did not run";

/// Prefixes of the names of Ginkgo's setup nodes. Ginkgo reports the code around its tests as test
/// cases with such names.
const SETUP_NODES: [&str; 7] = [
    "[AfterSuite]",
    "[BeforeSuite]",
    "[DeferCleanup (Suite)]",
    "[ReportAfterSuite]",
    "[ReportBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[SynchronizedBeforeSuite]",
];

/// The report of one file.
pub(crate) struct Report<'a> {
    options: &'a Options,
    tree: Tree<'a>,
    /// The innermost open test case.
    case: Option<Case>,
    /// The test cases around it, outermost first.
    outer: Vec<Case>,
    /// The totals of the open suites and their containers, outermost first.
    totals: Vec<Totals>,
    /// The length of `totals` when an open suite stated that it is a dry run.
    dry_run: Option<usize>,
    /// Whether more test cases failed than the totals of a suite say.
    understated: bool,
    /// Whether the totals of a suite state that it has no test.
    states_none: bool,
    /// The first malformed attribute of a suite or test case. It may hide a failure.
    malformed: Option<String>,
    /// Whether a root element has ended.
    ended: bool,
    /// Whether text follows the end of a root element.
    trailing_text: bool,
    properties: Option<Properties>,
    /// The names of the open elements, concatenated. A name that follows from the kind of the
    /// element is omitted. `open` holds the start of each.
    names: Vec<u8>,
    open: Vec<(usize, Kind)>,
}

impl<'a> Report<'a> {
    /// Creates the report of the file with this item.
    pub(crate) fn new(file: Item, options: &'a Options, out: &'a mut Output) -> Self {
        Self {
            options,
            tree: Tree::new(file, out),
            case: None,
            outer: Vec::new(),
            totals: Vec::new(),
            dry_run: None,
            understated: false,
            states_none: false,
            malformed: None,
            ended: false,
            trailing_text: false,
            properties: None,
            names: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Emits the remaining items. `problem` says why the file could not be read to its end.
    pub(crate) fn finish(mut self, path: &str, problem: Option<String>) {
        if self.understated {
            log::info!("`{path}`: more test cases failed than the totals of their suite state");
        }
        match problem.or(self.malformed) {
            None => self.tree.close(self.states_none),
            Some(problem) => {
                for case in self.case.into_iter().chain(self.outer.into_iter().rev()) {
                    self.tree.leaf(case.into_unfinished_item());
                }
                self.tree.abort(problem);
            }
        }
    }

    fn kind(&self, name: &[u8]) -> Result<Kind, String> {
        let parent = self.open.last().map(|(_, kind)| *kind);
        // Check this name first, because nearly all elements have it.
        if matches!(parent, Some(Kind::Suites | Kind::Suite)) && same(name, b"testcase") {
            return Ok(Kind::Case);
        }
        // XML is case-sensitive, but a hand-written report with `testCase` has an obvious meaning.
        let known: Cow<'_, [u8]> = match name.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
        match parent {
            Some(parent) => self.inner_kind(parent, &known, name),
            None => match &*known {
                b"testsuites" => Ok(Kind::Suites),
                b"testsuite" => Ok(Kind::Suite),
                _ if self.ended => Err(format!("element `{}` follows the end of the report", shown(name))),
                _ => Err(format!("root element `{}` is not `testsuites` or `testsuite`", shown(name))),
            },
        }
    }

    /// Returns the kind of an element inside of another one. `known` is `name` in lower case.
    fn inner_kind(&self, parent: Kind, known: &[u8], name: &[u8]) -> Result<Kind, String> {
        Ok(match (parent, known) {
            (Kind::InOutput | Kind::Part(Part::SystemOut | Part::SystemErr), _) => Kind::InOutput,
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, b"testcase") => Kind::Case,
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, b"testsuite") => Kind::Suite,
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, b"testsuites") => Kind::Suites,
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, b"failure") => Kind::LoosePart(Part::Failure),
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, b"error") => Kind::LoosePart(Part::Error),
            (Kind::Case | Kind::OtherInCase, b"testcase") if self.outer.len() + 1 < MAX_OPEN_CASES => Kind::Case,
            (Kind::Case | Kind::OtherInCase, b"testcase") => {
                return Err(format!("more than {MAX_OPEN_CASES} test cases are nested"));
            }
            (Kind::Case | Kind::OtherInCase, b"testsuite" | b"testsuites") => {
                return Err(format!("element `{}` is inside a test case", shown(name)));
            }
            (_, b"testcase" | b"testsuite" | b"testsuites") => return self.kind_of_test_in_text(name),
            (Kind::Suite | Kind::Case, b"properties") if self.options.keeps_properties() => Kind::Properties,
            (Kind::Case, known) => Part::of(known).map_or(Kind::OtherInCase, Kind::Part),
            (Kind::Suites | Kind::Suite | Kind::OtherInSuite, _) => Kind::OtherInSuite,
            (_, b"failure") => self.kind_of_misplaced(Part::Failure),
            (_, b"error") => self.kind_of_misplaced(Part::Error),
            (_, b"system-out" | b"system-err") => Kind::InOutput,
            (Kind::Properties, b"property") => Kind::Property,
            // Elements below `properties` other than `property` have no text to keep.
            (Kind::Properties, _) if self.case.is_none() => Kind::OtherInSuite,
            (Kind::Properties | Kind::OtherInCase, _) => Kind::OtherInCase,
            (Kind::Part(_) | Kind::LoosePart(_) | Kind::BelowPart | Kind::FailureBelowPart | Kind::Property, _) => {
                Kind::BelowPart
            }
        })
    }

    /// Returns the kind of a failure in a place where tools do not write one, such as a property.
    /// It still counts.
    fn kind_of_misplaced(&self, part: Part) -> Kind {
        match &self.case {
            None => Kind::LoosePart(part),
            Some(case) if case.opened().is_some() => Kind::FailureBelowPart,
            Some(_) => Kind::Part(part),
        }
    }

    /// Returns the kind of a test case or suite in an element whose text is kept. Only a failure may
    /// have one, as part of its text: others could hide a failed test case.
    fn kind_of_test_in_text(&self, name: &[u8]) -> Result<Kind, String> {
        match self.case.as_ref().and_then(Case::opened) {
            Some(Part::Failure | Part::Error) => Ok(Kind::BelowPart),
            Some(part) => Err(format!("element `{}` is inside `{}`", shown(name), part.key())),
            None => Err(format!("element `{}` is inside `properties`", shown(name))),
        }
    }

    fn begin(&mut self, kind: Kind, tag: &Tag<'_>) {
        if matches!(kind, Kind::Suites | Kind::Suite | Kind::Case)
            && self.malformed.is_none()
            && let Some(error) = tag.malformed()
        {
            self.malformed = Some(format!("an attribute of `{}` is malformed: {error}", shown(tag.name())));
        }
        match kind {
            Kind::Suites => self.open_totals(tag),
            Kind::Suite => {
                self.open_totals(tag);
                let heading = Heading::read(tag, self.options, false);
                let mut item = Item::new(0, heading.name);
                for (key, text) in heading.kept {
                    item = item.text(key, text);
                }
                self.tree.open_suite(item);
            }
            Kind::Case => {
                let mut heading = Heading::read(tag, self.options, true);
                // Many tools repeat the name of the suite.
                if !heading.name.trim().is_empty() && self.tree.suite_name() == Some(heading.class.as_str()) {
                    heading.class.clear();
                }
                let used = self.case.as_ref().map_or(0, |case| case.kept);
                self.outer.extend(self.case.take());
                self.case = Some(Case::new(heading, used));
            }
            Kind::Part(part) => {
                if let Some(case) = &mut self.case {
                    case.open_part(part, tag.attribute(b"message").as_deref());
                }
            }
            Kind::LoosePart(part) => {
                let mut case = Case::loose(part.key());
                case.open_part(part, tag.attribute(b"message").as_deref());
                self.outer.extend(self.case.take());
                self.case = Some(case);
            }
            Kind::FailureBelowPart => {
                if let Some(case) = &mut self.case {
                    case.failures = case.failures.max(1);
                }
            }
            Kind::Properties => self.properties = Some(Properties::default()),
            Kind::Property => {
                if let Some(properties) = &mut self.properties {
                    properties.open(tag);
                }
            }
            Kind::BelowPart | Kind::InOutput | Kind::OtherInSuite | Kind::OtherInCase => {}
        }
    }

    /// Handles an element of this kind that may state that the innermost suite is a dry run.
    fn check_dry_run(&mut self, kind: Kind, tag: &Tag<'_>) {
        let is_of_suite = matches!(kind, Kind::Property | Kind::OtherInSuite) && self.case.is_none();
        if !is_of_suite || self.dry_run.is_some() || !is_dry_run(tag) {
            return;
        }
        self.dry_run = Some(self.totals.len());
        if self.totals.last().is_some_and(Totals::has_cases) {
            self.tree.leaf(Item::new(0, "dry run").status(Status::Unknown).meta("error", LATE_DRY_RUN));
        }
    }

    fn finish_element(&mut self, kind: Kind) {
        match kind {
            Kind::Suites => self.check_totals(),
            Kind::Suite => {
                self.check_totals();
                self.tree.close_suite();
            }
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
            Kind::BelowPart | Kind::FailureBelowPart | Kind::InOutput | Kind::OtherInSuite | Kind::OtherInCase => {}
        }
    }

    fn open_totals(&mut self, tag: &Tag<'_>) {
        let totals = Totals::of(tag);
        self.states_none |= totals.tests == Some(0);
        self.totals.push(totals);
    }

    fn finish_case(&mut self) {
        let Some(mut case) = self.case.take() else { return };
        self.case = self.outer.pop();
        if self.dry_run.is_some() {
            case.set_not_run();
        }
        let (failures, retries) = (case.failures, case.retries);
        let item = case.into_item();
        if let Some(totals) = self.totals.last_mut() {
            let has_failed = item.status == Some(Status::Failed);
            let failures = if has_failed { failures.max(1) } else { 0 };
            totals.add(Listed { cases: 1, tests: 1, failed: u64::from(has_failed), failures, retries });
        }
        match &item.status {
            Some(status @ (Status::Passed | Status::Skipped)) if is_setup_node(&item.name) => {
                self.tree.setup_node(&item.name, status);
            }
            _ => self.tree.leaf(item),
        }
    }

    /// Compares the totals of the ending element with its test cases.
    fn check_totals(&mut self) {
        let Some(mut totals) = self.totals.pop() else { return };
        self.dry_run = self.dry_run.filter(|length| self.totals.len() >= *length);
        self.understated |= totals.understate();
        let invalid = totals.invalid.take().map(|reason| ("invalid totals", reason));
        for (name, reason) in invalid.into_iter().chain(totals.missing()) {
            self.tree.leaf(Item::new(0, name).status(Status::Unknown).meta("error", reason));
        }
        if let Some(around) = self.totals.last_mut() {
            around.add(totals.listed());
        }
    }

    fn finish_properties(&mut self) {
        let Some(properties) = self.properties.take().and_then(Properties::into_value) else { return };
        match &mut self.case {
            Some(case) => case.properties = Some(properties),
            None => self.tree.add_properties(&properties),
        }
    }

    /// Returns the name of the last opened element. The name starts at `begin`, unless it is the
    /// usual one for its kind.
    fn name(&self, begin: usize, kind: Kind) -> &[u8] {
        match self.names.get(begin..) {
            Some(name @ [_, ..]) => name,
            _ => kind.name().unwrap_or_default().as_bytes(),
        }
    }

    /// Returns the text to append characters to, if any. A failure inside of a property has its
    /// own.
    fn sink(&mut self) -> Option<&mut Text> {
        match self.case.as_mut().and_then(Case::text) {
            Some(text) => Some(text),
            None => self.properties.as_mut()?.text(),
        }
    }
}

impl Handler for Report<'_> {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), String> {
        let name = tag.name();
        if name.is_empty() {
            return Err("`<` is not the start of a tag".to_owned());
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
        self.check_dry_run(kind, tag);
        self.open.push((self.names.len(), kind));
        if kind.name().is_none_or(|usual| !same(usual.as_bytes(), name)) {
            self.names.extend_from_slice(name);
        }
        Ok(())
    }

    fn end(&mut self, name: &[u8]) -> Result<(), String> {
        let Some((begin, kind)) = self.open.pop() else {
            return Err(format!("`</{}>` has no start tag", shown(name)));
        };
        let expected = self.name(begin, kind);
        if !same(expected, name) {
            let problem = format!("found `</{}>`, expected `</{}>`", shown(name), shown(expected));
            // The element is still open, and must be treated so.
            self.open.push((begin, kind));
            return Err(problem);
        }
        self.names.truncate(begin);
        self.finish_element(kind);
        // A file may have several reports one after the other. All are read.
        self.ended |= self.open.is_empty();
        Ok(())
    }

    fn text(&mut self, raw: &[u8]) {
        if self.open.is_empty() && self.ended {
            self.trailing_text |= !raw.iter().all(|byte| is_blank(*byte));
        } else if let Some(text) = self.sink() {
            text.push(raw);
        }
    }

    fn reference(&mut self, name: &[u8]) {
        if self.open.is_empty() && self.ended {
            self.trailing_text = true;
        } else if let Some(text) = self.sink() {
            text.push_reference(name);
        }
    }

    fn end_of_file(&mut self) -> Result<(), String> {
        match self.open.last() {
            Some((begin, kind)) => {
                let name = self.name(*begin, *kind);
                Err(format!("the file ends before `</{}>`", shown(name)))
            }
            None if self.trailing_text => Err("text follows the end of the report".to_owned()),
            None if self.ended => Ok(()),
            None => Err("the file has no element".to_owned()),
        }
    }
}

fn is_setup_node(name: &str) -> bool {
    name.starts_with('[')
        && SETUP_NODES.iter().any(|node| {
            name.strip_prefix(node).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        })
}

/// Returns whether a byte may follow a report: white space, padding, and the byte order mark of the
/// next report.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, 0 | 0xEF | 0xBB | 0xBF)
}

/// Returns a name, shortened for a reason.
fn shown(name: &[u8]) -> String {
    cut(&String::from_utf8_lossy(name), MAX_SHOWN).to_owned()
}
