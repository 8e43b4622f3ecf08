//! The file in `KUBE_TEST_REPO_LIST`, which tells the suite where its registries are. The keys are
//! those in the suite's source since Kubernetes 1.25. Older versions ignore unknown keys.

use super::prefix::{Prefix, rewrite};

/// How a registry is mapped to a private registry.
enum Kind {
    /// Its images are copied, so the name changes.
    Copied,
    /// A test expects that the registry does not exist, or that it requires credentials. The name
    /// must stay.
    Kept,
}

/// Every registry of the suite, with its key in the file.
const REGISTRIES: [(&str, &str, Kind); 11] = [
    ("buildImageRegistry", "registry.k8s.io/build-image", Kind::Copied),
    ("cloudProviderGcpRegistry", "registry.k8s.io/cloud-provider-gcp", Kind::Copied),
    ("dockerLibraryRegistry", "docker.io/library", Kind::Copied),
    ("gcAuthenticatedRegistry", "gcr.io/authenticated-image-pulling", Kind::Kept),
    ("gcEtcdRegistry", "registry.k8s.io", Kind::Copied),
    ("gcRegistry", "registry.k8s.io", Kind::Copied),
    ("invalidRegistry", "invalid.registry.k8s.io/invalid", Kind::Kept),
    ("microsoftRegistry", "mcr.microsoft.com", Kind::Copied),
    ("privateRegistry", "gcr.io/k8s-authenticated-test", Kind::Kept),
    ("promoterE2eRegistry", "registry.k8s.io/e2e-test-images", Kind::Copied),
    ("sigStorageRegistry", "registry.k8s.io/sig-storage", Kind::Copied),
];

/// Returns the file with the default registries of the suite, as a starting point.
#[must_use]
pub fn defaults() -> String {
    file(|_, registry| registry.to_owned())
}

/// Returns the file for a cluster that has the suite's images below `prefix`, as `images copy --to`
/// puts them there.
#[must_use]
pub fn repo_config(prefix: &Prefix) -> String {
    file(|kind, registry| match kind {
        Kind::Kept => registry.to_owned(),
        // Rewrite the registry like an image below it, so that both always match.
        Kind::Copied => {
            let image = rewrite(&format!("{registry}/x"), prefix);
            image.strip_suffix("/x").unwrap_or(&image).to_owned()
        }
    })
}

fn file(name: impl Fn(&Kind, &str) -> String) -> String {
    REGISTRIES.iter().map(|(key, registry, kind)| format!("{key}: {}\n", name(kind, registry))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_for_the_suite() {
        insta::assert_snapshot!(defaults(), @r"
        buildImageRegistry: registry.k8s.io/build-image
        cloudProviderGcpRegistry: registry.k8s.io/cloud-provider-gcp
        dockerLibraryRegistry: docker.io/library
        gcAuthenticatedRegistry: gcr.io/authenticated-image-pulling
        gcEtcdRegistry: registry.k8s.io
        gcRegistry: registry.k8s.io
        invalidRegistry: invalid.registry.k8s.io/invalid
        microsoftRegistry: mcr.microsoft.com
        privateRegistry: gcr.io/k8s-authenticated-test
        promoterE2eRegistry: registry.k8s.io/e2e-test-images
        sigStorageRegistry: registry.k8s.io/sig-storage
        ");
        insta::assert_snapshot!(repo_config(&"lan:5000/m".parse().unwrap()), @r"
        buildImageRegistry: lan:5000/m/build-image
        cloudProviderGcpRegistry: lan:5000/m/cloud-provider-gcp
        dockerLibraryRegistry: lan:5000/m/library
        gcAuthenticatedRegistry: gcr.io/authenticated-image-pulling
        gcEtcdRegistry: lan:5000/m
        gcRegistry: lan:5000/m
        invalidRegistry: invalid.registry.k8s.io/invalid
        microsoftRegistry: lan:5000/m
        privateRegistry: gcr.io/k8s-authenticated-test
        promoterE2eRegistry: lan:5000/m/e2e-test-images
        sigStorageRegistry: lan:5000/m/sig-storage
        ");
    }
}
