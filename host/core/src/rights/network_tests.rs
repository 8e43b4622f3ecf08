use super::*;

fn host(text: &str) -> Host {
    text.parse().unwrap()
}

#[test]
fn entries_are_written_in_one_way() {
    for (text, written) in [
        ("example.com:443", "example.com:443"),
        ("Example.COM.:443", "example.com:443"),
        ("*:*", "*:*"),
        ("*.example.com:1", "*.example.com:1"),
        ("10.0.0.0/8:*", "10.0.0.0/8:*"),
        ("10.0.0.1:53", "10.0.0.1:53"),
        ("[2001:db8::/32]:53", "[2001:db8::/32]:53"),
        ("[2001:db8::1]:53", "[2001:db8::1]:53"),
    ] {
        assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), written);
    }
    for text in ["example.com", "a:0", "a:65536", "a:", ":1", "a b:1", "10.0.0.1/8:1", "2001:db8::1", "127.1:80"] {
        assert!(text.parse::<Endpoint>().is_err(), "{text}");
    }
    for (text, written) in [
        ("https://example.com", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://10.0.0.0/8:*", "http://10.0.0.0/8:*"),
    ] {
        assert_eq!(text.parse::<Origin>().unwrap().to_string(), written);
    }
    for text in ["example.com", "ftp://a", "https://a/path", "https://user@a", "https://"] {
        assert!(text.parse::<Origin>().is_err(), "{text}");
    }
    for text in ["10.0.0.1", "a.*", "*.*", "", ".", "a..b", "0x7f.1"] {
        assert!(text.parse::<NamePattern>().is_err(), "{text}");
    }
}

#[test]
fn names_and_addresses_are_granted_separately() {
    let endpoint = |text: &str| text.parse::<Endpoint>().unwrap();
    for (granted, target, port, expected) in [
        ("example.com:443", "EXAMPLE.com.", 443, true),
        ("example.com:443", "example.com", 80, false),
        ("example.com:443", "www.example.com", 443, false),
        ("*.example.com:443", "www.example.com", 443, true),
        ("*.example.com:443", "example.com", 443, false),
        ("*.example.com:443", "badexample.com", 443, false),
        ("*:443", "example.com", 443, true),
        ("*:443", "10.0.0.1", 443, false),
        ("10.0.0.0/8:*", "10.1.2.3", 1, true),
        ("10.0.0.0/8:*", "::ffff:10.1.2.3", 1, true),
        ("10.0.0.0/8:*", "11.1.2.3", 1, false),
    ] {
        assert_eq!(endpoint(granted).admits(&host(target), port), expected, "{granted} {target}");
    }
}

#[test]
fn special_addresses_need_a_grant_of_their_own() {
    for address in ["127.0.0.1", "::1", "fe80::1", "0.0.0.0"] {
        assert!(is_special(address.parse().unwrap()), "{address}");
    }
    // Metadata services of clouds, and agents that give credentials to pods and tasks.
    for (address, network) in [
        ("169.254.169.254", "0.0.0.0/0"),
        ("169.254.170.2", "0.0.0.0/0"),
        ("169.254.170.23", "169.0.0.0/8"),
        ("168.63.129.16", "168.63.0.0/16"),
        ("100.100.100.200", "100.64.0.0/10"),
        ("192.0.0.192", "192.0.0.0/24"),
        ("[fd00:ec2::254]", "[fd00:ec2::/32]"),
        ("[fd00:ec2::23]", "[fd00:ec2::/32]"),
        ("[fd20:ce::254]", "[fc00::/7]"),
        ("[fd00:c1::a9fe:a9fe]", "[fd00::/8]"),
        ("[fd00:42::42]", "[::/0]"),
    ] {
        let admits = |granted: &str| format!("{granted}:80").parse::<Endpoint>().unwrap().admits(&host(address), 80);
        assert!(!admits(network), "{network} {address}");
        assert!(admits(address), "{address}");
        assert!(is_special(address.trim_matches(['[', ']']).parse().unwrap()), "{address}");
    }
    for address in ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "::ffff:127.0.0.1"] {
        assert!(is_special(address.parse().unwrap()), "{address}");
    }
    for (granted, target, expected) in [
        ("0.0.0.0/0:80", "169.254.169.254", false),
        ("0.0.0.0/0:80", "93.184.216.34", true),
        ("160.0.0.0/3:80", "169.254.169.254", false),
        ("128.0.0.0/1:80", "169.254.169.254", false),
        ("169.254.169.254:80", "169.254.169.254", true),
        ("169.254.0.0/16:80", "169.254.169.254", true),
        ("127.0.0.0/8:80", "127.0.0.1", true),
        ("0.0.0.0/1:80", "127.0.0.1", false),
        ("[::/0]:80", "::1", false),
        ("[::1]:80", "::1", true),
        ("[fe80::/10]:80", "fe80::1", true),
        ("168.0.0.0/8:80", "168.63.129.16", false),
    ] {
        let granted: Endpoint = granted.parse().unwrap();
        assert_eq!(granted.admits(&host(target), 80), expected, "{granted} {target}");
    }
}

#[test]
fn a_grant_covers_narrower_entries() {
    for (granted, wanted, expected) in [
        ("https://*.example.com", "https://a.example.com", true),
        ("https://*.example.com", "https://*.b.example.com", true),
        ("https://*.b.example.com", "https://*.example.com", false),
        ("https://example.com", "http://example.com:443", false),
        ("https://*", "https://*.example.com", true),
        ("https://example.com:*", "https://example.com:8443", true),
        ("https://example.com:8443", "https://example.com:*", false),
        ("http://10.0.0.0/8", "http://10.1.0.0/16", true),
        ("http://10.1.0.0/16", "http://10.0.0.0/8", false),
        ("http://0.0.0.0/0", "http://169.254.169.254", false),
        ("http://*", "http://10.0.0.1", false),
    ] {
        let [given, needed] = [granted, wanted].map(|text| text.parse::<Origin>().unwrap());
        assert_eq!(given.covers(&needed), expected, "{granted} {wanted}");
    }
}
