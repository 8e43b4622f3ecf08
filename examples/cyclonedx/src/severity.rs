//! The severity of a vulnerability, from the ratings of several parties.

use serde::Deserialize;

/// A severity in CycloneDX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Critical severity.
    Critical,
    /// High severity.
    High,
    /// Medium severity.
    Medium,
    /// Low severity.
    Low,
    /// For information only.
    Info,
    /// Rated as not severe at all.
    None,
    /// Without a rating.
    Unknown,
}

/// The rating of one party.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rating {
    severity: Option<String>,
    score: Option<f64>,
    method: Option<String>,
    vector: Option<String>,
}

/// The selected rating, as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rated {
    pub(crate) severity: Severity,
    pub(crate) score: Option<f64>,
    pub(crate) method: Option<String>,
    pub(crate) vector: Option<String>,
}

impl Severity {
    /// Returns the word that CycloneDX uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Info => "info",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// Parses a severity. Words that CycloneDX does not define are unknown.
    fn from_word(word: &str) -> Self {
        let all = [Self::Critical, Self::High, Self::Medium, Self::Low, Self::Info, Self::None];
        all.into_iter().find(|severity| severity.as_str().eq_ignore_ascii_case(word)).unwrap_or(Self::Unknown)
    }

    /// Returns the severity for a score: table 14 of CVSS 3.1, which also applies to CVSS 4.0, or
    /// the mapping of the National Vulnerability Database for CVSS 2.
    fn from_score(score: f64, second: bool) -> Self {
        match score {
            score if !(0.0..=10.0).contains(&score) => Self::Unknown,
            score if second => match score {
                7.0.. => Self::High,
                4.0.. => Self::Medium,
                _ => Self::Low,
            },
            9.0.. => Self::Critical,
            7.0.. => Self::High,
            4.0.. => Self::Medium,
            0.1.. => Self::Low,
            _ => Self::None,
        }
    }
}

impl Rating {
    /// Returns the rank of the method; a smaller one takes precedence.
    fn rank(&self) -> usize {
        let methods = ["CVSSv4", "CVSSv31", "CVSSv3", "CVSSv2"];
        methods.iter().position(|method| self.method.as_deref() == Some(*method)).unwrap_or(methods.len())
    }

    fn severity(&self) -> Severity {
        match (self.severity.as_deref().map(Severity::from_word), self.score) {
            (Some(known), _) if known != Severity::Unknown => known,
            // Only CVSS defines what its scores mean.
            (_, Some(score)) if self.rank() < 4 => Severity::from_score(score, self.rank() == 3),
            _ => Severity::Unknown,
        }
    }
}

/// Returns the rating to use: of those with a severity, the one whose method comes first.
pub(crate) fn rated(ratings: Vec<Rating>) -> Rated {
    let rated = ratings.into_iter().filter(|rating| rating.severity() != Severity::Unknown);
    match rated.min_by_key(Rating::rank) {
        Some(rating) => {
            Rated { severity: rating.severity(), score: rating.score, method: rating.method, vector: rating.vector }
        }
        None => Rated { severity: Severity::Unknown, score: None, method: None, vector: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn severity(ratings: &str) -> &'static str {
        rated(serde_json::from_str(ratings).unwrap()).severity.as_str()
    }

    #[test]
    fn the_best_method_counts() {
        let all = r#"[{"method": "other", "severity": "critical"}, {"method": "CVSSv2", "severity": "high"},
            {"method": "CVSSv3", "severity": "low"}, {"method": "CVSSv31", "severity": "medium"}, {"method": "CVSSv4", "severity": "info"}]"#;
        assert_eq!(severity(all), "info");
        assert_eq!(severity(r#"[{"severity": "low"}, {"method": "CVSSv2", "severity": "high"}]"#), "high");
        assert_eq!(
            severity(r#"[{"method": "CVSSv3", "severity": "low"}, {"method": "CVSSv3", "severity": "high"}]"#),
            "low"
        );
        // A rating without a severity does not hide one that has one.
        assert_eq!(severity(r#"[{"method": "CVSSv4"}, {"method": "CVSSv31", "score": 9.8}]"#), "critical");
        assert_eq!(severity("[]"), "unknown");
    }

    #[test]
    fn scores_become_words() {
        for (method, score, word) in [
            ("CVSSv31", "9.0", "critical"),
            ("CVSSv4", "8.9", "high"),
            ("CVSSv3", "6.9", "medium"),
            ("CVSSv3", "0.1", "low"),
            ("CVSSv3", "0.0", "none"),
            ("CVSSv2", "10.0", "high"),
            ("CVSSv2", "4", "medium"),
            ("CVSSv3", "11", "unknown"),
            ("OWASP", "9.9", "unknown"),
        ] {
            assert_eq!(severity(&format!(r#"[{{"method": "{method}", "score": {score}}}]"#)), word, "{method} {score}");
        }
    }
}
