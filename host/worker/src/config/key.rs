//! The keys of a worker's configuration.

/// One value of a worker's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Where the aggregator listens.
    AggregatorUrl,
    /// The plugin.
    ResultType,
    /// The node, for a worker that runs on each node.
    NodeName,
    /// The certificate of the run's CA, PEM.
    CaCert,
    /// The plugin's certificate, PEM.
    ClientCert,
    /// The key of that certificate, PEM.
    ClientKey,
    /// Where plugin and worker meet.
    ResultsDir,
    /// The port of the progress relay.
    ProgressPort,
    /// How long a done file must have settled.
    DoneFileDelay,
}

impl Key {
    /// All of them, in the order in which problems are told.
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

    /// The environment variables that may hold it; the first one that is set and not empty wins.
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

    /// The key in a configuration file, in lower case; files may write it in any case.
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
