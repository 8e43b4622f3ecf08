use super::*;

#[test]
fn plugin_names_follow_dns_1123() {
    for good in ["e2e", "systemd-logs", "a.b-c.d", "0"] {
        assert!(good.parse::<PluginName>().is_ok(), "{good}");
    }
    for bad in ["", "E2E", "-a", "a-", "a..b", ".a", "a/b", "a_b", "sonobuoy", "plumbline", &"a".repeat(254)] {
        assert!(bad.parse::<PluginName>().is_err(), "{bad}");
    }
}

#[test]
fn module_names_are_safe_as_file_stems() {
    for good in ["junit", "e2e", "go-json", "a.b_c", "7"] {
        assert!(is_module_name(good), "{good}");
    }
    for bad in ["", "JUnit", "../junit", "a/b", "-a", "a.", ".a", "a b", "ünit", &"a".repeat(64)] {
        assert!(!is_module_name(bad), "{bad}");
    }
}

#[test]
fn keys_round_trip() {
    let key: ResultKey = "e2e/global".parse().unwrap();
    assert!(key.node.is_global());
    assert_eq!(key.to_string().parse::<ResultKey>().unwrap(), key);
    assert!("e2e".parse::<ResultKey>().is_err());
    assert!("e2e/../x".parse::<ResultKey>().is_err());
}

#[test]
fn run_ids_round_trip() {
    let id = RunId::random();
    assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
    assert_eq!(id.short().len(), 6);
}

#[test]
fn one_for_each_plugin_of_each_run() {
    let run: RunId = "7f3a9c00-0000-4000-8000-000000000001".parse().unwrap();
    let other = RunId::random();
    let (e2e, logs) = ("e2e".parse().unwrap(), "systemd-logs".parse().unwrap());
    let id = session_id(&run, &e2e);
    assert_eq!(id.len(), 16);
    assert_eq!(id, session_id(&run, &e2e));
    assert_ne!(id, session_id(&run, &logs));
    assert_ne!(id, session_id(&other, &e2e));
}
