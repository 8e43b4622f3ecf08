//! Plugins behind URLs, and plugins that a reference renames.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use crate::bed::Bed;

const PLUGIN: &str = "sonobuoy-config: {driver: Process, plugin-name: far}\nspec: {name: plugin, command: ['true']}\n";

/// Starts a server that gives each request the next one of `answers`, and returns its URL.
pub(crate) fn server(answers: Vec<String>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            // The client may close the connection as soon as it has read enough.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

pub(crate) fn answer(status: &str, header: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{header}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn dry(bed: &Bed, reference: &str) -> crate::bed::Done {
    bed.plumbline(&["run", "--local", "--dry-run", "-p", reference])
}

#[test]
fn a_downloaded_definition_has_its_own_name_or_the_given_one() {
    let bed = Bed::new();
    let there = answer("302 Found", "location: /other.yaml\r\n", "");
    let address = server(vec![answer("200 OK", "", PLUGIN), there, answer("200 OK", "", PLUGIN)]);
    let done = dry(&bed, &format!("{address}/p.yaml")).expect(0);
    assert!(done.err.contains("would run `far`"), "{}", done.err);
    assert!(done.err.contains("over plain HTTP"), "{}", done.err);
    let done = dry(&bed, &format!("{address}/p.yaml@nightly")).expect(0);
    assert!(done.err.contains("would run `nightly`"), "{}", done.err);
}

#[test]
fn a_file_gets_the_given_name_unless_it_is_part_of_the_file_name() {
    let bed = Bed::new();
    bed.write("p.yaml", PLUGIN);
    assert!(dry(&bed, "p.yaml@nightly").expect(0).err.contains("would run `nightly`"));
    bed.write("q@2.yaml", PLUGIN);
    assert!(dry(&bed, "q@2.yaml").expect(0).err.contains("would run `far`"));
    let done = dry(&bed, "p.yaml@Not_A_Name").expect(2);
    assert!(done.err.contains("it is not built-in"), "{}", done.err);
}

#[test]
fn an_invalid_definition_is_reported_with_its_url() {
    let bed = Bed::new();
    let address = server(vec![
        answer("404 Not Found", "", "no"),
        answer("200 OK", "", "<html>"),
        answer("200 OK", "", &"x".repeat(4 << 20)),
    ]);
    let address = format!("{address}/p.yaml");
    for expected in ["the server responded with 404 Not Found", "invalid definition", "invalid definition"] {
        let done = dry(&bed, &address).expect(2);
        assert!(done.err.contains(expected) && done.err.contains(&address), "{}", done.err);
    }
    let done = dry(&bed, "http://127.0.0.1:1/p.yaml").expect(2);
    assert!(done.err.contains("failed to download") && done.err.contains("Connection refused"), "{}", done.err);
}

#[test]
fn credentials_in_a_url_are_neither_shown_nor_stored() {
    let bed = Bed::new();
    let good = || answer("200 OK", "", PLUGIN);
    let address = server(vec![good(), answer("404 Not Found", "", "no"), answer("200 OK", "", "<html>"), good()]);
    let plain = format!("{address}/p.yaml");
    let secret = format!("{}?sig=secret2", plain.replace("http://", "http://user:secret1@"));
    for code in [0, 2, 2] {
        let done = dry(&bed, &secret).expect(code);
        assert!(done.err.contains(&plain) && !done.err.contains("secret"), "{}", done.err);
    }
    let done = dry(&bed, "http://user:secret1@127.0.0.1:1/p.yaml?sig=secret2").expect(2);
    assert!(done.err.contains("Connection refused") && !done.err.contains("secret"), "{}", done.err);
    let done = bed.plumbline(&["plugin", "lock", "-p", &secret, "--local", "-f", "-"]).expect(0);
    assert!(done.out.contains(&plain) && !done.out.contains("secret"), "{}{}", done.out, done.err);
    assert!(!done.err.contains("secret"), "{}", done.err);
}
