//! The rules, in the order of the report. Their topics are those of the published benchmark of the
//! Center for Internet Security for Kubernetes.

/// What the value of a setting must be. `None` is a missing setting, or one without a value.
pub(crate) enum Want {
    /// Exactly this value.
    Is(&'static str),
    /// This value, which is also the default.
    IsOrDefault(&'static str),
    /// Any value but this one. The default is good.
    IsNot(&'static str),
    /// A duration that is not zero. The default is good.
    NotZero,
    /// Any value.
    Set,
    /// No value.
    Absent,
    /// A list with this entry.
    Has(&'static str),
    /// A list without this entry. The default is good.
    HasNot(&'static str),
    /// A list without this entry. The default has it.
    SetWithout(&'static str),
    /// A number that is not lower.
    AtLeast(i64),
}

/// A rule about a setting.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// A flag without its dashes, or the path of a key in a configuration file.
    pub(crate) setting: &'static str,
    pub(crate) want: Want,
    /// A setting that names a file with the answer, which this check does not read. It replaces the
    /// other one.
    pub(crate) elsewhere: Option<&'static str>,
}

const fn rule(name: &'static str, setting: &'static str, want: Want) -> Rule {
    Rule { name, setting, want, elsewhere: None }
}

impl Rule {
    const fn unless(mut self, setting: &'static str) -> Self {
        self.elsewhere = Some(setting);
        self
    }
}

pub(crate) const API_SERVER: &[Rule] = &[
    rule("anonymous requests are rejected", "anonymous-auth", Want::Is("false")).unless("authentication-config"),
    rule("no tokens are in a file", "token-auth-file", Want::Absent),
    rule("not every request is allowed", "authorization-mode", Want::SetWithout("AlwaysAllow"))
        .unless("authorization-config"),
    rule("kubelets are limited to their own node", "authorization-mode", Want::Has("Node"))
        .unless("authorization-config"),
    rule("roles decide about requests", "authorization-mode", Want::Has("RBAC")).unless("authorization-config"),
    rule("kubelets cannot change other nodes", "enable-admission-plugins", Want::Has("NodeRestriction")),
    rule("admission is not open to everything", "enable-admission-plugins", Want::HasNot("AlwaysAdmit")),
    rule("requests are logged", "audit-log-path", Want::Set),
    rule("a policy selects what is logged", "audit-policy-file", Want::Set),
    rule("logs of requests are kept for 30 days", "audit-log-maxage", Want::AtLeast(30)),
    rule("profiling is off", "profiling", Want::Is("false")),
    rule("encryption of data in etcd is configured", "encryption-provider-config", Want::Set),
    rule("the certificate of etcd is verified", "etcd-cafile", Want::Set),
    rule("etcd gets a client certificate", "etcd-certfile", Want::Set),
    rule("kubelets get a client certificate", "kubelet-client-certificate", Want::Set),
    rule("client certificates are verified", "client-ca-file", Want::Set),
    rule("TLS has a certificate of its own", "tls-cert-file", Want::Set),
];

pub(crate) const CONTROLLER_MANAGER: &[Rule] = &[
    rule("profiling is off", "profiling", Want::Is("false")),
    rule("each controller has its own account", "use-service-account-credentials", Want::Is("true")),
    rule("pods get the CA of the API server", "root-ca-file", Want::Set),
    rule("it listens on the loopback interface", "bind-address", Want::Is("127.0.0.1")),
];

pub(crate) const SCHEDULER: &[Rule] = &[
    rule("profiling is off", "profiling", Want::Is("false")).unless("config"),
    rule("it listens on the loopback interface", "bind-address", Want::Is("127.0.0.1")),
];

pub(crate) const ETCD: &[Rule] = &[
    rule("clients need a certificate", "client-cert-auth", Want::Is("true")).unless("config-file"),
    rule("its certificate is not self-signed", "auto-tls", Want::IsOrDefault("false")).unless("config-file"),
    rule("peers need a certificate", "peer-client-cert-auth", Want::Is("true")).unless("config-file"),
    rule("TLS has a certificate of its own", "cert-file", Want::Set).unless("config-file"),
];

pub(crate) const KUBELET: &[Rule] = &[
    rule("anonymous requests are rejected", "authentication.anonymous.enabled", Want::IsOrDefault("false")),
    rule("not every request is allowed", "authorization.mode", Want::IsNot("AlwaysAllow")),
    rule("client certificates are verified", "authentication.x509.clientCAFile", Want::Set),
    rule("the port without authentication is closed", "readOnlyPort", Want::IsOrDefault("0")),
    rule("idle connections end", "streamingConnectionIdleTimeout", Want::NotZero),
    rule("it keeps its rules of iptables", "makeIPTablesUtilChains", Want::IsOrDefault("true")),
    rule("its client certificate is rotated", "rotateCertificates", Want::Is("true")),
];

impl Want {
    /// Returns what is wrong with a value, if anything is.
    pub(crate) fn problem(&self, value: Option<&str>) -> Option<String> {
        let entries = || value.into_iter().flat_map(|value| value.split(',')).map(str::trim);
        let (is_good, want) = match self {
            Self::Is(want) => (value == Some(want), format!("`{want}`")),
            Self::IsOrDefault(want) => (value.is_none_or(|value| value == *want), format!("`{want}` or no value")),
            Self::IsNot(bad) => (value != Some(bad), format!("not `{bad}`")),
            Self::NotZero => {
                let is_zero = |value: &str| value.chars().filter(char::is_ascii_digit).all(|digit| digit == '0');
                (!value.is_some_and(is_zero), "a duration that is not zero".to_owned())
            }
            Self::Set => (value.is_some_and(|value| !value.is_empty()), "a value".to_owned()),
            Self::Absent => (value.is_none(), "no value".to_owned()),
            Self::Has(want) => (entries().any(|entry| entry == *want), format!("a list with `{want}`")),
            Self::HasNot(bad) => (entries().all(|entry| entry != *bad), format!("a list without `{bad}`")),
            Self::SetWithout(bad) => {
                (value.is_some() && entries().all(|entry| entry != *bad), format!("a list without `{bad}`"))
            }
            Self::AtLeast(min) => {
                let number = value.and_then(|value| value.parse::<i64>().ok());
                (number.is_some_and(|number| number >= *min), format!("at least {min}"))
            }
        };
        let got = value.map_or_else(|| "no value".to_owned(), |value| format!("`{value}`"));
        (!is_good).then(|| format!("want {want}, got {got}"))
    }
}
