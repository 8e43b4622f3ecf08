//! The keys of a worker's configuration.

/// One value of a worker's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The URL of the aggregator.
    AggregatorUrl,
    /// The name of the plugin.
    ResultType,
    /// The name of the node, for a worker that runs on each node.
    NodeName,
    /// The certificate of the run's CA, in PEM format.
    CaCert,
    /// The plugin's certificate, in PEM format.
    ClientCert,
    /// The private key of that certificate, in PEM format.
    ClientKey,
    /// The results directory that plugin and worker share.
    ResultsDir,
    /// The port of the progress relay.
    ProgressPort,
    /// The settle delay of the done file.
    DoneFileDelay,
}

impl Key {
    /// All keys, in the order in which problems are reported.
    pub const ALL: [Self; 9] = [
        Self::AggregatorUrl,
        Self::ResultType,
        Self::NodeName,
        Self::CaCert,
        Self::ClientCert,
        Self::ClientKey,
        Self::ResultsDir,
        Self::ProgressPort,
        Self::DoneFileDelay,
    ];

    /// Returns the environment variables that may contain the value. The first one that is set and
    /// not empty applies.
    #[must_use]
    pub const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::AggregatorUrl => &["AGGREGATOR_URL"],
            Self::ResultType => &["RESULT_TYPE"],
            Self::NodeName => &["NODE_NAME"],
            Self::CaCert => &["CA_CERT"],
            Self::ClientCert => &["CLIENT_CERT"],
            Self::ClientKey => &["CLIENT_KEY"],
            Self::ResultsDir => &["SONOBUOY_RESULTS_DIR", "RESULTS_DIR"],
            Self::ProgressPort => &["SONOBUOY_PROGRESS_PORT"],
            Self::DoneFileDelay => &["SONOBUOY_DONE_FILE_DELAY"],
        }
    }

    /// Returns the key in a configuration file, in lower case. Files may use any case.
    #[must_use]
    pub const fn file_key(self) -> Option<&'static str> {
        match self {
            Self::AggregatorUrl => Some("aggregatorurl"),
            Self::ResultType => Some("resulttype"),
            Self::NodeName => Some("nodename"),
            Self::CaCert => Some("cacert"),
            Self::ClientCert => Some("clientcert"),
            Self::ClientKey => Some("clientkey"),
            Self::ResultsDir => Some("resultsdir"),
            Self::ProgressPort => Some("progressport"),
            Self::DoneFileDelay => None,
        }
    }
}
