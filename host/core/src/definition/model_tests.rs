mod set {
    use serde_json::json;

    use super::super::*;

    fn plugin(name: &str, driver: &str, order: i32, reruns: Option<&str>) -> Definition {
        let own =
            reruns.map(|other| json!({"reruns": {"plugin": other, "focus": "FOCUS"}})).unwrap_or_else(|| json!({}));
        let config = json!({"driver": driver, "plugin-name": name, "order": order});
        Definition::from_json(json!({"sonobuoy-config": config, "spec": {}, "plumbline": own})).unwrap().definition
    }

    #[test]
    fn a_rerun_comes_after_what_it_runs_again() {
        let e2e = plugin("e2e", "Job", 0, None);
        let chain = [plugin("b", "Job", 2, Some("a")), e2e.clone(), plugin("a", "Job", 1, Some("e2e"))];
        assert_eq!(check_set(&chain), Ok(()));
        let wrong = [
            plugin("a", "Job", 1, Some("nobody")),
            plugin("a", "Job", 0, Some("e2e")),
            plugin("a", "Job", 1, Some("a")),
            plugin("a", "DaemonSet", 1, Some("e2e")),
        ];
        let errors = wrong.map(|wrong| check_set(&[e2e.clone(), wrong]).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"));
        let nodes = [plugin("n", "DaemonSet", 0, None), plugin("a", "Job", 1, Some("n"))];
        assert!(check_set(&nodes).is_err());
    }
}
