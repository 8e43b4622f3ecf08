//! Comparison of our rules with the verifier's, rule by rule. A Go program with the verifier's
//! parsers and field types (`tests/data/verifier`) checks the same submissions.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use plumbline_conformance::submission::{
    Cases, Contents, FoundFile, JUNIT, LogVersions, Outcome, PRODUCT, Required, check,
};
use serde_json::{Value, json};

/// Minimum number of submissions to compare.
const LEAST: usize = 250;

const GOOD_PRODUCT: &str = "vendor: Example\nname: Engine\nversion: 1.30\ntype: distribution\ndescription: an engine\n\
    website_url: https://example.org\nrepo_url: https://example.org/code\ndocumentation_url: https://example.org/docs\n\
    product_logo_url: https://example.org/logo.svg\ncontact_email_address: k8s@example.org\n";

const GOOD_RESULTS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"3\" time=\"1.5\">\n\
    <testsuite name=\"suite\" tests=\"3\" failures=\"0\" time=\"1.5\">\n<properties><property name=\"a\" value=\"b\"/></properties>\n\
    <testcase name=\"[It] a [Conformance]\" time=\"1.5\"><system-out>x</system-out></testcase>\n\
    <testcase name=\"[It] b =&amp;gt; &amp;#34;c&amp;#34; [Conformance]\"/>\n\
    <testcase name=\"other\"><skipped message=\"no\"/></testcase>\n</testsuite></testsuites>\n";

const REQUIRED: [&str; 2] = ["a [Conformance]", "b => \"c\" [Conformance]"];

/// A submission: contents by path.
#[derive(Clone)]
struct Submission {
    /// What is special about it.
    about: String,
    files: BTreeMap<String, Vec<u8>>,
}

impl Submission {
    fn good() -> Self {
        let files = [("README.md", "x"), (PRODUCT, GOOD_PRODUCT), ("e2e.log", "x"), (JUNIT, GOOD_RESULTS)];
        let files = files.map(|(name, content)| (format!("v1.30/engine/{name}"), content.as_bytes().to_vec()));
        Self { about: "a good submission".to_owned(), files: files.into() }
    }

    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        let mut submission = Self::good();
        submission.about = format!("{name}: {}", String::from_utf8_lossy(content));
        submission.files.insert(format!("v1.30/engine/{name}"), content.to_vec());
        submission
    }

    /// Returns whether the submission passes each rule.
    fn ours(&self) -> BTreeMap<String, bool> {
        let files: Vec<FoundFile> = self
            .files
            .iter()
            .map(|(path, content)| FoundFile { path: path.clone(), bytes: content.len() as u64 })
            .collect();
        let content = |name| FoundFile::find(&files, name).map(|file| self.files[&file.path].as_slice());
        let cases = content(JUNIT).map(Cases::read);
        let required = Required {
            release: "v1.30".parse().unwrap(),
            names: REQUIRED.iter().map(|name| (*name).to_owned()).collect(),
            source: "a test".to_owned(),
        };
        let findings = check(&Contents {
            files: &files,
            product: content(PRODUCT),
            log: &LogVersions::default(),
            cases: cases.as_ref(),
            required: Some(&required),
        });
        findings.iter().map(|finding| (finding.rule.to_owned(), finding.outcome != Outcome::Failed)).collect()
    }
}

/// Returns variations of every relevant part of the results.
fn results() -> Vec<Submission> {
    let results = |from: &str, to: &str| {
        assert!(GOOD_RESULTS.contains(from), "{from}");
        Submission::with(JUNIT, GOOD_RESULTS.replacen(from, to, 1))
    };
    let mut all = Vec::new();
    let texts = [
        "&",
        "& ",
        "&amp",
        "&amp;",
        "&lt;&gt;&quot;&apos;",
        "&nbsp;",
        "&#65;",
        "&#x41;",
        "&#X41;",
        "&#;",
        "&#x;",
        "&#0;",
        "&#1;",
        "&#xD800;",
        "&#x110000;",
        "&#99999999999999999999;",
        "&#+65;",
        "&a b;",
        "&&",
        "]]>",
        "]]",
        "]]&gt;",
        "]>",
        "<![CDATA[ & < ]]>",
        "<![CDATA[ ]] > ]]>",
        "<![CDATA[ ]]",
        "<![CDATA [x]]>",
        "<![cdata[x]]>",
        "<!-- x -->",
        "<!-- x -- y -->",
        "<!-- x --->",
        "<!---->",
        "<!--->",
        "<!-x-->",
        "<!-- & < \u{1} -->",
        "<!-- open",
        "<!x>",
        "<!x '>'>",
        "<!x <y> >",
        "<!x <!-- ' --> >",
        "<!>",
        "<!x",
        "<?p?>",
        "<?p x?>",
        "<??>",
        "<? p?>",
        "<?p",
        "<?1?>",
        "<?xml version='1.1'?>",
        "<?xml?>",
        "\u{0}",
        "\u{1}",
        "\u{8}",
        "\u{b}",
        "\u{1f}",
        "\u{7f}",
        "\u{85}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{feff}",
        "\u{1f600}",
        "\r\n",
        "\t",
        "<",
        ">",
        "<a>",
        "</a>",
        "<a/>",
        "<a / >",
        "<a></a>",
        "<a></b>",
        "<a><b></a></b>",
        "< a/>",
        "<a b/>",
        "<a b=1/>",
        "<a b='1'/>",
        "<a b='1'c='2'/>",
        "<a b = '1' />",
        "<a b='1' b='2'/>",
        "<a b='<'/>",
        "<a b='>'/>",
        "<a b='&'/>",
        "<a b='&nbsp;'/>",
        "<a b=']]>'/>",
        "<a b='\"'/>",
        "<a b=\"'\"/>",
        "<a b='\u{1}'/>",
        "<a b='\n'/>",
        "<a:b/>",
        "<a:b:c/>",
        "<:a/>",
        "<a:/>",
        "<1a/>",
        "<-a/>",
        "<a.b-c_1/>",
        "<ü/>",
        "<a\u{b7}/>",
        "<a\u{1f600}/>",
        "<a x:y='1'/>",
        "<a x:y:z='1'/>",
        "<a xmlns='x'/>",
        "<a xmlns:b='x'/>",
        "<a =''/>",
        "<a '1'/>",
        "<a b='1'",
        "<a b='1",
        "</a",
        "</>",
        "<>",
        "<a></a >",
        "<a></ a>",
        "<a></a x>",
    ];
    all.extend(texts.iter().map(|text| results("<system-out>x", &format!("<system-out>{text}"))));
    for value in [
        "7",
        "7.0",
        "",
        " 7 ",
        "+7",
        "-7",
        "0x7",
        "7e0",
        "1,234",
        "1_000",
        "x",
        "9223372036854775807",
        "9223372036854775808",
        " ",
        "\u{a0}7",
    ] {
        all.push(results(
            "<testsuite name=\"suite\" tests=\"3\"",
            &format!("<testsuite name=\"suite\" tests=\"{value}\""),
        ));
        all.push(results("failures=\"0\"", &format!("failures=\"{value}\"")));
    }
    for value in [
        "1",
        "1.",
        ".5",
        ".",
        "1e3",
        "1E+3",
        "1e",
        "1,234.5",
        "",
        " 1.5 ",
        "inf",
        "-Inf",
        "+infinity",
        "nan",
        "NaN",
        "+nan",
        "1e999",
        "-1e999",
        "1e-999",
        "1_000.5",
        "_1",
        "1_",
        "1__0",
        "1_.5",
        "x",
        "1s",
        "1_0",
        "+1.5",
        "--1",
        "0:00:01",
        " ",
    ] {
        all.push(results("failures=\"0\" time=\"1.5\"", &format!("failures=\"0\" time=\"{value}\"")));
    }
    for (from, to) in [
        // The verifier parses only the numbers of a suite.
        ("<testsuites tests=\"3\"", "<testsuites tests=\"x\""),
        ("time=\"1.5\"><system-out>", "time=\"x\"><system-out>"),
        ("<testsuite name=\"suite\"", "<testsuite x:tests=\"x\" name=\"suite\""),
        ("<testsuite name=\"suite\"", "<testsuite xmlns:tests=\"x\" name=\"suite\""),
        ("<testsuite name=\"suite\"", "<testsuite skipped=\"x\" name=\"suite\""),
        ("<testsuite name=\"suite\"", "<testsuite errors=\"x\" name=\"suite\""),
        ("version=\"1.0\"", "version=\"1.1\""),
        ("version=\"1.0\"", "version='1.1'"),
        ("version=\"1.0\"", "version=\"\""),
        ("version=\"1.0\"", "version = \"1.1\""),
        ("version=\"1.0\"", "version=1.1"),
        ("encoding=\"UTF-8\"", "encoding=\"utf8\""),
        ("encoding=\"UTF-8\"", "encoding=\"Utf-8\""),
        ("encoding=\"UTF-8\"", "encoding=\"ISO-8859-1\""),
        ("encoding=\"UTF-8\"", "encoding='latin1'"),
        ("encoding=\"UTF-8\"", "standalone=\"yes\""),
        ("<?xml", "\u{feff}<?xml"),
        ("<?xml", "\n<?xml"),
        ("<?xml", "text <?xml"),
        ("<?xml", "<!DOCTYPE testsuites [<!ENTITY x \"y\">]><?xml"),
        ("<testcase name=\"other\">", "&x;<testcase name=\"other\">"),
        ("</testsuite></testsuites>", "</testsuite></testsuites> & <"),
        ("</testsuite></testsuites>", "</testsuite></testsuites><testsuites/>"),
        ("</testsuite></testsuites>", "</testsuite>"),
        ("</testsuite></testsuites>", "</testsuites></testsuite>"),
        ("</testsuite></testsuites>", "</testsuite></testsuites></x>"),
        ("<testsuites tests", "<x:testsuites tests"),
        ("[It] a", "a"),
        ("[It] a", "[It] [It] a"),
        ("[It] a", "[It]a"),
        ("[It] a [Conformance]", "[It] a [conformance]"),
        ("[It] a [Conformance]\"", "[It] a [Conformance]\" name=\"z\""),
        ("name=\"[It] a [Conformance]\"", "name=\"z\" name=\"[It] a [Conformance]\""),
        ("name=\"[It] a [Conformance]\"", "x:name=\"[It] a [Conformance]\""),
        ("name=\"[It] a [Conformance]\"", "Name=\"[It] a [Conformance]\""),
        ("<system-out>x", "<failure/><system-out>x"),
        ("<system-out>x", "<error/><system-out>x"),
        ("<system-out>x", "<Failure/><system-out>x"),
        ("<system-out>x", "<x:failure/><system-out>x"),
        ("<system-out>x", "<failure/><failure/><system-out>x"),
        ("<system-out>x", "<failure/><skipped/><system-out>x"),
        ("<system-out>x", "<skipped/><system-out>x"),
        ("<system-out>x", "<system-err><failure/></system-err><system-out>x"),
        ("<system-out>x", "<properties><skipped/></properties><system-out>x"),
        ("=&amp;gt;", "=&gt;"),
        ("=&amp;gt;", "=>"),
        ("=&amp;gt;", "=&amp;amp;gt;"),
        ("&amp;#34;c&amp;#34;", "&quot;c&quot;"),
        (
            "<testcase name=\"other\">",
            "<testcase name=\"d [Conformance]\"><failure/></testcase><testcase name=\"other\">",
        ),
        ("<testcase name=\"other\">", "<testcase name=\"d\"><failure/></testcase><testcase name=\"other\">"),
        (
            "<testcase name=\"other\">",
            "<testcase name=\"[It] a [Conformance]\"><failure/></testcase><testcase name=\"other\">",
        ),
        (
            "<testcase name=\"other\">",
            "<testCase name=\"d [Conformance]\"><failure/></testCase><testcase name=\"other\">",
        ),
        (
            "<testcase name=\"other\">",
            "<testcase name=\"d\"><testcase name=\"e [Conformance]\"><failure/></testcase></testcase><testcase name=\"other\">",
        ),
        (
            "<testcase name=\"other\">",
            "<testsuite tests=\"x\"><testcase name=\"e [Conformance]\"><failure/></testcase></testsuite><testcase name=\"other\">",
        ),
        ("<properties>", "<properties tests=\"x\"><testcase name=\"e [Conformance]\"><failure/></testcase>"),
    ] {
        all.push(results(from, to));
    }
    for document in [
        "",
        " ",
        "text",
        "<testsuites/>",
        "<testsuite/>",
        "<testsuites>",
        "<a/><testsuites/>",
        "other.xml",
        "<!-- x -->",
    ] {
        all.push(Submission::with(JUNIT, document));
    }
    all.push(Submission::with(JUNIT, GOOD_RESULTS.replace("other", "caf\u{e9}")));
    // Invalid UTF-8 matters in text and values, but not in comments.
    for from in ["other", ">x<", "<!-- c"] {
        let document = GOOD_RESULTS.replace("</testsuite>", "<!-- c --></testsuite>");
        let (before, after) = document.split_once(from).unwrap();
        let (head, tail) = from.split_at(from.len() - 1);
        all.push(Submission::with(
            JUNIT,
            [before.as_bytes(), head.as_bytes(), b"\xe9", tail.as_bytes(), after.as_bytes()].concat(),
        ));
    }
    let wide: Vec<u8> =
        "\u{feff}".encode_utf16().chain(GOOD_RESULTS.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    all.push(Submission::with(JUNIT, wide));
    all
}

/// Returns variations of the product. It leaves out values that differ between versions of Go, such
/// as `https://[127.0.0.1]`. It also leaves out two kinds of invalid YAML that Go accepts and we
/// reject. These are tags that contradict their values, and quoted text that continues in the first
/// column.
fn products() -> Vec<Submission> {
    let product = |from: &str, to: &str| {
        assert!(GOOD_PRODUCT.contains(from), "{from}");
        Submission::with(PRODUCT, GOOD_PRODUCT.replacen(from, to, 1))
    };
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let mut all = Vec::new();
    for url in [
        "https://example.org",
        "HTTPS://EX.COM",
        "http://ex.com:8080",
        "https://ex.com:",
        "https://ex.com:abc",
        "https://ex.com:-1",
        "https://ex.com:99999",
        "https://ex.com:80:90",
        "https://",
        "https:///x",
        "https:x",
        "https:",
        "https",
        "example.org",
        "example.org/x",
        "example.org:80",
        "example.org:80/x",
        "1example.org:80",
        "www.example.org",
        "//example.org",
        "///x",
        "/x",
        "*",
        "?",
        "#",
        "a",
        ":",
        "://x",
        ":x",
        "ftp://example.org",
        "mailto:a@b.c",
        "javascript:alert(1)",
        "h ttp://x",
        "https://a b",
        "https://a.org/a b",
        "https://a..b",
        "https://-a",
        "https://a_b.org",
        "https://a.b-",
        "https://ä.org",
        "https://a.org/ä",
        "https://a.org/%",
        "https://a.org/%z",
        "https://a.org/%zz",
        "https://a.org/%41",
        "https://a.org/?%zz",
        "https://a.org/#%zz",
        "https://a%41.org",
        "https://a%e4.org",
        "https://a%25.org",
        "https://a%2.org",
        "https://u@a.org",
        "https://u:p@a.org",
        "https://u p@a.org",
        "https://u@v@a.org",
        "https://u%zz@a.org",
        "https://u<@a.org",
        "https://<a>.org",
        "https://a\"b.org",
        "https://a{b}.org",
        "https://a|b.org",
        "https://a\\b.org",
        "https://a^b.org",
        "https://a`b.org",
        "https://a.org/<>\"{}|\\^`",
        "https://[::1]",
        "https://[::1]:80",
        "https://[::1]:x",
        "https://[::1",
        "https://::1]",
        "https://[::ffff:1.2.3.4]",
        "https://[fe80::1%25en0]",
        "https://[fe80::1%en0]",
        "https://1.2.3.4:5",
        "https://a.org?x",
        "https://a.org#x",
        "https://a.org:80?x",
        "https://a.org:80#x",
        " https://a.org",
        "https://a.org ",
        "https://a.org\t",
        "https://a.org\n",
        "https://a.org/\u{7f}",
        "git+ssh://a.org",
        "a+b-c.d://x",
        "a,b",
        "tel:+1",
        "HTTP://[::1]:",
        "ftp://a:b:80",
    ] {
        all.push(product("website_url: https://example.org", &format!("website_url: {}", quoted(url))));
    }
    for url in ["", "nowhere", "https://x.org:a", "/x"] {
        all.push(product("repo_url: https://example.org/code", &format!("repo_url: {}", quoted(url))));
        all.push(product(
            "product_logo_url: https://example.org/logo.svg",
            &format!("product_logo_url: {}", quoted(url)),
        ));
    }
    for mail in [
        "a@b.example",
        "A@B.EXAMPLE",
        "a@b",
        "a@b_c.com",
        "a@-b",
        "a@b.",
        "a@.b",
        "a@b..c",
        "a.b+c@d.e",
        ".a@b.c",
        "a.@b.c",
        "a..b@c.d",
        "a",
        "@b",
        "a@",
        "a@b@c",
        "a b@c.d",
        "a @b.c",
        "a@ b.c",
        " a@b.c ",
        "a@b.c x",
        "a@b.c,",
        "a@b.c, d@e.f",
        "<a@b.c>",
        "< a@b.c>",
        "<a@b.c",
        "<a@b.c >",
        "A <a@b.c>",
        "A B <a@b.c>",
        "A. B. <a@b.c>",
        "A, B <a@b.c>",
        "\"A, B\" <a@b.c>",
        "\"A\\\"B\" <a@b.c>",
        "\"A <a@b.c>",
        "\"\" <a@b.c>",
        "A <a@b.c> x",
        "A <a@b.c> (x)",
        "A (x) <a@b.c>",
        "(x) a@b.c",
        "a@b.c (A B)",
        "a@b.c (A (B) C)",
        "a@b.c (A",
        "a@b.c (A\\",
        "a@b.c (A\\)",
        "a@b.c )",
        "\"a b\"@c.d",
        "\"\"@c.d",
        "\"a\"b@c.d",
        "\"a\\\u{1}\"@b.c",
        "a\"b\"@c.d",
        "ä@b.c",
        "a@ä.b",
        "Ä <a@b.c>",
        "a@[x]",
        "a@[127.0.0.1",
        "a@[]",
        "a@[IPv6:::1]",
        "group: a@b.c;",
        "group:;",
        "group: a@b.c, d@e.f;",
        "group: a@b.c",
        "group: a@b.c; x",
        "group: A <a@b.c>;",
        "group: a@b.c,;",
        ": a@b.c;",
        "=?utf-8?q?A?= <a@b.c>",
        "=?UTF-8?B?QQ==?= <a@b.c>",
        "=?koi8-r?q?A?= <a@b.c>",
        "=?koi8-r?x?A?= <a@b.c>",
        "=?koi8-r?q?=zz?= <a@b.c>",
        "A =?koi8-r?q?A?= <a@b.c>",
        "a@b.c (=?koi8-r?q?A?=)",
        "mailto:a@b.c",
        "a;b@c.d",
        "a:b@c.d",
        "a!#$%&'*+-/=?^_`{|}~b@c.d",
        "a\tb <c@d.e>",
        "a\u{7f}@b.c",
        "A [x] <a@b.c>",
        "https://example.org",
    ] {
        all.push(product("k8s@example.org", &quoted(mail)));
    }
    for (from, to) in [
        ("vendor: Example", ""),
        ("vendor: Example", "vendor:"),
        ("vendor: Example", "vendor: ~"),
        ("vendor: Example", "vendor: null"),
        ("vendor: Example", "vendor: ''"),
        ("vendor: Example", "vendor: ' '"),
        ("vendor: Example", "Vendor: Example"),
        ("vendor: Example", "vendor: [a]"),
        ("vendor: Example", "vendor: {a: b}"),
        ("vendor: Example", "vendor: 7"),
        ("vendor: Example", "vendor: yes"),
        ("vendor: Example", "vendor: 2026-11-22"),
        ("vendor: Example", "vendor: Example\nvendor: Other"),
        ("vendor: Example", "vendor: Example\nvendor:"),
        ("vendor: Example", "vendor:\nvendor: Example"),
        ("vendor: Example", "vendor: a: b"),
        ("vendor: Example", "vendor: 'a: b'"),
        ("vendor: Example", "vendor: \"a"),
        ("vendor: Example", "vendor: @a"),
        ("vendor: Example", "vendor: {a"),
        ("vendor: Example", "vendor: a]"),
        ("vendor: Example", "vendor: a}"),
        ("vendor: Example", "vendor: - a"),
        ("vendor: Example", "vendor: ? a"),
        ("vendor: Example", "vendor: &x"),
        ("vendor: Example", "vendor: & a"),
        ("vendor: Example", "vendor: !x a"),
        ("vendor: Example", "vendor: !!binary x"),
        ("vendor: Example", "vendor: !!binary QQ=="),
        ("vendor: Example", "vendor: !!int x"),
        ("vendor: Example", "vendor: !!int 7"),
        ("vendor: Example", "vendor: !"),
        ("vendor: Example", "vendor: !<x> a"),
        ("vendor: Example", "vendor: 0x1F"),
        ("vendor: Example", "vendor: 1e3"),
        ("vendor: Example", "vendor: 0o7"),
        ("vendor: Example", "vendor: 010"),
        ("vendor: Example", "vendor: 1:30"),
        ("vendor: Example", "vendor: 99999999999999999999"),
        ("vendor: Example", "vendor: a\n<<: {more: b}"),
        ("vendor: Example", "vendor: a\n<<: x"),
        ("vendor: Example", "vendor: a\n<<: [{more: b}]"),
        ("vendor: Example", "vendor: 'a"),
        ("vendor: Example", "vendor: a'b"),
        ("vendor: Example", "vendor: 'a'b"),
        ("vendor: Example", "vendor: 'a''b'"),
        ("vendor: Example", "vendor: \"a\" b"),
        ("vendor: Example", "- vendor"),
        ("vendor: Example", "vendor"),
        ("vendor: Example", ": x"),
        ("vendor: Example", "vendor:Example"),
        ("vendor: Example", "vendor : Example"),
        ("vendor: Example", "vendor: Example\n  other: y"),
        ("vendor: Example", "vendor: Example\n other"),
        ("vendor: Example", "vendor: Example\n\tother: y"),
        ("vendor: Example", "vendor: Example\n\tother"),
        ("vendor: Example", "vendor: Example\n\t# c"),
        ("vendor: Example", "vendor: Example\n\t"),
        ("vendor: Example", "vendor: Example\t"),
        ("vendor: Example", "vendor: Example\t# c"),
        ("vendor: Example", "vendor: |\n\ta"),
        ("vendor: Example", "vendor: >\n a\n\tb"),
        ("vendor: Example", "vendor: |2\n  a"),
        ("vendor: Example", "vendor: |x\n  a"),
        ("vendor: Example", "vendor: |\n a\n  b\nc"),
        ("vendor: Example", "vendor: [a, b"),
        ("vendor: Example", "vendor: [a,, b]"),
        ("vendor: Example", "vendor: {a: b, c}"),
        ("vendor: Example", "vendor: {a b}"),
        ("vendor: Example", "vendor: \"\\u00e9\""),
        ("vendor: Example", "vendor: \"\\ud800\""),
        ("vendor: Example", "vendor: \"\\/\""),
        ("vendor: Example", "vendor: a\u{85}b"),
        ("vendor: Example", "vendor: \u{7f}"),
        ("vendor: Example", "vendor: \u{fffe}"),
        ("vendor: Example", "vendor: \u{1f600}"),
        ("vendor: Example", "vendor: x\u{feff}"),
        ("vendor: Example", "vendor: *"),
        ("vendor: Example", "vendor: ,a"),
        ("vendor: Example", "vendor: a,b"),
        ("vendor: Example", "vendor: #a"),
        ("vendor: Example", "vendor: a#b"),
        ("vendor: Example", "vendor: >a"),
        ("vendor: Example", "vendor: |a"),
        ("vendor: Example", "vendor: \"a\n  b\""),
        ("vendor: Example", "vendor: \"a\tb\""),
        ("vendor: Example", "%FOO\n---\nvendor: a"),
        ("vendor: Example", "%YAML 1.2\n---\nvendor: a"),
        ("vendor: Example", "%YAML 2.0\n---\nvendor: a"),
        ("vendor: Example", "%YAML 1.1\nvendor: a"),
        ("vendor: Example", "---a\nvendor: a"),
        ("vendor: Example", "--- a\nvendor: a"),
        ("vendor: Example", "--- {vendor: a}"),
        ("vendor: Example", "--- # c\nvendor: a"),
        ("vendor: Example", "...\nvendor: a"),
        ("vendor: Example", "vendor: a\n---"),
        ("vendor: Example", "vendor: a\n--- x\n: ["),
        ("vendor: Example", "vendor: a\n--- \nname: [\n"),
        ("vendor: Example", "? a\nvendor: a"),
        ("vendor: Example", "vendor: ? a\n: b"),
        ("vendor: Example", "vendor: a: b: c"),
        ("vendor: Example", "vendor: http://a: b"),
        ("vendor: Example", "a b c: d\nvendor: x"),
        ("vendor: Example", "'a b': d\nvendor: x"),
        ("vendor: Example", "[a, b]: c\nvendor: x"),
        ("vendor: Example", "{a: b}: c\nvendor: x"),
        ("vendor: Example", "1.5: c\nvendor: x"),
        ("vendor: Example", "null: c\nvendor: x"),
        ("vendor: Example", "~: c\nvendor: x"),
        ("vendor: Example", "true: a\n'true': b\nvendor: x"),
        ("vendor: Example", "1: a\n'1': b\nvendor: x"),
        ("vendor: Example", "vendor: yes"),
        ("vendor: Example", "vendor: ="),
        ("vendor: Example", "vendor: -"),
        ("vendor: Example", "vendor: --- a"),
        ("vendor: Example", "vendor: - "),
        ("vendor: Example", "vendor:\n- a\n- b"),
        ("vendor: Example", "vendor:\n - a\n- b"),
        ("vendor: Example", "vendor:\n  a: b\n c: d"),
        ("vendor: Example", "vendor:\n  a: b\n   c: d"),
        ("vendor: Example", "vendor: a\r\nmore: b"),
        ("vendor: Example", "vendor: a\rmore: b"),
        ("vendor: Example", "vendor: `a`"),
        ("vendor: Example", "vendor: a # b"),
        ("vendor: Example", "vendor: %a"),
        ("vendor: Example", "vendor: |\n  a\n  b"),
        ("vendor: Example", "vendor: >-\n  a\n\n  b"),
        ("vendor: Example", "vendor: a\n  b"),
        ("vendor: Example", "vendor: a\nb"),
        ("vendor: Example", "vendor:\ta"),
        ("vendor: Example", "\tvendor: a"),
        ("vendor: Example", " vendor: a"),
        ("vendor: Example", "vendor: !!str 7"),
        ("vendor: Example", "vendor: &x Example\nmore: *x"),
        ("vendor: Example", "vendor: *x"),
        ("vendor: Example", "\"vendor\": Example"),
        ("vendor: Example", "? vendor\n: Example"),
        ("vendor: Example", "vendor: Example\ntags: [a]"),
        ("vendor: Example", "vendor: Example\ntags: {a: b}"),
        ("vendor: Example", "vendor: Example\ntags:\n- a"),
        ("vendor: Example", "vendor: Example\n7: a"),
        ("vendor: Example", "vendor: Example\ntrue: a"),
        ("vendor: Example", "vendor: Example\n[a]: b"),
        ("vendor: Example", "vendor: Example\n? {a: b}\n: c"),
        ("vendor: Example", "vendor: \u{1}"),
        ("vendor: Example", "vendor: \"\\x01\""),
        ("vendor: Example", "vendor: \"\\z\""),
        ("vendor: Example", "vendor: ü"),
        ("vendor: Example", "# comment\nvendor: Example"),
        ("vendor: Example", "---\nvendor: Example"),
        ("vendor: Example", "%YAML 1.1\n---\nvendor: Example"),
        ("vendor: Example", "vendor: Example\n...\nname: [\n"),
        ("vendor: Example", "\u{feff}vendor: Example"),
        ("contact_email_address: k8s@example.org\n", "contact_email_address: k8s@example.org\n---\nother: document\n"),
        ("contact_email_address: k8s@example.org\n", "contact_email_address: k8s@example.org\r\n"),
        ("contact_email_address: k8s@example.org\n", "contact_email_address: k8s@example.org"),
        ("contact_email_address: k8s@example.org", "contact_email_address:"),
        ("contact_email_address: k8s@example.org", "contact_email_address: [a@b.c]"),
        ("website_url: https://example.org", "website_url:"),
        ("website_url: https://example.org", "website_url: 7"),
        ("website_url: https://example.org", "website_url: [https://example.org]"),
        ("website_url: https://example.org", "website_url: https://example.org # site"),
        ("website_url: https://example.org", "website_url: <https://example.org>"),
        ("type: distribution", "type: Distribution"),
        ("type: distribution", "type: hosted platform"),
        ("type: distribution", "type: 'installer'"),
        ("type: distribution", "type: \"installer \""),
        ("type: distribution", "type: hosted  platform"),
        ("type: distribution", "type: >-\n  hosted\n  platform"),
        ("type: distribution", "type:"),
        ("type: distribution", "type: ''"),
        ("type: distribution", "type: [distribution]"),
        ("type: distribution", "type: installer\ntype: distribution"),
        ("type: distribution", "type: distribution\ntype: other"),
    ] {
        all.push(product(from, to));
    }
    for document in [
        "",
        "\n",
        "# nothing\n",
        "~",
        "{}",
        "[]",
        "- a\n",
        "words",
        "7",
        "a: [",
        "---\n",
        "{vendor: a}",
        "PRODUCT-2.yaml",
    ] {
        all.push(Submission::with(PRODUCT, document));
    }
    for more in [
        format!("{}: x\n", "k".repeat(1000)),
        format!("{}: x\n", "k".repeat(1100)),
        format!("more: {}{}\n", "[".repeat(50), "]".repeat(50)),
    ] {
        all.push(Submission::with(PRODUCT, format!("{GOOD_PRODUCT}{more}")));
    }
    all.push(Submission::with(PRODUCT, [GOOD_PRODUCT.as_bytes(), b"more: caf\xe9\n"].concat()));
    all
}

fn layouts() -> Vec<Submission> {
    let mut all = vec![Submission::good(), Submission { about: "no files".to_owned(), files: BTreeMap::new() }];
    for folder in [
        "engine",
        "1.30/engine",
        "v1.3/engine",
        "v1.300/engine",
        "v1.30",
        "v1.30/a/b",
        "a/v1.30/b",
        "v1x30/engine",
        "V1.30/engine",
        "v2.30/engine",
        "v1.30 /engine",
        "xv1.30/engine",
        "v1.30/e n",
    ] {
        let files = Submission::good().files.into_iter();
        let files = files.map(|(path, content)| (format!("{folder}/{}", path.rsplit('/').next().unwrap()), content));
        all.push(Submission { about: format!("folder {folder}"), files: files.collect() });
    }
    let top = Submission::good()
        .files
        .into_iter()
        .map(|(path, content)| (path.rsplit('/').next().unwrap().to_owned(), content));
    all.push(Submission { about: "files at the top".to_owned(), files: top.collect() });
    for name in ["README.md", PRODUCT, "e2e.log", JUNIT] {
        let mut missing = Submission::good();
        let content = missing.files.remove(&format!("v1.30/engine/{name}")).unwrap();
        missing.about = format!("no {name}");
        for other in [name.to_uppercase(), name.to_lowercase(), format!("{name}.txt")] {
            let mut renamed = missing.clone();
            renamed.about = format!("{other} in place of {name}");
            renamed.files.insert(format!("v1.30/engine/{other}"), content.clone());
            all.push(renamed);
        }
        all.push(missing);
        all.push(Submission::with(name, ""));
    }
    for extra in [
        "v1.30/engine/.DS_Store",
        "v1.30/engine/sub/README.md",
        "v1.30/other/README.md",
        "v1.31/engine/README.md",
        "README.md",
    ] {
        let mut more = Submission::good();
        more.about = format!("also {extra}");
        more.files.insert(extra.to_owned(), b"x".to_vec());
        all.push(more);
    }
    all
}

/// Returns the results of the verifier, or `None` if its program cannot be built.
fn theirs(submissions: &[Submission]) -> Option<Vec<BTreeMap<String, bool>>> {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/verifier"));
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("verifier");
    let go = |args: &[&str]| {
        let mut command = Command::new("go");
        command
            .args(args)
            .current_dir(source)
            .env("GOFLAGS", "-mod=readonly")
            .env("GOTOOLCHAIN", "local")
            .env("GOWORK", "off");
        command.stdin(Stdio::null()).output()
    };
    for (args, reason) in
        [(&["version"][..], "there is no `go` here"), (&["mod", "download"], "its Go modules cannot be downloaded")]
    {
        if !go(args).is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: our rules and the verifier's agree: {reason}");
            return None;
        }
    }
    let built = go(&["build", "-o", program.to_str().unwrap(), "."]).unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let questions: String = submissions
        .iter()
        .map(|submission| {
            let files =
                submission.files.iter().map(|(path, content)| json!({"Path": path, "Content": base64(content)}));
            json!({"Files": files.collect::<Vec<_>>(), "Required": REQUIRED}).to_string() + "\n"
        })
        .collect();
    let writer = std::thread::spawn(move || stdin.write_all(questions.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    Some(answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Encodes bytes as Go expects them in JSON.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..4)
            .map(move |at| if at <= chunk.len() { DIGITS[(bits >> (18 - 6 * at) & 63) as usize] } else { b'=' } as char)
    });
    digits.collect()
}

#[test]
fn our_rules_and_the_verifiers_agree() {
    let submissions: Vec<Submission> = [layouts(), results(), products()].concat();
    assert!(submissions.len() >= LEAST, "{}", submissions.len());
    let Some(answers) = theirs(&submissions) else { return };
    assert_eq!(answers.len(), submissions.len());
    let (mut wrong, mut kept, mut broken) = (Vec::new(), 0, 0);
    for (submission, theirs) in submissions.iter().zip(answers) {
        let ours = submission.ours();
        for (rule, keeps) in theirs {
            *(if keeps { &mut kept } else { &mut broken }) += 1;
            if ours.get(&rule) != Some(&keeps) {
                let verdict = if keeps { "accepts" } else { "rejects" };
                wrong.push(format!("{rule}: the verifier {verdict}, we do not: {:?}", submission.about));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    // With fewer outcomes, the comparison would prove little.
    assert!(kept > 1000 && broken > 250, "{kept} kept, {broken} broken");
}

/// Makes sure that the outcomes are really about the intended variations.
#[test]
fn a_good_submission_keeps_every_rule_of_the_verifier() {
    let ours: Value = serde_json::to_value(Submission::good().ours()).unwrap();
    let broken: Vec<&String> =
        ours.as_object().unwrap().iter().filter(|(_, keeps)| **keeps == json!(false)).map(|(rule, _)| rule).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

/// Returns the text of a fixture of the verifier (`tests/data/verifier-fixtures`).
fn fixture(compressed: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(compressed).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_verifiers_own_fixtures_break_the_rules_that_its_tests_expect() {
    const STATUS: &str = "\" classname=\"Kubernetes e2e suite\" status=\"";
    let good = fixture(include_bytes!("../data/verifier-fixtures/junit_01.xml.gz"));
    let list = fixture(include_bytes!("../data/verifier-fixtures/conformance.yaml.gz"));
    let required = Required::from_yaml(&list, "v1.30".parse().unwrap(), "the verifier".to_owned()).unwrap();
    assert!(required.names.len() > 390, "{}", required.names.len());
    // The changes of the verifier's other results.
    let changed = |from: &str, to: &str| {
        assert_eq!(good.matches(from).count(), 1, "{from}");
        good.replace(from, to)
    };
    let extra = format!(
        "<testcase name=\"[It] [sig-soup] Soup should be really nice [Conformance]{STATUS}passed\"></testcase>"
    );
    let first = good.find("<testcase ").unwrap();
    let with_extra = format!("{}{extra}{}", &good[..first], &good[first..]);
    let name = "[It] [sig-apps] Daemon set [Serial] should verify changes to a daemon set status [Conformance]";
    let passed = format!("{name}{STATUS}passed\" time=\"4.8455901279999996\">");
    let failed =
        format!("{name}{STATUS}failed\" time=\"4.8455901279999996\"><failure message=\"Something\">Test!</failure>");
    let name = "[It] [sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]";
    let missing = format!("<testcase name=\"{name}{STATUS}passed\" time=\"5.183582284\"></testcase>");
    for (about, results, broken) in [
        ("as it is", good.clone(), &[][..]),
        ("an extra test", with_extra, &[]),
        ("a failed test", changed(&passed, &failed), &["required-tests", "no-failed-tests"]),
        ("a missing test", changed(&missing, ""), &["required-tests"]),
    ] {
        let submission = Submission::with(JUNIT, &results);
        let files: Vec<FoundFile> =
            submission.files.keys().map(|path| FoundFile { path: path.clone(), bytes: 1 }).collect();
        let cases = Cases::read(results.as_bytes());
        let findings = check(&Contents {
            files: &files,
            product: Some(GOOD_PRODUCT.as_bytes()),
            log: &LogVersions::default(),
            cases: Some(&cases),
            required: Some(&required),
        });
        let failed = findings.iter().filter(|finding| finding.outcome == Outcome::Failed);
        assert_eq!(failed.map(|finding| finding.rule).collect::<Vec<_>>(), broken, "{about}");
    }
}
