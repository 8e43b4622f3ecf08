//! An expression in Go's syntax becomes one in that of the crate `regex`, construct by construct: nothing is passed on as it stands.

use super::class::{self, NONE};
use super::cursor::Cursor;
use super::error::Fault;
use super::escape::escape;
use super::flags::{Flags, Opening, opening};
use super::property::property;
use super::repeat::{Braces, MAX_COUNT, braces};

/// Groups and repetitions inside one another. Go takes 1,000; nobody writes that many, and each costs stack when the expression is compiled.
const MAX_NESTING: usize = 100;

/// What a repetition can stand behind.
struct Atom {
    text: String,
    /// How often its innermost part is repeated by counts.
    times: u32,
    nesting: usize,
}

/// A group that is not closed yet; the whole expression is the outermost.
#[derive(Default)]
struct Group {
    /// Where it begins.
    from: usize,
    /// The flags around it.
    around: Flags,
    /// Alternatives that are complete, each followed by a bar.
    before: String,
    /// The alternative that is being read.
    atoms: Vec<Atom>,
    times: u32,
    nesting: usize,
}

impl Group {
    fn push(&mut self, text: String) {
        self.atoms.push(Atom { text, times: 1, nesting: 0 });
    }

    /// The alternative ends here.
    fn flush(&mut self) {
        for atom in self.atoms.drain(..) {
            self.before.push_str(&atom.text);
            self.times = self.times.max(atom.times);
            self.nesting = self.nesting.max(atom.nesting);
        }
    }
}

/// Translates `pattern`. What comes out matches in the same texts; where in them, and what groups capture, may differ.
pub(super) fn translate(pattern: &str) -> Result<String, Fault> {
    let mut parser =
        Parser { cursor: Cursor::new(pattern), flags: Flags::default(), open: Vec::new(), group: Group::default() };
    let mut after_repetition = None;
    while !parser.cursor.is_at_end() {
        after_repetition = parser.step(after_repetition)?;
    }
    if !parser.open.is_empty() {
        return Err(parser.cursor.fault(parser.group.from, "the group has no closing `)`"));
    }
    parser.group.flush();
    Ok(parser.group.before)
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    flags: Flags,
    /// The groups around `group`.
    open: Vec<Group>,
    group: Group,
}

impl Parser<'_> {
    /// Reads one thing. `after` is where a repetition begins that ends here; gives the same for the next.
    fn step(&mut self, after: Option<usize>) -> Result<Option<usize>, Fault> {
        let Some(c) = self.cursor.peek() else { return Ok(None) };
        match c {
            '(' => self.open()?,
            '|' => {
                self.cursor.skip(1);
                self.group.flush();
                self.group.before.push('|');
            }
            ')' => self.close()?,
            '^' => self.one(if self.flags.lines { "(?m:^)" } else { r"\A" }),
            '$' => self.one(if self.flags.lines { "(?m:$)" } else { r"\z" }),
            '.' => self.one(if self.flags.dot_all { class::ALL } else { r"[^\n]" }),
            '[' => {
                let class = class::brackets(&mut self.cursor)?;
                self.class(&class);
            }
            '*' | '+' | '?' => {
                let from = self.cursor.at();
                self.cursor.skip(1);
                self.repeat(from, after, &c.to_string(), 1)?;
                return Ok(Some(after.unwrap_or(from)));
            }
            '{' => return self.braces(after),
            '\\' => self.backslash()?,
            c => {
                self.cursor.skip(c.len_utf8());
                self.literal(u32::from(c));
            }
        }
        Ok(None)
    }

    fn one(&mut self, text: &str) {
        self.cursor.skip(1);
        self.group.push(text.to_owned());
    }

    fn class(&mut self, class: &str) {
        self.group.push(if self.flags.fold { format!("(?i:{class})") } else { class.to_owned() });
    }

    fn literal(&mut self, value: u32) {
        let Some(c) = char::from_u32(value) else { return self.group.push(NONE.to_owned()) };
        let mut buffer = [0; 4];
        let text = regex::escape(c.encode_utf8(&mut buffer));
        self.group.push(if self.flags.fold && !(c.is_ascii() && !c.is_ascii_alphabetic()) {
            format!("(?i:{text})")
        } else {
            text
        });
    }

    fn open(&mut self) -> Result<(), Fault> {
        let from = self.cursor.at();
        let around = self.flags;
        if !self.cursor.rest().starts_with("(?") {
            self.cursor.skip(1);
        } else {
            match opening(&mut self.cursor, self.flags)? {
                Opening::Group(flags) => self.flags = flags,
                Opening::Set(flags) => {
                    self.flags = flags;
                    return Ok(());
                }
            }
        }
        if self.open.len() >= MAX_NESTING {
            return Err(self.cursor.fault(from, "the group stands in more groups than this program takes"));
        }
        let group = Group { from, around, ..Group::default() };
        self.open.push(std::mem::replace(&mut self.group, group));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Fault> {
        let from = self.cursor.at();
        self.cursor.skip(1);
        let Some(outer) = self.open.pop() else {
            return Err(self.cursor.fault(from, "it closes no group"));
        };
        let mut inner = std::mem::replace(&mut self.group, outer);
        inner.flush();
        self.flags = inner.around;
        let atom =
            Atom { text: format!("(?:{})", inner.before), times: inner.times.max(1), nesting: inner.nesting + 1 };
        self.nested(atom, inner.from)
    }

    fn nested(&mut self, atom: Atom, from: usize) -> Result<(), Fault> {
        if atom.nesting > MAX_NESTING {
            return Err(self
                .cursor
                .fault(from, "groups and repetitions stand deeper in one another than this program takes"));
        }
        self.group.atoms.push(atom);
        Ok(())
    }

    fn braces(&mut self, after: Option<usize>) -> Result<Option<usize>, Fault> {
        let from = self.cursor.at();
        match braces(&mut self.cursor) {
            Braces::Literal => {
                self.cursor.skip(1);
                self.literal(u32::from('{'));
                Ok(None)
            }
            Braces::OutOfBounds => Err(self.cursor.fault(from, "counts go up to 1000, and from the least to the most")),
            Braces::Counts(least, most) => {
                let (text, times) = match most {
                    None => (format!("{{{least},}}"), least.max(1)),
                    Some(most) => (format!("{{{least},{most}}}"), most),
                };
                self.repeat(from, after, &text, times)?;
                Ok(Some(after.unwrap_or(from)))
            }
        }
    }

    /// Repeats what was read last. `times` is what counts against [`MAX_COUNT`]: with 0, what is inside does not count either.
    fn repeat(&mut self, from: usize, after: Option<usize>, operator: &str, times: u32) -> Result<(), Fault> {
        // More or fewer is the same to who asks only whether it matches.
        self.cursor.eat("?");
        if let Some(first) = after {
            return Err(self.cursor.fault(first, "a repetition cannot be repeated; put a group around it"));
        }
        let Some(atom) = self.group.atoms.pop() else {
            return Err(self.cursor.fault(from, "there is nothing that it could repeat"));
        };
        let total = if times == 0 { 1 } else { atom.times.saturating_mul(times) };
        if times > 1 && total > MAX_COUNT {
            return Err(self.cursor.fault(from, "repetitions of repetitions go up to 1000 together"));
        }
        let text = format!("(?:{}){operator}", atom.text);
        self.nested(Atom { text, times: total, nesting: atom.nesting + 1 }, from)
    }

    fn backslash(&mut self) -> Result<(), Fault> {
        let rest = self.cursor.rest();
        let Some(c) = rest.chars().nth(1) else { return escape(&mut self.cursor).map(drop) };
        let assertion = match c {
            'A' => Some(r"\A"),
            'z' => Some(r"\z"),
            'b' => Some(r"(?-u:\b)"),
            'B' => Some(r"(?-u:\B)"),
            _ => None,
        };
        if let Some(assertion) = assertion {
            self.cursor.skip(2);
            self.group.push(assertion.to_owned());
        } else if c == 'Q' {
            self.quoted();
        } else if let Some(class) = class::letter(c) {
            self.cursor.skip(2);
            self.class(class);
        } else if matches!(c, 'p' | 'P') {
            let class = property(&mut self.cursor)?;
            self.class(&class);
        } else {
            let value = escape(&mut self.cursor)?;
            self.literal(value);
        }
        Ok(())
    }

    /// Everything between `\Q` and `\E`, or the end, stands for itself.
    fn quoted(&mut self) {
        self.cursor.skip(2);
        let rest = self.cursor.rest();
        let text = rest.split_once("\\E").map_or(rest, |(text, _)| text);
        for c in text.chars() {
            self.literal(u32::from(c));
        }
        self.cursor.skip(text.len());
        self.cursor.eat("\\E");
    }
}
