//! Classes by properties that Unicode gives to characters: `\pN`, `\p{Greek}`, `\P{^Lu}`.

use super::class::{ALL, NONE};
use super::cursor::Cursor;
use super::error::Fault;

/// General categories, as Go finds them: first letter large, the others small, nothing between words.
const CATEGORIES: [&str; 38] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Lc", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Their long names.
const LONG_NAMES: [&str; 42] = [
    "Other",
    "Control",
    "Cntrl",
    "Format",
    "Unassigned",
    "Privateuse",
    "Surrogate",
    "Letter",
    "Casedletter",
    "Lowercaseletter",
    "Modifierletter",
    "Otherletter",
    "Titlecaseletter",
    "Uppercaseletter",
    "Mark",
    "Combiningmark",
    "Spacingmark",
    "Enclosingmark",
    "Nonspacingmark",
    "Number",
    "Decimalnumber",
    "Digit",
    "Letternumber",
    "Othernumber",
    "Punctuation",
    "Punct",
    "Connectorpunctuation",
    "Dashpunctuation",
    "Closepunctuation",
    "Finalpunctuation",
    "Initialpunctuation",
    "Otherpunctuation",
    "Openpunctuation",
    "Symbol",
    "Currencysymbol",
    "Modifiersymbol",
    "Mathsymbol",
    "Othersymbol",
    "Separator",
    "Lineseparator",
    "Paragraphseparator",
    "Spaceseparator",
];

/// Scripts whose full name has four letters. Others of that length are codes of scripts, which Go does not take.
const FOUR_LETTERS: [&str; 9] = ["Ahom", "Cham", "Kawi", "Lisu", "Miao", "Modi", "Newa", "Thai", "Toto"];

/// Reads the class that stands here, which begins with `\p` or `\P`; what it is in our syntax, fit to stand alone and in brackets.
pub(super) fn property(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let from = cursor.at();
    let mut negated = cursor.rest().starts_with("\\P");
    cursor.skip(2);
    let rest = cursor.rest();
    let name = if cursor.eat("{") {
        let Some(end) = rest.find('}') else {
            return Err(cursor.fault_to_end(from, "the name of the property has no end"));
        };
        cursor.skip(end);
        rest.get(1..end).unwrap_or_default()
    } else {
        let Some(letter) = cursor.next() else { return Err(cursor.fault(from, "it names no property")) };
        rest.get(..letter.len_utf8()).unwrap_or_default()
    };
    let name = match name.strip_prefix('^') {
        Some(name) => {
            negated = !negated;
            name
        }
        None => name,
    };
    class(&canonical(name), negated).ok_or_else(|| cursor.fault(from, "Go knows no such property"))
}

/// As Go looks names up: without blanks, `_` and `-`, in one spelling.
fn canonical(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')) {
        out.push(if out.is_empty() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() });
    }
    out
}

fn class(name: &str, negated: bool) -> Option<String> {
    let sign = if negated { 'P' } else { 'p' };
    match (name, negated) {
        ("Any", false) | ("Cs" | "Surrogate", true) => return Some(ALL.to_owned()),
        // Text in UTF-8 has no surrogates.
        ("Any", true) | ("Cs" | "Surrogate", false) => return Some(NONE.to_owned()),
        ("Ascii", false) => return Some(r"[\x00-\x7F]".to_owned()),
        ("Ascii", true) => return Some(r"[^\x00-\x7F]".to_owned()),
        ("Assigned", _) => return Some(format!(r"\{}{{gc=Cn}}", if negated { 'p' } else { 'P' })),
        _ => {}
    }
    if CATEGORIES.contains(&name) || LONG_NAMES.contains(&name) {
        return Some(format!(r"\{sign}{{gc={name}}}"));
    }
    let plain = name.len() > 1 && name.chars().all(|c| c.is_ascii_alphabetic());
    // `Is` before a name is Unicode's courtesy, not Go's.
    if !plain || name.starts_with("Is") || (name.len() == 4 && !FOUR_LETTERS.contains(&name)) {
        return None;
    }
    let script = format!(r"\{sign}{{sc={name}}}");
    regex::Regex::new(&script).is_ok().then_some(script)
}
