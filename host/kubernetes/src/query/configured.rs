//! Derives the options of a survey from the configuration of a run.

use std::path::PathBuf;

use plumbline_core::config::Config;

use super::options::{PodLogOptions, QueryOptions};

impl QueryOptions {
    /// Returns the options of `config` for a run in `namespace`.
    #[must_use]
    pub fn from_config(config: &Config, namespace: &str) -> Self {
        let logs = &config.limits.pod_logs;
        // A number beyond the server's maximum means everything, and so does the maximum.
        let count = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let directory = [&config.query_dir, &config.uuid].into_iter().find(|name| !name.is_empty());
        Self {
            resources: config.resources.clone(),
            kubelets: config.plumbline.query_kubelets,
            namespaces: config.filters.namespaces.clone(),
            label_selector: config.filters.label_selector.clone(),
            pod_logs: PodLogOptions {
                namespaces: logs.namespaces.clone(),
                own_namespace: logs.sonobuoy_namespace,
                field_selectors: logs.field_selectors.clone(),
                label_selector: logs.label_selector.clone(),
                previous: logs.previous,
                since_seconds: count(logs.since_seconds),
                since_time: logs.since_time,
                timestamps: logs.timestamps,
                tail_lines: count(logs.tail_lines),
                limit_bytes: count(logs.limit_bytes),
            },
            qps: config.qps,
            burst: config.burst,
            own_namespace: namespace.to_owned(),
            directory: directory.map(PathBuf::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_configuration_asks_what_a_default_survey_asks() {
        let asked = QueryOptions::from_config(&Config::default(), "sonobuoy");
        assert_eq!(asked, QueryOptions::default());
    }

    #[test]
    fn what_a_configuration_says_is_asked() {
        let text = r#"{"filters":{"labelselector":"a=b"},"qps":2.5,"UUID":"id","querydir":"there",
            "LIMITS":{"podlogs":{"sonobuoynamespace":false,"TailLines":7,"SinceTime":null}}}"#;
        let config = Config::over_defaults(text).unwrap();
        let mut expected = QueryOptions { label_selector: "a=b".to_owned(), qps: 2.5, ..QueryOptions::default() };
        expected.directory = Some("there".into());
        expected.pod_logs.own_namespace = false;
        expected.pod_logs.tail_lines = Some(7);
        assert_eq!(QueryOptions::from_config(&config, "sonobuoy"), expected);
    }
}
