use super::*;

#[test]
fn storages_round_trip_and_rubbish_is_refused() {
    for good in ["", "pvc:5Gi", "pvc:1.5Ti:fast-ssd", "pvc:500M", "pvc:1000000"] {
        assert_eq!(good.parse::<Storage>().unwrap().to_string(), good);
    }
    for bad in
        ["pvc", "pvc:", "pvc:0", "pvc:5GiB", "pvc:5Gi:", "pvc:5Gi:a b", "5Gi", "pvc:1.2.3Gi", "pvc:-1Gi", "pvc:.Gi"]
    {
        assert!(bad.parse::<Storage>().is_err(), "{bad}");
    }
}

#[test]
fn tolerations_are_read_as_taints_are_written() {
    let read = |text: &str| text.parse::<Toleration>().map(|read| serde_json::to_string(&read).unwrap());
    assert_eq!(read("gpu").unwrap(), r#"{"key":"gpu","operator":"Exists"}"#);
    assert_eq!(
        read("example.org/gpu=true:NoSchedule").unwrap(),
        r#"{"key":"example.org/gpu","operator":"Equal","value":"true","effect":"NoSchedule"}"#
    );
    assert_eq!(read("gpu=").unwrap(), r#"{"key":"gpu","operator":"Equal"}"#);
    assert_eq!(read("*:NoExecute").unwrap(), r#"{"operator":"Exists","effect":"NoExecute"}"#);
    for bad in ["", ":NoSchedule", "gpu:", "gpu:never", "*=x", "a b", "=x", "gpu=a=b"] {
        assert_eq!(read(bad), Err(TolerationError), "{bad}");
    }
}
